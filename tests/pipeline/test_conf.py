"""conf/ says all: every key is there and explained, and nothing is there twice."""

import re

import pytest
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.config.adapters import adapter_config
from jaxsmt.pipeline.config.folder import conf_folder
from jaxsmt.pipeline.config.keys import known_keys, register_all_schemas
from jaxsmt.pipeline.config.launch import all_keys
from jaxsmt.pipeline.config.tuners import tuner_config, tuner_or_none
from jaxsmt.pipeline.main import COMMANDS
from jaxsmt.pipeline.terminal.help import GROUPS
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import compose_config

CONF = REPOSITORY / "conf"
FILES = sorted(path.relative_to(CONF).as_posix() for path in CONF.rglob("*.yaml"))
NAMES = [command.replace("-", "_") for command in COMMANDS]
KEY = re.compile(r"( *)(\w+):(?: (.*))?")
NAMED_BY_USERS = {
    "corpus": {"components", "dev", "adapt", "test", "groups"},  # conf/corpus/files.yaml explains them
    "experiment": {"demo", "systems", "members", "figures", "claims"},  # rows and columns of tables
}


def unexplained(text: str, left_out: set[str]) -> list[str]:
    """Keys with a value that have no comment on their line or directly above; parents in `left_out` hold no keys."""
    lines, found, skipped = text.splitlines(), [], None
    for number, line in enumerate(lines):
        match = KEY.fullmatch(line)
        if match is None:
            continue
        indent, key, value = len(match.group(1)), match.group(2), (match.group(3) or "").strip()
        if skipped is not None and indent > skipped:
            continue
        skipped = indent if not value and key in left_out else None
        above = lines[number - 1].strip() if number else ""
        if value and "# " not in value and not above.startswith("#"):
            found.append(key)
    return found


def test_what_unexplained_finds():
    assert unexplained("# a\nx: 1\ny: 2\nz: 3  # z\nw:\n  # u\n  u: 4\n  v: 5\n", set()) == ["y", "v"]
    assert unexplained("w:\n  v:\n    u: 5\nt: 6\n", {"w"}) == ["t"]


@pytest.mark.parametrize("name", FILES)
def test_every_key_is_explained(name):
    left_out = {"defaults"} | NAMED_BY_USERS.get(name.partition("/")[0], set())
    text = (CONF / name).read_text(encoding="utf-8")
    assert unexplained(text, left_out) == []
    assert text.startswith("# ")


def keys_in_files() -> set[str]:
    """All keys that some file of conf/ sets, dotted from the configuration's root."""
    found = set()
    for name in FILES:
        *folders, file = name.split("/")
        prefix = ".".join(folders) + "." if folders else ""
        own = {f"{prefix}{key}" for key in all_keys(OmegaConf.load(CONF / name))}
        found |= own if folders else {f"{file.removesuffix('.yaml')}: {key}" for key in own}
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_key_of_a_command_is_in_a_file(name):
    register_all_schemas()
    groups = set(OmegaConf.create(ConfigStore.instance().load(f"{name}_schema.yaml").node)) & set(GROUPS)
    there, keys = keys_in_files(), known_keys(name)
    missing = []
    for key in keys:
        shared = re.sub(r"^adapt\.mert\.", "tune.", key)
        shared = re.sub(r"^(lm\.classes\.)?estimation", "lm.estimation", shared)
        in_file = {shared, f"{name}: {key}", f"base: {key}"}
        is_inner = any(other.startswith(f"{key}.") for other in keys)
        if not (is_inner or key in groups or in_file & there):
            missing.append(key)
    assert missing == []


def test_our_folder_is_the_one_of_the_repository():
    assert conf_folder() == CONF


def test_groups_have_a_word_of_help():
    assert {path.name for path in CONF.iterdir() if path.is_dir()} - {"hydra"} == set(GROUPS)


@pytest.mark.parametrize("group", sorted({path.split("/")[0] for path in FILES if "/" in path}))
def test_no_file_repeats_another(group):
    """Two choices of a group that share four keys with the same values should share a file."""
    plain = [OmegaConf.to_container(OmegaConf.load(path)) for path in sorted((CONF / group).glob("*.yaml"))]
    for place, first in enumerate(plain):
        for second in plain[:place]:
            same = [key for key in first if key in second and key != "defaults" and first[key] == second[key]]
            assert len(same) < 4, (group, same)


def test_a_sweep_may_set_keys_of_any_choice():
    for options in (["adapt=none"], ["adapt=bpa"], ["adapt=bagging"]):
        config = compose_config("train", [*options, "adapt.members=3", "adapt.num_samples=7", "adapt.mert.restarts=2"])
        settings = adapter_config(config.adapt)
        assert getattr(settings, "members", 3) == 3
        assert getattr(settings, "num_samples", 7) == 7
    config = compose_config("train", ["tune=mira", "tune.restarts=2", "tune.iterations=4"])
    assert tuner_config(config.tune).iterations == 4


def test_a_key_of_no_choice_is_an_error():
    with pytest.raises(UserError, match="did you mean 'members'"):
        adapter_config(compose_config("train", ["adapt=bagging", "adapt.membres=3"]).adapt)
    with pytest.raises(UserError, match="did you mean 'members'"):
        adapter_config(compose_config("train", ["adapt=none", "adapt.membres=3"]).adapt)
    for tuner in ("none", "mira"):
        with pytest.raises(UserError, match=r"tune\.seeds is in no choice of tune: did you mean 'seed'"):
            tuner_or_none(compose_config("train", [f"tune={tuner}", "tune.seeds=3"]).tune)


def test_a_key_that_a_choice_has_not_is_left_out_with_a_word(caplog):
    assert tuner_or_none(compose_config("train", ["tune=none", "tune.seed=3"]).tune) is None
    assert "tune=none has no key 'seed': it is left out" in caplog.text
