"""Frozen dataclasses of settings, to and from plain values as files and command lines have them."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

Settings = TypeVar("Settings")


def from_values(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """The dataclass with these values; lists become tuples, inner mappings inner dataclasses."""
    columns = {column.name: column for column in dataclasses.fields(kind)}  # type: ignore[arg-type]
    return kind(**{key: _value(columns[key], value) for key, value in values.items()})


def with_changes(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The same settings but for those keys whose value is not None."""
    given: dict[str, Any] = {}
    for key, value in changes.items():
        if isinstance(value, dict):
            given[key] = with_changes(getattr(settings, key), value)
        elif value is not None:
            given[key] = tuple(value) if isinstance(value, list) else value
    return dataclasses.replace(settings, **given)  # type: ignore[type-var]


def _value(column: "dataclasses.Field[Any]", value: Any) -> Any:
    if isinstance(value, dict) and dataclasses.is_dataclass(column.default_factory):
        return from_values(column.default_factory, value)
    return tuple(value) if isinstance(value, list) else value
