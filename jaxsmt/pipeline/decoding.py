"""decode.py: lines in, translated lines out."""

import dataclasses
import sys
import time
from collections.abc import Iterable, Iterator

from omegaconf import DictConfig

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_file
from jaxsmt.common.progress import log, track
from jaxsmt.pipeline.config import room_overrides
from jaxsmt.pipeline.model import load_model
from jaxsmt.pipeline.translation import make_line_translator
from jaxsmt.text.streams import read_lines

STANDARD = "-"  # standard input or output


def decode(config: DictConfig) -> None:
    """Translates `input` to `output`, a line for a line."""
    model = load_model(config.model_dir)
    search = dataclasses.replace(model.search, **room_overrides(config.search))
    weights = model.weights(config.domain, config.weights)
    translator = make_line_translator(model, weights, search, config.batch_cells)
    started, number = time.perf_counter(), 0

    def counted(lines: Iterable[str]) -> Iterator[str]:
        nonlocal number
        for line in track(lines, "translating"):
            number += 1
            yield line

    _write(config.output, counted(translator.translate_stream(_read(config.input))))
    seconds = time.perf_counter() - started
    log.info("%d lines in %.1f s, %.0f a second", number, seconds, number / max(seconds, 1e-9))


def _read(path: str) -> Iterator[str]:
    if path != STANDARD:
        return read_lines(path, may_be_empty=True)
    return _standard_input()


def _standard_input() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise UserError(f"standard input, line {number} is not UTF-8: convert the text to UTF-8") from None


def _write(path: str, lines: Iterable[str]) -> None:
    if path == STANDARD:
        for line in lines:
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
        return
    with atomic_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(line + "\n" for line in lines)
