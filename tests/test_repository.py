"""The repository itself: clean code, and documents that say what is true."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY


@pytest.mark.parametrize("command", [["ruff", "check", "--no-cache"], ["mypy"]])
def test_static_checks_pass(command):
    result = subprocess.run(
        [sys.executable, "-m", *command], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_continuous_integration_runs_the_command_of_the_readme():
    commands = re.findall(r"^python3 -m venv .*$", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.M)
    assert len(commands) == 2
    assert commands[0].endswith("train.py")
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert script[-1] == commands[1]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git to list the files")
def test_no_tracked_file_is_large():
    names = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    paths = [REPOSITORY / name for name in names.stdout.split("\0") if name]
    assert [path.name for path in paths if path.is_file() and path.stat().st_size > 1 << 20] == []
