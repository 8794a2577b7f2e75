"""decode.py: lines in, translated lines out."""

import dataclasses
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import TextIO

from omegaconf import DictConfig

from jaxsmt.adapt.clusters.labels import read_labels
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_file
from jaxsmt.common.progress import log, track
from jaxsmt.model.adaptations import Bag, Voting
from jaxsmt.model.adapted import AdaptedTranslator, make_translator
from jaxsmt.model.glossary import read_glossary
from jaxsmt.model.model import Model, Profile, load_model
from jaxsmt.model.translation import LineTranslator, TranslatedLine, blocks_of
from jaxsmt.pipeline.config.schemas import with_overrides
from jaxsmt.pipeline.evaluation import unknown_lines
from jaxsmt.search.statistics import SearchCounts
from jaxsmt.text.streams import read_lines

STANDARD = "-"  # standard input or output
NO_LABEL = "-"  # in files of labels: a line of no particular kind
MOST_KNOWN = 100_000  # lines of input that are looked at beforehand


def decode(config: DictConfig) -> None:
    """Translates `input` to `output`, a line for a line, and writes what else is asked for."""
    if (config.nbest > 0) != (config.nbest_output is not None):
        raise UserError("nbest and nbest_output go together: set both, or neither")
    translator = load_translator(config)
    labels = given_labels(config, translator.model)
    started, number = time.perf_counter(), 0
    unknown: Counter[str] = Counter()
    with ExitStack() as stack:
        names = ("output", "alignments", "nbest_output", "labels_output")
        outputs = {key: stack.enter_context(_opened(config[key])) for key in names}
        for block in track(blocks_of(_read(config.input)), "translating, blocks"):
            of_lines = labels_of_block(block, number, labels, config, translator.model)
            profiles = profiles_of(of_lines, config, translator.model)
            lines = translator.translate(block, profiles)
            _write_lines(outputs["labels_output"], (label or NO_LABEL for label in of_lines))
            _write_lines(outputs["output"], (line.text for line in lines))
            _write_lines(outputs["alignments"], map(_links, lines))
            if outputs["nbest_output"]:
                _write_lines(outputs["nbest_output"], translator.nbest(block, config.nbest, number, profiles))
            unknown.update(word for line in lines for word in line.unknown)
            number += len(block)
    _report_unknown(config.unknown_words, unknown)
    seconds = time.perf_counter() - started
    plain = translator.plain if isinstance(translator, AdaptedTranslator) else translator
    _report_speed(number, seconds, plain.decoder.statistics.total())


def load_translator(config: DictConfig) -> LineTranslator | AdaptedTranslator:
    """The model with the settings that the command line asks for."""
    model = load_model(config.model_dir)
    if not config.adapted:
        model = model.unadapted
    is_given = any(value is not None for value in config.weights.values())
    if is_given and isinstance(model.adaptation, Voting | Bag):
        raise UserError("weights and the model's adaptation exclude each other: add adapted=false to give weights")
    lines = known_lines(config.input)
    if lines is not None:
        model = model.for_lines(lines)
    glossary = read_glossary(config.glossary, model.source, model.target) if config.glossary else {}
    return make_translator(model, with_overrides(model.search, config.search), glossary)


def known_lines(path: str) -> list[str] | None:
    """The lines of a file that is not too long: rules that they cannot use need not be read. None: any may come."""
    if path == STANDARD or not Path(path).is_file():
        return None
    lines = list(islice(_read(path), MOST_KNOWN + 1))
    return lines if len(lines) <= MOST_KNOWN else None


def given_labels(config: DictConfig, model: Model) -> list[str] | None:
    """The labels of all lines, where a file has them."""
    if config.labels is None:
        return None
    if config.domain is not None:
        raise UserError("labels and domain exclude each other: labels gives every line its own domain")
    return read_labels(config.labels, names=(*model.labels, NO_LABEL)).per_sentence


def labels_of_block(
    block: Sequence[str], start: int, given: Sequence[str] | None, config: DictConfig, model: Model
) -> list[str | None]:
    """The label of each line: from the file, from the command line, or by the model's clusters or classes."""
    if given is not None:
        found = given[start : start + len(block)]
        if len(found) < len(block):
            raise UserError(f"'{config.labels}' has {len(given)} lines and the input more: give one label a line")
        return [None if label == NO_LABEL else label for label in found]
    if config.domain is not None or config.component_weights is not None:
        return [config.domain] * len(block)
    return model.labels_of(block, None)


def profiles_of(labels: Sequence[str | None], config: DictConfig, model: Model) -> list[Profile]:
    """One profile a line, with what the command line changes in it."""
    made = {}
    for label in dict.fromkeys(labels):
        profile = model.profile(label, config.component_weights, config.lm_mixture)
        made[label] = dataclasses.replace(profile, weights=with_overrides(profile.weights, config.weights))
    return [made[label] for label in labels]


def _links(line: TranslatedLine) -> str:
    return " ".join(f"{source}-{target}" for source, target in line.alignment)


def _report_speed(num_lines: int, seconds: float, counts: SearchCounts) -> None:
    """counts: of all that was decoded for the lines, n-best lists included."""
    rate = 1 / max(seconds, 1e-9)
    log.info("%d lines in %.1f s, %.1f a second", num_lines, seconds, num_lines * rate)
    log.info("search: %d words, %.0f a second; %s", counts.words, counts.words * rate, counts.per_word())


def _report_unknown(path: str | None, unknown: Counter[str]) -> None:
    if unknown:
        log.info("%d unknown words, %d distinct", unknown.total(), len(unknown))
    if path is not None:
        with _opened(path) as stream:
            _write_lines(stream, unknown_lines(unknown).split("\n")[:-1])


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
