"""Makes docs/bad-inputs.md of the cases that the tests run: `python -m tests.faults.bad_inputs_table`.

A module of cases has lists or tuples of objects with `command`, `what` (or else `name`) and `sentence`.
"""

import importlib
import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MODULES = ("tests.faults.bad_inputs", "tests.faults.bad_settings")  # those that are there
PAGE = Path(__file__).resolve().parents[2] / "docs" / "bad-inputs.md"
SHOWN = ("command", "name", "sentence")
HEAD = """# What it says to bad input

Every row is a test. The command ends with exit code 1 and one sentence on stderr, of which a part is shown; nothing
half-written stays. `debug=true` adds the traceback. Made by `python -m tests.faults.bad_inputs_table`.

| command | what is wrong | what it says |
|---|---|---|
"""


def all_cases() -> list[Any]:
    """The cases of all modules, in their order."""
    found = [importlib.import_module(name) for name in MODULES if importlib.util.find_spec(name)]
    return [case for module in found for case in _cases_of(module)]


def page(cases: Iterable[Any]) -> str:
    """The page, a row for each case."""
    rows = ((f"`jaxsmt {case.command}`", getattr(case, "what", case.name), case.sentence) for case in cases)
    return HEAD + "".join("| " + " | ".join(_cell(part) for part in row) + " |\n" for row in rows)


def _cases_of(module: Any) -> list[Any]:
    lists = [value for value in vars(module).values() if isinstance(value, list | tuple)]
    cases = [case for part in lists for case in part if all(hasattr(case, key) for key in SHOWN)]
    return list({id(case): case for case in cases}.values())  # a list may join others


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    PAGE.write_text(page(all_cases()), encoding="utf-8", newline="\n")
