"""Frozen dataclasses of settings, to and from plain values as files and command lines have them."""

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from jaxsmt.common.errors import UserError

Settings = TypeVar("Settings")


def from_values(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """The dataclass with these values; lists become tuples, inner mappings inner dataclasses."""
    columns = {column.name: column for column in dataclasses.fields(kind)}  # type: ignore[arg-type]
    _check_known(values, columns)
    return kind(**{key: _value(columns[key], value) for key, value in values.items()})


def with_changes(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The same settings but for those keys whose value is not None."""
    _check_known(changes, [column.name for column in dataclasses.fields(settings)])  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for key, value in changes.items():
        if isinstance(value, dict):
            given[key] = with_changes(getattr(settings, key), value)
        elif value is not None:
            given[key] = tuple(value) if isinstance(value, list) else value
    return dataclasses.replace(settings, **given)  # type: ignore[type-var]


def check_choices(settings: Any, group: str, choices: Mapping[str, Iterable[str]]) -> None:
    """Each of the named settings has one of its choices; group: what comes before the names on a command line."""
    for name, known in choices.items():
        if getattr(settings, name) not in known:
            raise UserError(f"{group}.{name} is '{getattr(settings, name)}': choose one of {', '.join(known)}")


def check_ranges(settings: Any, group: str, ranges: Mapping[str, tuple[int, int]]) -> None:
    """Each of the named settings lies in its range, both ends included."""
    for name, (least, most) in ranges.items():
        if not least <= getattr(settings, name) <= most:
            raise UserError(f"{group}.{name} is {getattr(settings, name)}: give a number from {least} to {most}")


def _check_known(values: Mapping[str, Any], names: Iterable[str]) -> None:
    """Keys that are added by force (++text.typgraphy=…) pass the schema, and end here if there is no such setting."""
    for key in values:
        if key not in (known := list(names)):
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(known)}"
            raise UserError(f"unknown configuration key '{key}': {hint}")


def _value(column: "dataclasses.Field[Any]", value: Any) -> Any:
    if isinstance(value, dict) and dataclasses.is_dataclass(column.default_factory):
        return from_values(column.default_factory, value)
    return tuple(value) if isinstance(value, list) else value
