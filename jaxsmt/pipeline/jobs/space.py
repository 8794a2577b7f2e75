"""Where a sweep looks: for every key of a training a range of numbers, or some choices."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.experiments.systems import as_value
from jaxsmt.pipeline.page.pictures import ticks

WORDS = ("low", "high", "log", "choices")


@dataclass(frozen=True)
class SearchChoices:
    """Values as a command line has them: 'null', 'true', '[1,2]', 'mira'."""

    key: str
    values: tuple[str, ...]
    has_order: ClassVar[bool] = False

    @property
    def tried_first(self) -> tuple[str, ...]:
        """Values that a check tries: all."""
        return self.values

    def position(self, value: str) -> float:
        """Where a value is on the axis of its key."""
        return float(self.values.index(value))

    def labels(self) -> dict[float, str]:
        """What stands below the axis."""
        return {float(place): value for place, value in enumerate(self.values)}

    def distribution(self, kinds: Any) -> Any:
        """For Optuna; kinds: its distributions."""
        return kinds.CategoricalDistribution(self.values)


@dataclass(frozen=True)
class SearchRange:
    """Numbers from low to high, whole ones if both are; is_log: 1 to 10 is as likely as 10 to 100."""

    key: str
    low: float
    high: float
    is_log: bool = False
    has_order: ClassVar[bool] = True

    @property
    def tried_first(self) -> tuple[float, ...]:
        """Values that a check tries: both ends."""
        return self.low, self.high

    @property
    def is_whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def position(self, value: float) -> float:
        """Where a value is on the axis of its key."""
        return math.log10(value) if self.is_log else float(value)

    def labels(self) -> dict[float, str]:
        """What stands below the axis."""
        if not self.is_log:
            found = ticks(self.low, self.high)
            return {value: f"{value:g}" for value in found if not self.is_whole or value == int(value)}
        ends = self.position(self.low), self.position(self.high)
        return {value: f"{10**value:.3g}" for value in (ends[0], sum(ends) / 2, ends[1])}

    def distribution(self, kinds: Any) -> Any:
        """For Optuna; kinds: its distributions."""
        kind = kinds.IntDistribution if self.is_whole else kinds.FloatDistribution
        return kind(self.low, self.high, log=self.is_log)


Dimension = SearchChoices | SearchRange


def read_space(space: Mapping[str, Any]) -> list[Dimension]:
    """The keys of a space in their order.

    An entry is `key: {low: 0.01, high: 0.3, log: true}` or `key: {choices: [a, b]}`; a key may have dots or be nested.
    """
    found = [_dimension(key, entry) for key, entry in _entries(space, "")]
    if not found:
        raise UserError("space is empty: name at least one key, such as '+space.lm.estimation.order={low:3,high:5}'")
    twice = [own.key for place, own in enumerate(found) if own.key in {other.key for other in found[:place]}]
    if twice:
        raise UserError(f"space has '{twice[0]}' twice: keep one")
    return found


def _entries(node: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, value in node.items():
        key = f"{prefix}{name}"
        if value is None:  # ~ takes a key out of a space that has it
            continue
        if not isinstance(value, Mapping):
            raise UserError(f"space.{key} is '{value}': give {{low: …, high: …}} or {{choices: […]}}")
        is_entry = any(word in value and not isinstance(value[word], Mapping) for word in WORDS)
        if is_entry:
            yield key, value
        else:
            yield from _entries(value, f"{key}.")


def _dimension(key: str, entry: Mapping[str, Any]) -> Dimension:
    if unknown := [name for name in entry if name not in WORDS]:
        raise UserError(f"space.{key} has '{unknown[0]}': it knows {', '.join(WORDS)}")
    if "choices" in entry:
        return _choices(key, entry)
    if "low" not in entry or "high" not in entry:
        raise UserError(f"space.{key} lacks '{'high' if 'low' in entry else 'low'}': give both ends, or choices")
    low, high, is_log = entry["low"], entry["high"], entry.get("log", False)
    if not isinstance(is_log, bool):
        raise UserError(f"space.{key}.log is '{is_log}': set it to true or false")
    for name, value in (("low", low), ("high", high)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise UserError(f"space.{key}.{name} is '{value}': give a number")
    if low >= high:
        raise UserError(f"space.{key} goes from {low} to {high}: low must be below high")
    if is_log and low <= 0:
        raise UserError(f"space.{key} begins at {low} and has log: give a low above 0, or log: false")
    return SearchRange(key, low, high, is_log)


def _choices(key: str, entry: Mapping[str, Any]) -> SearchChoices:
    values = entry["choices"]
    if len(entry) > 1:
        raise UserError(f"space.{key} has choices, and low, high or log: leave one out")
    if not isinstance(values, list) or not values or any(isinstance(value, Mapping) for value in values):
        raise UserError(f"space.{key}.choices is '{values}': give a list, [a, b]")
    made = tuple(as_value(value) for value in values)
    if len(set(made)) < len(made):
        raise UserError(f"space.{key}.choices has a value twice: keep one")
    return SearchChoices(key, made)
