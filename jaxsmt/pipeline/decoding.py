"""decode.py: lines in, translated lines out."""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO

from omegaconf import DictConfig

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_file
from jaxsmt.common.progress import log, track
from jaxsmt.pipeline.config import with_overrides
from jaxsmt.pipeline.glossary import read_glossary
from jaxsmt.pipeline.model import load_model
from jaxsmt.pipeline.translation import LineTranslator, TranslatedLine, blocks_of, make_line_translator
from jaxsmt.text.streams import read_lines

STANDARD = "-"  # standard input or output


def decode(config: DictConfig) -> None:
    """Translates `input` to `output`, a line for a line, and writes what else is asked for."""
    if (config.nbest > 0) != (config.nbest_output is not None):
        raise UserError("nbest and nbest_output go together: set both, or neither")
    translator = load_translator(config)
    started, number = time.perf_counter(), 0
    unknown: Counter[str] = Counter()
    with ExitStack() as stack:
        outputs = {key: stack.enter_context(_opened(config[key])) for key in ("output", "alignments", "nbest_output")}
        for block in track(blocks_of(_read(config.input)), "translating, blocks"):
            lines = translator.translate(block)
            _write_lines(outputs["output"], (line.text for line in lines))
            _write_lines(outputs["alignments"], map(_links, lines))
            if outputs["nbest_output"]:
                _write_lines(outputs["nbest_output"], translator.nbest(block, config.nbest, number))
            unknown.update(word for line in lines for word in line.unknown)
            number += len(block)
    _report_unknown(config.unknown_words, unknown)
    seconds = time.perf_counter() - started
    log.info("%d lines in %.1f s, %.1f a second", number, seconds, number / max(seconds, 1e-9))


def load_translator(config: DictConfig) -> LineTranslator:
    """The model with the weights and settings that the command line asks for."""
    model = load_model(config.model_dir)
    glossary = read_glossary(config.glossary, model.source, model.target) if config.glossary else {}
    return make_line_translator(
        model,
        model.mixture(config.domain, config.mixture),
        model.lm_mixture(config.domain, config.lm_mixture),
        with_overrides(model.search, config.search),
        with_overrides(model.weights, config.weights).of_search,
        glossary,
    )


def _links(line: TranslatedLine) -> str:
    return " ".join(f"{source}-{target}" for source, target in line.alignment)


def _report_unknown(path: str | None, unknown: Counter[str]) -> None:
    """Unknown words by falling count, then in code-point order."""
    if unknown:
        log.info("%d unknown words, %d distinct", unknown.total(), len(unknown))
    if path is not None:
        with _opened(path) as stream:
            rows = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))
            _write_lines(stream, (f"{count}\t{word}" for word, count in rows))


def _read(path: str) -> Iterator[str]:
    return read_lines(path, may_be_empty=True) if path != STANDARD else _standard_input()


def _standard_input() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise UserError(f"standard input, line {number} is not UTF-8: convert the text to UTF-8") from None


@contextmanager
def _opened(path: str | None) -> Iterator[TextIO | None]:
    """A stream whose file appears when all went well; standard output for '-'."""
    if path is None:
        yield None
    elif path == STANDARD:
        yield sys.stdout
        sys.stdout.flush()
    else:
        with atomic_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as stream:
            yield stream


def _write_lines(stream: TextIO | None, lines: Iterable[str]) -> None:
    if stream is not None:
        stream.writelines(line + "\n" for line in lines)
