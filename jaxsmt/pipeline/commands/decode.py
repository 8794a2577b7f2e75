"""`jaxsmt decode`: lines in, translated lines out."""

import dataclasses
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from itertools import islice
from pathlib import Path
from typing import TextIO

from omegaconf import DictConfig

from jaxsmt.adapt.clusters.labels import read_labels
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log, track
from jaxsmt.model.folder import open_model
from jaxsmt.model.labelling.labellers import GivenLabels, Labeller, SameLabel
from jaxsmt.model.model import Model, Profile
from jaxsmt.model.source_text import SourceText, blocks_of, read_glossary, source_text
from jaxsmt.model.translation import NBestList, TranslatedLine, Translator, make_translator
from jaxsmt.pipeline.config.rooms import with_overrides
from jaxsmt.pipeline.rescoring import changed_rescoring
from jaxsmt.pipeline.standard import STANDARD, input_lines, output_stream, unknown_lines
from jaxsmt.search.statistics import SearchCounts
from jaxsmt.text.encoding import TextSide

NO_LABEL = "-"  # in files of labels: a line of no particular kind
MOST_KNOWN = 100_000  # lines of input that are looked at beforehand


def decode(config: DictConfig) -> None:
    """Translates `input` to `output`, a line for a line, and writes what else is asked for."""
    if (config.nbest > 0) != (config.nbest_output is not None):
        raise UserError("nbest and nbest_output go together: set both, or neither")
    model = load_model(config)
    text = known_text(config.input, model.source)
    if text is not None:
        model = model.for_text(text)
    glossary = read_glossary(config.glossary, model.source, model.target) if config.glossary else {}
    translator = make_translator(model, with_overrides(model.search, config.search), glossary)
    labeller = chosen_labeller(config, model)
    started, number = time.perf_counter(), 0
    unknown: Counter[str] = Counter()
    with ExitStack() as stack:
        names = ("output", "alignments", "nbest_output", "labels_output")
        outputs = {key: stack.enter_context(_opened(config[key])) for key in names}
        blocks = text.blocks() if text is not None else blocks_of(model.source, _read(config.input))
        for block in track(blocks, "translating, blocks"):
            labels = labeller.labels_of(block.tokens, number)
            lines, listed = _translated(translator, block, profiles_of(labels, config, model), config.nbest)
            _write_lines(outputs["labels_output"], (label or NO_LABEL for label in labels))
            _write_lines(outputs["output"], (line.text for line in lines))
            _write_lines(outputs["alignments"], map(_links, lines))
            for place, ranked in enumerate(listed):
                _write_lines(outputs["nbest_output"], ranked.moses_lines(number + place, translator.own_features))
            unknown.update(word for line in lines for word in line.unknown)
            number += len(block)
    _report_unknown(config.unknown_words, unknown)
    _report_speed(number, time.perf_counter() - started, translator.statistics.total())


def load_model(config: DictConfig) -> Model:
    """The model, with its adaptation if that is wanted, and with files that rescore where they lie now."""
    model = open_model(config.model_dir)
    model = dataclasses.replace(model, rescoring=changed_rescoring(model.rescoring, config.rescore))
    if not config.adapted:
        model = model.unadapted
    is_given = any(value is not None for value in config.weights.values())
    if is_given and model.adaptation is not None and model.adaptation.fixes_weights:
        raise UserError("weights and the model's adaptation exclude each other: add adapted=false to give weights")
    return model


def known_text(path: str, side: TextSide) -> SourceText | None:
    """The text of a file that is not too long: rules that it cannot use need not be read. None: any may come."""
    if path == STANDARD or not Path(path).is_file():
        return None
    lines = list(islice(_read(path), MOST_KNOWN + 1))
    return source_text(side, lines) if len(lines) <= MOST_KNOWN else None


def chosen_labeller(config: DictConfig, model: Model) -> Labeller:
    """What labels the lines: a file, the command line, or the model's clusters or classes."""
    if config.labels is not None:
        if config.domain is not None:
            raise UserError("labels and domain exclude each other: labels gives every line its own domain")
        found = read_labels(config.labels, names=(*model.labels, NO_LABEL)).per_sentence
        return GivenLabels([None if label == NO_LABEL else label for label in found], config.labels)
    if config.domain is not None or config.component_weights is not None:
        return SameLabel(config.domain)
    return model.labeller()


def _translated(
    translator: Translator, block: SourceText, profiles: Sequence[Profile], size: int
) -> tuple[list[TranslatedLine], list[NBestList]]:
    """The translations, and n-best lists if they are asked for: the best of each is the translation then."""
    if not size:
        return translator.translate(block, profiles), []
    listed = translator.nbest(block, size, profiles)
    return [ranked.best for ranked in listed], listed


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
    return input_lines(path, may_be_empty=True)


def _opened(path: str | None) -> AbstractContextManager[TextIO | None]:
    return nullcontext() if path is None else output_stream(path)


def _write_lines(stream: TextIO | None, lines: Iterable[str]) -> None:
    if stream is not None:
        stream.writelines(line + "\n" for line in lines)
