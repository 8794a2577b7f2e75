"""The command `jaxsmt`: every sub-command is a function in `commands/` with a file of its name in `conf/`."""

import difflib
import importlib
import os
import sys
import warnings
from collections.abc import Sequence

from jaxsmt import __version__
from jaxsmt.common.devices.threads import fix_threads
from jaxsmt.pipeline.config.help import command_help, overview

COMMANDS = (
    "train", "decode", "align", "lm", "extract", "compare", "tune-lists", "adapt-lists", "consensus-lists",
    "experiment",
)  # fmt: skip
HELP = ("--help", "-h", "help")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the sub-command that the arguments begin with, or says which there are."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if not arguments or arguments[0] in HELP:
        print(overview(COMMANDS), end="")
    elif arguments[0] == "--version":
        print(__version__)
    elif arguments[0] in COMMANDS:
        run(arguments[0], arguments[1:])
    else:
        near = difflib.get_close_matches(arguments[0], COMMANDS, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(COMMANDS)}"
        print(f"error: '{arguments[0]}' is not a command of jaxsmt: {hint}", file=sys.stderr)
        raise SystemExit(1)


def run(command: str, arguments: Sequence[str] | None = None) -> None:
    """Runs one command as Hydra configures it; without arguments, those of the process."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if any(argument in HELP[:2] for argument in arguments):
        print(command_help(command), end="")
        return
    if "debug=true" not in arguments and not sys.warnoptions:
        warnings.simplefilter("ignore")  # they are for developers of libraries, who ask for them
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # XLA's own: errors alone
    fix_threads()
    # only here, since JAX takes a second to come
    from jaxsmt.pipeline.config.keys import known_keys, register_schema_of
    from jaxsmt.pipeline.config.launch import launch

    name = command.replace("-", "_")
    register_schema_of(name)
    job = getattr(importlib.import_module(f"jaxsmt.pipeline.commands.{name}"), name)
    launch(name, job, [f"jaxsmt {command}", *arguments], lambda: known_keys(name))


if __name__ == "__main__":
    main()
