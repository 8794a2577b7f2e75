"""How a model is adapted: the keys of conf/adapt, by name."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jaxsmt.adapt.bagging import BaggingConfig
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.recognise.recogniser import RecogniserConfig
from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.config.rooms import plain, room_or_none
from jaxsmt.tune.config import MertConfig


@dataclass(frozen=True)
class Circumstances:
    """What an adaptation finds: numbers of development and adaptation sets, who labels sentences, a tuner or none."""

    num_dev: int
    num_sets: int
    labels: str
    is_tuned: bool

    def check_dev(self) -> None:
        """Raises UserError where there is no development set."""
        if not self.num_dev:
            raise UserError("an adaptation needs a development set: name one, +corpus.dev.NAME.source=… and .target=…")


@dataclass(frozen=True)
class BpaStageConfig(BpaConfig):
    """Bayesian predictive adaptation of a model.

    nbest: length of the lists, those adapted to and those reranked.
    """

    nbest: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_least("nbest", self.nbest, 1)

    def check(self, found: Circumstances) -> None:
        """Raises UserError where the adaptation cannot be made."""
        if not found.num_sets:
            found.check_dev()


@dataclass(frozen=True)
class BaggingStageConfig(BaggingConfig):
    """Bagging of a model.

    differ_by: 'samples': members are tuned on bootstrap samples; 'starts': all on the same sentences, from random
      weights, the control of section 4.3.
    rounds: how often the members decode the development sets and are tuned again on all lists so far.
    mert: how members are tuned.
    """

    differ_by: str = "samples"
    rounds: int = 2
    mert: MertConfig = field(default_factory=MertConfig)

    def __post_init__(self) -> None:
        if self.differ_by not in ("samples", "starts"):
            raise UserError(f"adapt.differ_by is '{self.differ_by}': choose 'samples' or 'starts'")
        reported = tuple(size for size in self.sizes if size <= self.members) or (self.members,)
        object.__setattr__(self, "sizes", reported)
        super().__post_init__()
        _check_least("rounds", self.rounds, 0)

    def check(self, found: Circumstances) -> None:
        """Raises UserError where the adaptation cannot be made."""
        found.check_dev()


@dataclass(frozen=True)
class RecogniseStageConfig(RecogniserConfig):
    """Log-linear weights by recognised class.

    num_classes: the smallest development sets are merged until so many classes are left; None keeps all.
    """

    num_classes: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_classes is not None:
            _check_least("num_classes", self.num_classes, 1)

    def check(self, found: Circumstances) -> None:
        """Raises UserError where the adaptation cannot be made."""
        found.check_dev()
        if not found.is_tuned:
            raise UserError("adapt=recognise tunes weights for every class: choose a tuner too, for instance tune=mert")
        if found.labels != "sets":
            raise UserError(
                f"adapt=recognise and mixture.labels={found.labels} both label sentences: choose one of them"
            )
        if self.num_classes is not None and self.num_classes > found.num_dev:
            problem = f"adapt.num_classes is {self.num_classes} and there are {found.num_dev} development sets"
            raise UserError(f"{problem}: give {found.num_dev} or less")


AdapterConfig = BpaStageConfig | BaggingStageConfig | RecogniseStageConfig
ADAPTERS = {"bagging": BaggingStageConfig, "bpa": BpaStageConfig, "recognise": RecogniseStageConfig}


def adapter_config(node: Any) -> AdapterConfig | None:
    """The dataclass from a node of conf/adapt, which names it and has its keys; None for 'none'."""
    values = plain(node)
    if isinstance(values.get("mert"), dict):
        values["mert"].pop("name", None)  # it is a node of conf/tune
    return room_or_none("adapt", values, ADAPTERS)


def adapter_keys() -> list[str]:
    """All keys that a node of conf/adapt may have, dotted."""
    return [key for room in ADAPTERS.values() for key in _keys(room, "adapt.")]


def _keys(room: type, prefix: str) -> Iterator[str]:
    for column in dataclasses.fields(room):
        yield prefix + column.name
        if dataclasses.is_dataclass(column.default_factory):
            yield from _keys(column.default_factory, f"{prefix}{column.name}.")


def _check_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise UserError(f"adapt.{name} is {value}: give at least {least}")
