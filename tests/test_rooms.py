"""The plan of the house: which room may import which, and what a program that only translates must not load."""

import ast
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY

PLAN = {
    "common": set(),
    "demo": {"common"},
    "text": {"common"},
    "evaluate": {"common", "text"},
    "align": {"common", "text"},
    "lm": {"common", "text"},
    "osm": {"common", "text", "lm"},
    "extract": {"common", "text", "align"},
    "tm": {"common", "text", "extract"},
    "search": {"common", "text", "tm", "lm", "osm"},
    "tune": {"common", "text", "evaluate"},
    "adapt": {"common", "text", "lm", "evaluate", "tune"},
    "model": {"common", "text", "tm", "lm", "osm", "search", "adapt"},
    "pipeline": {
        "common",
        "demo",
        "text",
        "evaluate",
        "align",
        "lm",
        "osm",
        "extract",
        "tm",
        "search",
        "tune",
        "adapt",
        "model",
    },
}
CONFIGURATION = {"hydra", "omegaconf"}  # rooms have dataclasses of their own; only the pipeline knows these
NOT_IN_A_MODEL = {"jaxsmt.lm.kneser_ney", "jaxsmt.lm.counting"}
FEW_MODELS_NEED = {  # n-best lists, rescoring, adaptation, mixtures other than the plain sum of counts, either search
    "jaxsmt.search.nbest.arrays", "jaxsmt.lm.rescoring", "jaxsmt.lm.arpa", "jaxsmt.osm", "jaxsmt.adapt",
    "jaxsmt.search.rules.ensemble", "jaxsmt.search.chart.kernel", "jaxsmt.search.stack.kernel",
}  # fmt: skip
MOST_FILES = 14  # in a folder: what a person takes in at a glance
TRAINING = {"jaxsmt.pipeline.stages", "jaxsmt.align", "jaxsmt.tune", "jaxsmt.evaluate", *NOT_IN_A_MODEL}


def imports_of(path):
    """Names of all modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports here are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_of(names):
    """The rooms of modules; `from jaxsmt import __version__` names none."""
    found = {name.split(".")[1] for name in names if name.startswith("jaxsmt.")}
    return {name for name in found if (REPOSITORY / "jaxsmt" / name).is_dir()}


@pytest.mark.parametrize("room", PLAN)
def test_a_room_imports_what_the_plan_allows(room):
    for path in (REPOSITORY / "jaxsmt" / room).rglob("*.py"):
        names = set(imports_of(path))
        assert rooms_of(names) <= {room, *PLAN[room]}, path
        if room != "pipeline":
            assert not CONFIGURATION & {name.split(".")[0] for name in names}, path


def test_every_room_is_in_the_plan():
    assert {path.parent.name for path in (REPOSITORY / "jaxsmt").glob("*/__init__.py")} == set(PLAN)


def test_the_front_door_opens_the_model_alone():
    assert rooms_of(imports_of(REPOSITORY / "jaxsmt" / "__init__.py")) == {"model"}


def test_a_model_estimates_nothing():
    for path in (REPOSITORY / "jaxsmt" / "model").rglob("*.py"):
        names = set(imports_of(path))
        assert not [name for name in names if any(name.startswith(other) for other in NOT_IN_A_MODEL)], path


@pytest.mark.parametrize("room", PLAN)
def test_a_folder_is_taken_in_at_a_glance(room):
    top = REPOSITORY / "jaxsmt" / room
    for folder in (top, *(path.parent for path in top.glob("*/__init__.py"))):
        assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= MOST_FILES, folder


def test_a_class_name_means_one_thing():
    homes: dict[str, list[str]] = {}
    for path in sorted((REPOSITORY / "jaxsmt").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(REPOSITORY)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def loaded_by(program):
    """Names of all modules that a process has loaded after a program."""
    code = f"import sys\n{program}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True)
    return set(done.stdout.split())


def test_the_library_is_loaded_when_it_is_used():
    names = loaded_by("import jaxsmt")
    assert [name for name in names if name.startswith("jaxsmt")] == ["jaxsmt"]
    assert not {"jax", "numpy"} & names


def test_a_program_that_translates_loads_neither_configuration_nor_training():
    names = loaded_by("import jaxsmt\nassert callable(jaxsmt.load_model)")
    assert not CONFIGURATION & names
    assert not (TRAINING | FEW_MODELS_NEED | {"jaxsmt.pipeline"}) & names


def test_decoding_loads_nothing_that_trains():
    assert not TRAINING & loaded_by("import jaxsmt.pipeline.commands.decode, jaxsmt.pipeline.config.decoding")
