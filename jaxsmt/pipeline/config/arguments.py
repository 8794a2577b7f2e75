"""Arguments as people type them, in Hydra's grammar: names of files need no quotation marks of its own."""

import re
from collections.abc import Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, StringNode

from jaxsmt.common.cluster.config import SCHEDULER
from jaxsmt.common.errors import UserError

LONGEST_KEY = 200
MULTIRUN = ("--multirun", "-m")
_ARGUMENT = re.compile(r"(?P<key>[^=]+)=(?P<value>.*)", re.DOTALL)
_BITEXT_KEY = re.compile(r"corpus\.(components|dev|adapt|test)\.[^.]+\.(source|target|path|accelerators|\w+_language)")
_QUOTED = re.compile(r"'.*'|\".*\"", re.DOTALL)


def readable(arguments: Sequence[str], schema: DictConfig) -> list[str]:
    """The arguments with quotation marks where the grammar needs them; schema: of the command.

    A cluster may be named by the address of its scheduler, cluster=tcp://host:8786.
    """
    is_sweep = any(argument in MULTIRUN for argument in arguments)
    found, flag = [], ""
    for argument in _with_address(arguments):
        is_option = argument.startswith("-") or flag not in ("", *MULTIRUN)  # a flag may have a value of its own
        found.append(argument if is_option else _readable(argument, schema, is_sweep))
        flag = argument if argument.startswith("-") else ""
    return found


def _readable(argument: str, schema: DictConfig, is_sweep: bool) -> str:
    match = _ARGUMENT.fullmatch(argument)
    if match is None:
        if argument.startswith("~"):
            return argument
        raise UserError(f"'{argument}' is not key=value: write what it is, for instance input={argument}")
    key, value = match["key"], match["value"]
    if len(key) > LONGEST_KEY:  # Hydra asks for a file of this name
        raise UserError(f"'{key[:60]}…' has {len(key)} letters, too many for a key: use shorter names")
    parsed = _parsed(argument)
    if is_text(key.lstrip("+~").split("@")[0], schema) and not (is_sweep and parsed) and not _is_meant(value):
        argument = f"{key}={_quoted(value)}"
    elif parsed is None:
        argument = f"{key}={_repaired(value)}"
    if _parsed(argument) is None:
        raise UserError(
            f"'{key}' cannot be a key on the command line: use letters from a to z, digits, '-', '_' and dots, or name "
            "it in a file such as conf/corpus/mine.yaml"
        )
    return argument


def _with_address(arguments: Sequence[str]) -> list[str]:
    found = []
    for argument in arguments:
        key, _, value = argument.partition("=")
        is_address = key == "cluster" and SCHEDULER.fullmatch(value)
        found += ["cluster=address", f"cluster.address={value}"] if is_address else [argument]
    return found


def is_text(key: str, schema: DictConfig) -> bool:
    """Whether a key has text as its value: a file, a folder, a name."""
    node: Any = schema
    for name in key.split("."):
        if not isinstance(node, DictConfig):
            return False
        if name not in node:
            return node._metadata.element_type is str or bool(_BITEXT_KEY.fullmatch(key))
        node = node._get_node(name)
    return isinstance(node, StringNode)


def _is_meant(value: str) -> bool:
    """What the grammar or OmegaConf has a meaning for, and no file is called by."""
    return value == "null" or "${" in value or bool(_QUOTED.fullmatch(value))


def _repaired(value: str) -> str:
    """A list with its items in quotation marks, or the whole value in them."""
    if value.startswith("[") and value.endswith("]"):
        items = [item.strip() for item in value[1:-1].split(",")]
        return "[" + ",".join(item if _is_meant(item) else _quoted(item) for item in items) + "]"
    return _quoted(value)


def _quoted(value: str) -> str:
    return QuotedString(value, Quote.single).with_quotes()


def _parsed(argument: str) -> Override | None:
    try:
        return OverridesParser.create().parse_override(argument)
    except HydraException:
        return None
