"""Frozen dataclasses of settings, to and from plain values as files and command lines have them."""

import dataclasses
import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from jaxsmt.common.errors import UserError

Settings = TypeVar("Settings")
LARGEST_NUMBER = (1 << 31) - 1  # of whole numbers; seeds too
Bounds = tuple[float, float]


class SettingError(UserError):
    """A setting has a value that cannot be; who knows where the settings stand names the whole key.

    group: what comes before the name on a command line, most of the time; problem: what is wrong, and what to do.
    """

    def __init__(self, group: str, name: str, problem: str):
        super().__init__(f"{group}.{name} {problem}" if group else f"{name} {problem}")
        self.name, self.problem = name, problem

    def within(self, group: str) -> "SettingError":
        """The same about settings that stand elsewhere."""
        return SettingError(group, self.name, self.problem)


def from_values(kind: type[Settings], values: Mapping[str, Any], group: str | None = None) -> Settings:
    """The dataclass with these values; lists become tuples, inner mappings inner dataclasses.

    group: what messages put before the name of a setting, None for what the dataclass itself does.
    """
    columns = {column.name: column for column in dataclasses.fields(kind)}  # type: ignore[arg-type]
    _check_known(values, columns)
    inner = {key: _value(columns[key], value, group) for key, value in values.items()}
    try:
        return kind(**inner)
    except SettingError as error:
        raise (error if group is None else error.within(group)) from None


def with_changes(settings: Settings, changes: Mapping[str, Any], group: str | None = None) -> Settings:
    """The same settings but for those keys whose value is not None."""
    _check_known(changes, [column.name for column in dataclasses.fields(settings)])  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for key, value in changes.items():
        if isinstance(value, dict):
            given[key] = with_changes(getattr(settings, key), value, _joined(group, key))
        elif value is not None:
            given[key] = tuple(value) if isinstance(value, list) else value
    try:
        return dataclasses.replace(settings, **given)  # type: ignore[type-var]
    except SettingError as error:
        raise (error if group is None else error.within(group)) from None


def check_numbers(values: Any, group: str) -> None:
    """All numbers among plain values are finite, and whole ones no larger than any use has for them."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            check_numbers(value, _joined(group, str(key)) or "")
    elif isinstance(values, list | tuple):
        for value in values:
            check_numbers(value, group)
    elif isinstance(values, float) and not math.isfinite(values):
        raise UserError(f"{group} is {values}: give a finite number")
    elif isinstance(values, int) and abs(values) > LARGEST_NUMBER:
        raise UserError(f"{group} is {values}: give a number of at most {LARGEST_NUMBER}")


def check_choices(settings: Any, group: str, choices: Mapping[str, Iterable[str]]) -> None:
    """Each of the named settings, or each part of it, is one of its choices; group: see `SettingError`."""
    for name, known in choices.items():
        for value in _parts(getattr(settings, name)):
            if value not in known:
                raise SettingError(group, name, f"is '{value}': choose one of {', '.join(known)}")


def check_ranges(settings: Any, group: str, ranges: Mapping[str, Bounds]) -> None:
    """Each of the named settings that is not None, or each part of it, lies in its range, both ends included."""
    for name, (least, most) in ranges.items():
        for value in _parts(getattr(settings, name)):
            if value is not None and not _is_within(value, least, most):
                where = f"from {_shown(least)} to {_shown(most)}" if most < math.inf else f"of at least {_shown(least)}"
                raise SettingError(group, name, f"is {value}: give a number {where}")


def check_positive(settings: Any, group: str, names: Iterable[str]) -> None:
    """Each of the named settings that is not None is a finite number above 0."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not (_is_within(value, 0, math.inf) and 0 < value < math.inf):
            raise SettingError(group, name, f"is {value}: give a number above 0")


def _is_within(value: Any, least: float, most: float) -> bool:
    """Whether a value is a number in a range; lists and words are none."""
    try:
        return bool(least <= value <= most)
    except TypeError:
        return False


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _shown(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def _joined(group: str | None, key: str) -> str | None:
    return f"{group}.{key}" if group else key if group is not None else None


def _check_known(values: Mapping[str, Any], names: Iterable[str]) -> None:
    """Keys that are added by force (++text.typgraphy=…) pass the schema, and end here if there is no such setting."""
    for key in values:
        if key not in (known := list(names)):
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(known)}"
            raise UserError(f"unknown configuration key '{key}': {hint}")


def _value(column: "dataclasses.Field[Any]", value: Any, group: str | None) -> Any:
    if isinstance(value, dict) and dataclasses.is_dataclass(column.default_factory):
        return from_values(column.default_factory, value, _joined(group, column.name))
    return tuple(value) if isinstance(value, list) else value
