"""Settings, paths and fixtures that all tests share, and a last word on what was left out."""

import os
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import pytest

from jaxsmt.common.device import release_kernels, setup_device
from tests.compiling import compile_quickly

compile_quickly()
setup_device()  # kernels are compiled once for all tests and processes
# the strictest rules of JAX: no silent widening of dtypes or ranks
jax.config.update("jax_numpy_rank_promotion", "raise")

REPOSITORY = Path(__file__).resolve().parent.parent
DESELECTED = pytest.StashKey[int]()


def folder_or_skip(variable: str, name: str) -> Path:
    """A folder that lies beside the repository or where the environment variable says."""
    folder = Path(os.environ.get(variable, REPOSITORY.parent / "shared" / name))
    if not (folder / "README.md").is_file():
        pytest.skip(f"no folder shared/{name} beside the repository, and none named by {variable}")
    return folder


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder with outputs of established tools; tests that need it run where it is there."""
    return folder_or_skip("JAXSMT_REFERENCE", "reference")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with real parallel text by domain; tests that need it run where it is there."""
    return folder_or_skip("JAXSMT_DATA", "data")


@pytest.fixture(scope="session")
def kenlm() -> ModuleType:
    """KenLM itself, which does not build on every Python."""
    return pytest.importorskip("kenlm", reason="no package kenlm, which does not build on Python 3.13 and newer")


@pytest.fixture(autouse=True, scope="module")
def _kernels_of_one_file():
    """A process that runs many files of tests does not keep what all of them compiled."""
    yield
    release_kernels()


def pytest_deselected(items: list[pytest.Item]) -> None:
    if items:
        stash = items[0].config.stash
        stash[DESELECTED] = stash.get(DESELECTED, 0) + len(items)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells how many tests it was not asked for; the same number for all workers."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["deselected"] = session.config.stash.get(DESELECTED, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    number = getattr(node, "workeroutput", {}).get("deselected", 0)
    stash = node.config.stash
    stash[DESELECTED] = max(stash.get(DESELECTED, 0), number)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """How many tests were left out for which reason."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    if number := config.stash.get(DESELECTED, 0):
        asked = {"-m": config.option.markexpr, "-k": config.option.keyword}
        options = ", ".join(f"{name} '{value}'" for name, value in asked.items() if value)
        reasons[f"not asked for ({options})"] += number
    if reasons:
        terminalreporter.section("left out", sep="-")
    for reason, number in reasons.most_common():
        terminalreporter.write_line(f"{number:5d}  {reason}")
