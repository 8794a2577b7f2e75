"""The command `jaxsmt`: every sub-command is a function in `commands/` with a file of its name in `conf/`."""

import os
import sys
import warnings
from collections.abc import Sequence

from jaxsmt import __version__
from jaxsmt.common.devices.threads import fix_threads
from jaxsmt.common.integrity.ending import ended_quietly, exit_with, stopped_at_once

COMMANDS = (
    "train", "decode", "align", "lm", "extract", "compare", "tune-lists", "adapt-lists", "consensus-lists",
    "experiment", "sweep",
)  # fmt: skip
HELP = ("--help", "-h", "help")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the sub-command that the arguments begin with, or says which there are."""
    with ended_quietly(is_whole_process=arguments is None):
        arguments = sys.argv[1:] if arguments is None else list(arguments)
        if not arguments or arguments[0] in HELP:
            from jaxsmt.pipeline.terminal.help import overview

            print(overview(COMMANDS), end="")
        elif arguments[0] == "--version":
            print(__version__)
        elif arguments[0] in COMMANDS:
            run(arguments[0], arguments[1:])
        else:
            _refuse(arguments[0])


def run(command: str, arguments: Sequence[str] | None = None) -> None:
    """Runs one command as Hydra configures it; without arguments, those of the process."""
    with ended_quietly(is_whole_process=arguments is None):
        arguments = sys.argv[1:] if arguments is None else list(arguments)
        if any(argument in HELP[:2] for argument in arguments):
            from jaxsmt.pipeline.terminal.help import command_help

            print(command_help(command), end="")
            return
        if "debug=true" not in arguments and not sys.warnoptions:
            warnings.simplefilter("ignore")  # they are for developers of libraries, who ask for them
            os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # XLA's own: errors alone
        fix_threads()
        with stopped_at_once():  # JAX takes a second to come
            import importlib

            from jaxsmt.pipeline.config.keys import known_keys, register_schema_of, schema_of_command
            from jaxsmt.pipeline.config.launch import launch

            name = command.replace("-", "_")
            register_schema_of(name)
            job = getattr(importlib.import_module(f"jaxsmt.pipeline.commands.{name}"), name)
        launch(name, job, [f"jaxsmt {command}", *arguments], schema_of_command(name), lambda: known_keys(name))


def _refuse(name: str) -> None:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(COMMANDS)}"
    exit_with(f"'{name}' is not a command of jaxsmt: {hint}")


if __name__ == "__main__":
    main()
