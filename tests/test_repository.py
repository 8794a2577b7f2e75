"""The repository itself: documents and requirements that say what is true."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from tests.conftest import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
# of an imported module, where names differ
DISTRIBUTION = {"hydra": "hydra-core", "sklearn": "scikit-learn", "dask_jobqueue": "dask-jobqueue"}


def test_continuous_integration_runs_the_command_of_the_readme():
    commands = re.findall(r"^python3 -m venv .*$", README, re.MULTILINE)
    assert len(commands) == 2
    assert commands[0].endswith("train.py")
    assert commands[1] in (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def imported(*folders):
    """Top-level modules that files import, our own and Python's left out."""
    found = set()
    for path in (path for folder in folders for path in (REPOSITORY / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            found |= {name.partition(".")[0] for name in names}
    return found - set(sys.stdlib_module_names) - {"jaxsmt", "tests", "benchmarks"}


def required(*extras):
    lists = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] for extra in extras)]
    return {re.split(r"[^\w-]", requirement)[0] for requirements in lists for requirement in requirements}


def test_every_import_is_a_named_requirement():
    ours, tests = ({DISTRIBUTION.get(name, name) for name in imported(folder)} for folder in ("jaxsmt", "tests"))
    # jax.export needs flatbuffers, Hydra finds its launcher by itself, and nothing is named without need
    assert ours | {"flatbuffers", "hydra-submitit-launcher", "submitit"} == required("adapt", "sweep", "cluster")
    assert tests <= required("test")


def test_the_same_pythons_are_named_everywhere():
    oldest, newest = (int(minor) for minor in re.findall(r"3\.(\d+)", PROJECT["requires-python"]))
    versions = [f"3.{minor}" for minor in range(oldest, newest)]
    assert f"Python {', '.join(versions[:-1])} or {versions[-1]}" in README
    assert f"for version in {' '.join(versions)}; do" in (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    listed = ", ".join(f'"{version}"' for version in versions)
    assert f"PYTHONS = [{listed}]" in (REPOSITORY / "noxfile.py").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git to list the files")
def test_no_tracked_file_is_large():
    names = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    paths = [REPOSITORY / name for name in names.stdout.split("\0") if name]  # none in an unpacked archive
    assert [path.name for path in paths if path.is_file() and path.stat().st_size > 1 << 20] == []
