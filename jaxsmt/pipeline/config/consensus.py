"""Whether translations are chosen by consensus: the keys of conf/consensus, by name."""

import dataclasses
from typing import Any

from jaxsmt.adapt.consensus.config import ConsensusTraining
from jaxsmt.pipeline.config.rooms import room_or_none

WAYS = {"mbr": ConsensusTraining}


def consensus_config(node: Any) -> ConsensusTraining | None:
    """The dataclass from a node of conf/consensus, which names it and has its keys; None for 'none'."""
    return room_or_none("consensus", node, WAYS)


def consensus_keys() -> list[str]:
    """All keys that a node of conf/consensus may have, dotted."""
    return [f"consensus.{column.name}" for room in WAYS.values() for column in dataclasses.fields(room)]
