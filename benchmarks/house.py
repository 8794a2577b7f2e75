"""How much of the code a person meets: what one translated line loads and calls, and how large the pieces are.

Run: python benchmarks/house.py MODEL_DIR [LINE] [--files]
MODEL_DIR is a model folder, for instance runs/demo/model. A file counts as called where one of its functions runs,
those that JAX traces included: the first line compiles kernels, the second one only runs them. --files names them. The
last line is one JSON object.
"""

import argparse
import ast
import inspect
import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import jaxsmt

SOURCE = Path(jaxsmt.__file__).resolve().parent
MANY_PARAMETERS = 7


@contextmanager
def called_files() -> Iterator[set[str]]:
    """Collects the source files whose functions run in the block; what a module does while it is imported is none."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # bodies of modules and classes are none
        if event == "call" and is_function and code.co_filename.startswith(f"{SOURCE}/"):
            found.add(str(Path(code.co_filename).relative_to(SOURCE)))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def loaded_modules() -> list[str]:
    """The project's modules that are loaded, but for folders."""
    named = {name: module for name, module in sys.modules.items() if name.startswith("jaxsmt.")}
    return sorted(name for name, module in named.items() if not hasattr(module, "__path__"))


def figures_of_source() -> dict[str, int]:
    """What can be counted without running anything."""
    paths = sorted(SOURCE.rglob("*.py"))
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    own = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    per_folder = Counter(path.parent for path in paths if path.name != "__init__.py")
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in paths]
    return {
        "most files in a folder": max(per_folder.values()),
        f"functions with {MANY_PARAMETERS} parameters and more": sum(
            num_parameters(node) >= MANY_PARAMETERS for node in functions
        ),
        "isinstance of own classes": sum(asks_for(node, own) for node in nodes),
        "files": len(paths),
        "lines": sum(lengths),
        "lines of the longest file": max(lengths),
    }


def num_parameters(function: ast.FunctionDef) -> int:
    """Without self and cls."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len([part for part in given if part.arg not in ("self", "cls")])


def asks_for(node: ast.AST, classes: set[str]) -> bool:
    """Whether a node is isinstance(…, one of the classes)."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
    return is_call and any(isinstance(part, ast.Name) and part.id in classes for part in ast.walk(node.args[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_dir")
    parser.add_argument("line", nargs="?", default="Elle la lui donne.")
    parser.add_argument("--files", action="store_true")
    options = parser.parse_args()
    load_model = jaxsmt.load_model
    with called_files() as first:
        model = load_model(options.model_dir)
        model.translate([options.line])
    with called_files() as second:
        model.translate([options.line])
    figures = {
        "modules loaded for one line": len(loaded_modules()),
        "files called: model opened, first line": len(first),
        "files called: second line": len(second),
        **figures_of_source(),
    }
    if options.files:
        for name in sorted(first):
            print(f"{name:40} {'both lines' if name in second else 'first line'}")
    for name, figure in figures.items():
        print(f"{name:45} {figure:6}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
