"""The last words of a training: where things are, and what to try next."""

import logging
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from jaxsmt.common.progress import console, log
from jaxsmt.pipeline.terminal.wrapping import wrapped_command

COMMAND = "jaxsmt"
INDENT = " " * 8
LEAST_WIDTH = 30  # of a command


def shown_path(path: Path) -> str:
    """From the working folder where it is below it."""
    path, here = path.absolute(), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def command_name() -> str:
    """What a person types to run jaxsmt in this environment: its name where the shell finds it, or its path."""
    if shutil.which(COMMAND):
        return COMMAND
    beside = Path(sys.executable).parent / COMMAND  # not resolved: a virtual environment's python is a link
    return shown_path(beside) if beside.is_file() else f"{shown_path(Path(sys.executable))} -m jaxsmt.pipeline.main"


def ending(model: Path, report: Path | None, is_demo: bool, is_tuned: bool) -> list[tuple[str, str]]:
    """What there is, and what could come next: a word and a path or a command each."""
    command, folder = command_name(), shown_path(model)
    lines = [("model", folder)]
    if report is not None:
        lines.append(("report", f"{shown_path(report)}  # open it in a browser"))
    decode = f"{command} decode model_dir={folder}"
    lines += [("try", f"{decode}  # and type a line"), ("try", f"{decode} input=FILE output=FILE explain=true")]
    if not is_tuned:
        lines.append(("try", f"{command} train{'' if is_demo else ' …'} tune=mira  # better weights, in some minutes"))
    if is_demo:
        lines.append(("try", f"{command} train --help  # your own texts, and all there is to choose"))
    return lines


def is_part_of_sweep() -> bool:
    """Whether the process runs several jobs, and this is one of them."""
    return HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN


def ending_text(lines: Sequence[tuple[str, str]], width: int | None) -> str:
    """The lines below each other, commands continued where a line of `width` has no room for them; None: any width."""
    made = []
    for word, text in lines:
        parts = [text] if width is None else wrapped_command(text, max(width - len(INDENT), LEAST_WIDTH))
        made += [f"{word + ':':{len(INDENT)}}{parts[0]}", *(INDENT + part for part in parts[1:])]
    return "\n".join(made)


def show_ending(model: Path, report: Path | None, is_demo: bool, is_tuned: bool) -> None:
    """On stderr, since it is no result."""
    if not log.isEnabledFor(logging.INFO) or is_part_of_sweep():
        return
    text = ending_text(ending(model, report, is_demo, is_tuned), console.width if console.is_terminal else None)
    console.print(text, soft_wrap=True, markup=False, highlight=False)
