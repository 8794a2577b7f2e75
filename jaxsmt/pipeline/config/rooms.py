"""Between Hydra and the rooms' own frozen dataclasses: schemas made from them, and back.

Rooms never see Hydra: `room_config` turns a checked node into the room's dataclass.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, TypeVar

from omegaconf import MISSING, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.common.settings import check_numbers, from_values, with_changes
from jaxsmt.pipeline.config.launch import explain, nearest

Room = TypeVar("Room")
NO_CHOICE = "none"  # of a group


def schema_of(room: type) -> Any:
    """A mutable copy of a frozen dataclass: OmegaConf locks frozen ones against overrides."""
    columns = [_copied(column) for column in dataclasses.fields(room)]
    return dataclasses.make_dataclass(room.__name__ + "Schema", columns, namespace={"__module__": __name__})


def _copied(column: "dataclasses.Field[Any]") -> tuple[str, Any, Any]:
    if dataclasses.is_dataclass(column.default_factory):
        inner = schema_of(column.default_factory)
        return column.name, inner, field(default_factory=inner)
    if column.default_factory is not dataclasses.MISSING:
        return column.name, column.type, field(default_factory=column.default_factory)
    return column.name, column.type, field(default=MISSING if column.default is dataclasses.MISSING else column.default)


def overrides_schema_of(room: type) -> Any:
    """A schema whose every key is null unless it is given: what a user changes of a stored configuration."""
    columns: list[tuple[str, Any, Any]] = []
    for column in dataclasses.fields(room):
        if dataclasses.is_dataclass(column.default_factory):
            inner = overrides_schema_of(column.default_factory)
            columns.append((column.name, inner, field(default_factory=inner)))
        else:
            columns.append((column.name, column.type | None, field(default=None)))  # type: ignore[operator]
    return dataclasses.make_dataclass(room.__name__ + "Overrides", columns, namespace={"__module__": __name__})


def with_overrides(stored: Room, node: Any) -> Room:
    """The stored configuration with the keys of an overrides node that were given."""
    values, key = plain(node), key_of(node)
    check_numbers(values, key)
    return with_changes(stored, values, key)


def room_config(room: type[Room], node: Any, key: str | None = None) -> Room:
    """The room's dataclass with the values of a node; lists become tuples, inner nodes inner dataclasses.

    key: where the node stands in the whole configuration, if it does not know by itself.
    """
    values, key = plain(node), key_of(node) if key is None else key
    check_numbers(values, key)
    return from_values(room, values, key)


def key_of(node: Any) -> str:
    """The dotted key of a node, as a command line has it."""
    return node._get_full_key(None) or "" if OmegaConf.is_config(node) else ""


def room_or_none(group: str, node: Any, rooms: Mapping[str, type]) -> Any | None:
    """`named_room`, or None where the node says 'none', which has no keys of its own."""
    values = plain(node)
    if values.pop("name", None) != NO_CHOICE:
        return named_room(group, node, rooms)
    check_known(group, values, rooms)
    _leave_out(group, NO_CHOICE, values, [])
    return None


def named_room(group: str, node: Any, rooms: Mapping[str, type]) -> Any:
    """The dataclass that the node of a group (tune, adapt) names, with the node's other keys.

    Keys of other choices are left out, so that a sweep can set them beside those of this one.
    """
    values = {str(key): value for key, value in node.items()}
    name = values.pop("name", None)
    if name not in rooms:
        raise UserError(f"{group}.name is '{name}': choose one of {', '.join(rooms)}")
    check_known(group, values, rooms)
    own = [column.name for column in dataclasses.fields(rooms[name])]
    _leave_out(group, name, values, own)
    try:
        return room_config(rooms[name], OmegaConf.merge(OmegaConf.structured(schema_of(rooms[name])), values), group)
    except OmegaConfBaseException as error:
        raise UserError(f"{group}={name}: {explain(error, own)}") from None


def _leave_out(group: str, name: str, values: dict[str, Any], own: Sequence[str]) -> None:
    """Takes away keys that this choice does not have, and says so."""
    for key in [key for key in values if key not in own]:
        del values[key]
        log.warning("%s=%s has no key '%s': it is left out", group, name, key)


def check_known(group: str, values: Mapping[Any, Any], rooms: Mapping[str, type]) -> None:
    """Raises UserError for a key that no choice of the group has."""
    known = list(dict.fromkeys(column.name for room in rooms.values() for column in dataclasses.fields(room)))
    for key in values:
        if key not in ("name", *known):
            raise UserError(f"{group}.{key} is in no choice of {group}{nearest(key, known)}; all keys: add --cfg job")


def plain(node: Any) -> dict[str, Any]:
    """The values of a node, resolved."""
    values = OmegaConf.to_container(node, resolve=True) if OmegaConf.is_config(node) else node
    assert isinstance(values, dict)
    return {str(key): value for key, value in values.items()}
