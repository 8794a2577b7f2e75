"""Both commands of the README on every Python that it names, with the lowest and the newest versions allowed.

`nox` runs everything, `nox -l` lists the sessions, `nox -s 'tests(versions="lowest")'` runs some of them; a Python that
is not installed is skipped. `processors` and `orders` try what must not matter: vector units, cores, seeds, order.
"""

import re
import shutil
import tomllib
from pathlib import Path

import nox

PYTHONS = ["3.11", "3.12", "3.13"]
VERSIONS = ["lowest", "newest"]
INSTRUCTION_SETS = ["SSE4_2", "AVX", "AVX2", "AVX512"]
nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True


def install(session: nox.Session, versions: str, extras: str = "") -> None:
    """The project, with requirements as old as it allows or as new as there are."""
    if versions == "newest":
        session.install("-e", f".{extras}", "--upgrade", "--upgrade-strategy", "eager")
        return
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    constraints = Path(session.create_tmp()) / "lowest.txt"
    constraints.write_text("\n".join(re.sub(">=", "==", requirement) for requirement in named) + "\n")
    session.install("-e", f".{extras}", "-c", str(constraints.resolve()))


@nox.session(python=PYTHONS)
@nox.parametrize("versions", VERSIONS)
def demo(session: nox.Session, versions: str) -> None:
    """The README's first command: trains on the embedded demo."""
    install(session, versions)
    session.run("python", "train.py", f"work_dir={Path(session.create_tmp()).resolve() / 'run'}")


@nox.session(python=PYTHONS)
@nox.parametrize("versions", VERSIONS)
def tests(session: nox.Session, versions: str) -> None:
    """The README's second command: the tests."""
    install(session, versions, "[test]")
    session.run("pytest", *session.posargs)


@nox.session
@nox.parametrize("instruction_set", INSTRUCTION_SETS)
@nox.parametrize("cores", [1, 2])
def processors(session: nox.Session, cores: int, instruction_set: str) -> None:
    """The tests, compiled as the commands are, with narrower vectors and on one core."""
    install(session, "newest", "[test]")
    pinned = ["taskset", "-c", ",".join(map(str, range(cores)))] if shutil.which("taskset") else []
    flags = {"XLA_FLAGS": f"--xla_cpu_max_isa={instruction_set}", "JAXSMT_TESTS": "optimised"}
    session.run(*pinned, "pytest", *session.posargs, env=flags, external=bool(pinned))


@nox.session
@nox.parametrize("seed", [1, 2])
def orders(session: nox.Session, seed: int) -> None:
    """The tests in random order, with other seeds for hypothesis."""
    install(session, "newest", "[test]")
    session.install("pytest-randomly")
    session.run("pytest", f"--randomly-seed={seed}", f"--hypothesis-seed={seed}", *session.posargs)


@nox.session
def alone(session: nox.Session) -> None:
    """Every file of tests in a process of its own."""
    install(session, "newest", "[test]")
    for path in sorted(Path("tests").rglob("test_*.py")):
        session.run("pytest", "-n", "0", str(path), success_codes=[0, 5])  # 5: all of it is marked slow


@nox.session
def check(session: nox.Session) -> None:
    """Style and types."""
    session.install("-e", ".[check]")
    session.run("ruff", "check")
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation as a site in build/site; a link or an anchor that leads nowhere is an error."""
    session.install("-e", ".[docs]")
    session.run("mkdocs", "build", "--strict")
