"""Which tuner: the keys of conf/tune, by name."""

import dataclasses
from typing import Any

from jaxsmt.pipeline.config.rooms import named_room, room_or_none
from jaxsmt.tune.config import MertConfig, MiraConfig, ProConfig, RiskConfig, TrustRegionConfig

TUNERS = {
    "mert": MertConfig,
    "mira": MiraConfig,
    "pro": ProConfig,
    "risk": RiskConfig,
    "trust_region": TrustRegionConfig,
}


def tuner_config(node: Any) -> Any:
    """The tuner's dataclass from a node of conf/tune, which names it and has its keys."""
    return named_room("tune", node, TUNERS)


def tuner_or_none(node: Any) -> Any | None:
    """The same, or None where the node says 'none'."""
    return room_or_none("tune", node, TUNERS)


def tuner_keys() -> list[str]:
    """All keys that a node of conf/tune may have, dotted."""
    return [f"tune.{column.name}" for room in TUNERS.values() for column in dataclasses.fields(room)]
