"""Configurations drawn from the schema, by hypothesis: types, extremes, unknown keys, and what commands say to them.

A configuration is fine if the command comes to its work, and if it says in one sentence why not; every other exception
would be a traceback.
"""

import copy
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from jaxsmt.common.device import DeviceConfig
from jaxsmt.common.errors import UserError
from jaxsmt.common.settings import from_values
from jaxsmt.pipeline.config.folder import choices_of, conf_folder
from jaxsmt.pipeline.config.keys import known_keys, register_all_schemas, schema_of_command
from jaxsmt.pipeline.config.launch import check_against_schema, explain
from jaxsmt.pipeline.main import COMMANDS
from jaxsmt.pipeline.terminal.help import GROUPS

LIKELY = ("1", "2", "3", "5", "0.1", "0.9", "true", "false", "null")  # that many keys take
NUMBERS = ("0", "1", "-1", "2", "7", "-3", "1000", "2147483648", "-9223372036854775809", f"1{'0' * 30}")
REALS = ("0.0", "-0.0", "0.5", "1.5", "-2.5", "1e-320", "1e308", "nan", "inf", "-inf")
WORDS = ("true", "false", "null", "''", "word", "été", "'two words'", "'a=b'", "x" * 300, "../../up", "/", "2024")
SHAPES = ("[]", "[a,b]", "[1,-1]", "[nan]", "[[1]]", "[null]", "{}", "{a: 1}", "{a: {b: []}}", "[true,0]")
SLIPS = ("[", "{a", "${nothing}", "${oc.env:NO_SUCH}", "???", "'", "a:b", "$", "\\")
KINDS_OF_VALUES = (LIKELY, LIKELY, LIKELY, NUMBERS, REALS, WORDS, SHAPES, SLIPS)
FIXED = ("work_dir", "output_dir", "corpus")  # keys that say where to work; `corpus=` would write the demo each time
MISTAKES = (UserError, HydraException, OmegaConfBaseException, OSError)


class ComesToWork(Exception):
    """The command has checked all that it checks, and would begin."""


@dataclass
class Drawn:
    """How many configurations came to work and how many were refused, and what would have been tracebacks."""

    working: int = 0
    refused: int = 0
    tracebacks: list[str] = field(default_factory=list)

    @property
    def number(self) -> int:
        return self.working + self.refused + len(self.tracebacks)


def draw_configs(folder: Path, corpus: Sequence[str], model: Path, number: int) -> Drawn:
    """Draws configurations and takes each as far as the beginning of work, in an empty working folder.

    corpus: overrides that name a small corpus; model: a trained one.
    """
    drawn = Drawn()
    given_keys = {
        "train": [*corpus, f"work_dir={folder / 'run'}", f"output_dir={folder / 'run'}"],
        "decode": [f"model_dir={model}", f"input={folder / 'lines'}", f"output={folder / 'out'}"],
    }
    (folder / "lines").write_text("une ligne\n", encoding="utf-8")

    @settings(max_examples=number, database=None, deadline=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(_configurations())
    def take(drawn_one: tuple[str, list[str]]) -> None:
        command, overrides = drawn_one
        try:
            said = _take(command, [*given_keys.get(command, []), *overrides])
        except Exception as error:
            drawn.tracebacks.append(f"{command} {' '.join(overrides)}: {error!r}")
        else:
            drawn.working, drawn.refused = drawn.working + (not said), drawn.refused + bool(said)

    with _at_work(folder, model):
        take()
    return drawn


def _take(command: str, overrides: list[str]) -> str:
    """Takes a command as far as its work; what it says where it refuses, or nothing."""
    name = command.replace("-", "_")
    try:
        config = _composed(name, overrides)
    except Exception as error:  # all are mistakes in the configuration, as in `launch`
        return _sentence(explain(error, _keys(name)))
    try:
        check_against_schema(config, _schema(name))
        OmegaConf.resolve(config)
        from_values(DeviceConfig, config.get("device", {}))
        _job(name)(config)
    except ComesToWork:
        return ""
    except MISTAKES as error:
        is_of_hydra = isinstance(error, HydraException | OmegaConfBaseException)
        return _sentence(explain(error, _keys(name)) if is_of_hydra else str(error))
    return ""


def _composed(name: str, overrides: list[str]) -> DictConfig:
    """What `compose` gives, thirty times as fast: Hydra's own code sets keys in a copy of what was composed once."""
    groups = [text for text in overrides if text.lstrip("+~").split("=")[0] in GROUPS]
    config = copy.deepcopy(_with_groups(name, tuple(groups)))
    keys = OverridesParser.create().parse_overrides([text for text in overrides if text not in groups])
    ConfigLoaderImpl._apply_overrides_to_config(keys, config)
    return config


@cache
def _with_groups(name: str, groups: tuple[str, ...]) -> DictConfig:
    return compose(name, list(groups))


def _sentence(said: str) -> str:
    if not said.strip() or len(said.splitlines()) != 1:
        raise AssertionError(f"not one sentence: {said!r}")
    return said


def _job(name: str) -> Callable[[DictConfig], Any]:
    return getattr(importlib.import_module(f"jaxsmt.pipeline.commands.{name}"), name)


@contextmanager
def _at_work(folder: Path, model: Path) -> Iterator[None]:
    """In the folder, with Hydra ready, and commands that stop where their work begins."""
    from jaxsmt.pipeline.commands import decode, train

    opened = decode.open_model(model)
    real = decode.open_model

    def begins(*_: Any, **__: Any) -> None:
        raise ComesToWork

    register_all_schemas()
    before = Path.cwd()
    os.chdir(folder)
    try:
        with (
            initialize_config_dir(str(conf_folder()), version_base="1.3"),
            mock.patch.object(train, "text_stage", begins),
            mock.patch.multiple(decode, translate_blocks=begins, converse=begins, translate_document=begins),
            mock.patch("jaxsmt.pipeline.jobs.shards.run_processes", begins),
            mock.patch("jaxsmt.pipeline.commands.sweep.check_space", begins),
            mock.patch.object(decode, "open_model", lambda path: opened if Path(path) == model else real(path)),
        ):
            yield
    finally:
        os.chdir(before)


def _configurations() -> st.SearchStrategy[tuple[str, list[str]]]:
    """A command and a few overrides."""
    register_all_schemas()
    commands = st.sampled_from(("train", "train", "train", "decode", "decode", *COMMANDS))
    return commands.flatmap(lambda command: st.tuples(st.just(command), _overrides(command)))


@cache
def _overrides(command: str) -> st.SearchStrategy[list[str]]:
    """Up to three keys, and often the choice of a group."""
    keys = [key for key in _keys(command.replace("-", "_")) if key.split(".")[0] not in FIXED]
    known, unknown = st.sampled_from(keys), st.sampled_from(keys).flatmap(_misspelled)
    values = st.one_of(*(st.sampled_from(values) for values in KINDS_OF_VALUES))
    added = st.sampled_from(("", "", "", "", "+", "++"))
    single = st.builds("{}{}={}".format, added, known | known | unknown, values) | known.map("~{}".format)
    groups = sorted(set(GROUPS) & {key.split(".")[0] for key in keys})
    choices = [f"{group}={choice}" for group in groups for choice in [*choices_of(group), "nonsense", ""]]
    choice = st.lists(st.sampled_from(choices), max_size=1) if choices else st.just([])
    return st.builds(list.__add__, choice, st.lists(single, max_size=3))


@cache
def _schema(name: str) -> DictConfig:
    return schema_of_command(name)


@cache
def _keys(name: str) -> list[str]:
    return known_keys(name)


def _misspelled(key: str) -> st.SearchStrategy[str]:
    place = st.integers(0, len(key) - 1)
    return place.map(lambda at: key[:at] + key[at + 1 :]) | st.sampled_from((f"{key}.more", f"{key}s", key.upper()))
