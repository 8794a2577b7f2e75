"""`jaxsmt decode`: lines in, translated lines out."""

import dataclasses
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TextIO

from omegaconf import DictConfig

from jaxsmt.adapt.clusters.labels import read_labels
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log, track
from jaxsmt.common.wording import counted
from jaxsmt.model.explaining.explanation import Explanation
from jaxsmt.model.folder import open_model
from jaxsmt.model.labelling.labellers import NO_DOMAIN, GivenLabels, Labeller, same_label
from jaxsmt.model.model import Model
from jaxsmt.model.source_text import NO_TEXT, SourceText, blocks_of, read_glossary, source_text
from jaxsmt.model.translation import TranslatedLine, make_translator
from jaxsmt.pipeline.checking.input import check_input
from jaxsmt.pipeline.checking.outputs import check_outputs
from jaxsmt.pipeline.config.rooms import with_overrides
from jaxsmt.pipeline.jobs.parts import own_part
from jaxsmt.pipeline.rescoring import changed_consensus, changed_rescoring
from jaxsmt.pipeline.standard import STANDARD, input_lines, output_stream, unknown_lines
from jaxsmt.pipeline.translating.conversation import converse
from jaxsmt.pipeline.translating.documents import document_lines, translate_document
from jaxsmt.pipeline.translating.opening import document_format
from jaxsmt.pipeline.translating.session import Answer, Session
from jaxsmt.search.statistics import SearchCounts
from jaxsmt.text.encoding import TextSide
from jaxsmt.text.languages.segmenters import allow

NO_LABEL = "-"  # in files of labels: a line of no particular kind
FURTHER_OUTPUTS = ("alignments", "nbest_output", "labels_output", "explain_output")
JSON_LINES = (".jsonl", ".json", ".ndjson")
MOST_KNOWN, MOST_LETTERS = 100_000, 50_000_000  # lines of input, and letters, that are looked at beforehand


def decode(config: DictConfig) -> None:
    """Translates `input` to `output`, a line for a line, and writes what else is asked for."""
    check_request(config)
    if config.shards is None and config.shard is None:
        translate(config)
    else:
        from jaxsmt.pipeline.jobs.shards import translate_shards  # few ask for it

        translate_shards(config, translate)


def translate(config: DictConfig) -> None:
    """Translates the input, or that shard of it which is asked for."""
    model = load_model(config)
    is_document = document_format(config.format, config.input) is not None
    if config.check:
        lines = document_lines(config, model) if is_document else _read(config.input)
        check_input(lines, model.source, model.target, config.input, config.check_output)
        return
    if is_document:
        translate_document(config, model, chosen_labeller(config, model))
        return
    if config.adapt_to_file or config.adapt_memory is not None:
        key = "adapt_to_file" if config.adapt_to_file else "adapt_memory"
        raise UserError(f"{key} is for documents, and '{config.input}' is lines of text: leave it out, or set format")
    has_profile = any(config[key] is not None for key in ("domain", "component_weights", "lm_mixture"))
    if has_profile and not is_conversation(config):  # which is told, and goes on
        model.profile(same_label(config.domain or NO_DOMAIN).label, config.component_weights, config.lm_mixture)
    text: SourceText | None
    labeller, first = chosen_labeller(config, model), 0
    if config.shard is not None:
        part = own_part(config, model.source, labeller, (MOST_KNOWN, MOST_LETTERS))
        text, labeller, first = part.text, part.labeller, part.first
    else:
        text = known_text(config.input, model.source)
        if config.labels is not None and text is not None:
            labeller.labels_of(text.tokens)
            labeller.labels_of([], len(text))  # are there more?
    model = model.for_text(NO_TEXT if text is None else text)  # rules of lines that come later are fetched with them
    glossary = read_glossary(config.glossary, model.source, model.target) if config.glossary else {}
    session = Session(config, make_translator(model, with_overrides(model.search, config.search), glossary))
    if is_conversation(config):
        converse(session, model.labeller() if config.component_weights is None else labeller)
        return
    blocks = text.blocks() if text is not None else blocks_of(model.source, _read(config.input))
    if config.stream:
        blocks = (source_text(model.source, [line]) for line in _read(config.input))
    translate_blocks(session, labeller, blocks if config.stream else track(blocks, "translating, blocks"), first)


def check_request(config: DictConfig) -> None:
    """Raises UserError, before the model is opened, for what cannot be asked of any."""
    if config.nbest < 0:
        raise UserError(f"nbest is {config.nbest}: give a number of translations, or 0 for none")
    if (config.nbest > 0) != (config.nbest_output is not None):
        raise UserError("nbest and nbest_output go together: set both, or neither")
    if config.explain_output is not None and not config.explain:
        raise UserError("explain_output says where explanations go: add explain=true")
    is_document = document_format(config.format, config.input) is not None
    check_outputs(
        {key: config[key] for key in ("output", *FURTHER_OUTPUTS, "unknown_words")},
        {key: config[key] for key in (*(() if is_document else ("input",)), "labels", "glossary")},
    )  # a document may be filled in place


def is_conversation(config: DictConfig) -> bool:
    """Whether a person types and nothing is to be written to files."""
    is_typed = config.input == STANDARD and config.output == STANDARD and sys.stdin is not None and sys.stdin.isatty()
    has_files = any(config[key] is not None for key in (*FURTHER_OUTPUTS, "labels", "unknown_words"))
    return config.stream is not False and is_typed and not has_files


def translate_blocks(session: Session, labeller: Labeller, blocks: Iterable[SourceText], first: int = 0) -> None:
    """Translates a text block by block and writes what is asked for; first: the number of its first line."""
    config, started, number = session.config, time.perf_counter(), first
    own_features = session.translator.own_features
    unknown: Counter[str] = Counter()
    found: Counter[str] = Counter()
    with ExitStack() as stack:
        outputs = {key: stack.enter_context(_opened(config[key])) for key in ("output", *FURTHER_OUTPUTS)}
        for block in blocks:
            labels = labeller.labels_of(block.tokens, number)
            answers = session.answers(block, labels, max(config.nbest, int(config.explain)))
            explained = session.explanations(block, answers) if config.explain else []
            _write_lines(outputs["labels_output"], (label or NO_LABEL for label in labels))
            _write_lines(outputs["output"], _lines(answers, explained if config.explain_output is None else []))
            _write_lines(outputs["explain_output"], _explanations(config.explain_output, explained, number))
            _write_lines(outputs["alignments"], (_links(answer.line) for answer in answers))
            for place, answer in enumerate(answers):
                if config.nbest and answer.listed is not None:
                    _write_lines(outputs["nbest_output"], answer.listed.moses_lines(number + place, own_features))
            for stream in outputs.values():
                if config.stream and stream is not None:
                    stream.flush()
            unknown.update(word for answer in answers for word in answer.line.unknown)
            found.update(label or NO_LABEL for label, tokens in zip(labels, block.tokens, strict=True) if tokens)
            number += len(block)
        if config.labels is not None:
            labeller.labels_of([], number)  # are there more?
    if found and config.labels is None and len(labeller.names) > 1:
        log.info("domains found: %s (domain=none turns that off)", _counted(found))
    _report_unknown(config.unknown_words, unknown)
    _report_speed(number - first, time.perf_counter() - started, session.translator.statistics.total())


def load_model(config: DictConfig) -> Model:
    """The model, with its adaptation if that is wanted, and with files that rescore where they lie now."""
    allow(config.segmenters)
    model = open_model(config.model_dir)
    model = dataclasses.replace(model, rescoring=changed_rescoring(model.rescoring, config.rescore))
    if not config.adapted:
        model = model.unadapted
    model = dataclasses.replace(model, consensus=changed_consensus(model.consensus, config.consensus))
    is_given = any(value is not None for value in config.weights.values())
    if is_given and model.adaptation is not None and model.adaptation.fixes_weights:
        raise UserError("weights and the model's adaptation exclude each other: add adapted=false to give weights")
    return model


def known_text(path: str, side: TextSide) -> SourceText | None:
    """The text of a file that is not too long: rules that it cannot use need not be read. None: any may come."""
    if path == STANDARD or not Path(path).is_file():
        return None
    lines, num_letters = [], 0
    for line in _read(path):
        lines.append(line)
        num_letters += len(line)
        if len(lines) > MOST_KNOWN or num_letters > MOST_LETTERS:
            return None
    return source_text(side, lines)


def chosen_labeller(config: DictConfig, model: Model) -> Labeller:
    """What labels the lines: a file, the command line, or the model itself."""
    if config.labels is not None:
        if config.domain is not None:
            raise UserError("labels and domain exclude each other: labels gives every line its own domain")
        found = read_labels(config.labels, names=(*model.labels, NO_LABEL)).per_sentence
        return GivenLabels([None if label == NO_LABEL else label for label in found], config.labels)
    if config.domain is not None or config.component_weights is not None:
        return same_label(config.domain or NO_DOMAIN)
    return model.labeller()


def _lines(answers: Sequence[Answer], explained: Sequence[Explanation]) -> Iterator[str]:
    """Translations, each with its explanation if there are any."""
    for place, answer in enumerate(answers):
        yield answer.line.text
        if explained:
            yield explained[place].as_text()


def _explanations(path: str | None, explained: Sequence[Explanation], first: int) -> Iterator[str]:
    """As JSON lines where the name of the file says so, else as text; first: the number of the first line."""
    for number, explanation in enumerate(explained, first):
        if path is not None and path.endswith(JSON_LINES):
            yield json.dumps({"line": number, **explanation.as_json()}, ensure_ascii=False)
        else:
            yield f"{number + 1}: {explanation.source}\n  {explanation.translation}\n{explanation.as_text()}\n"


def _links(line: TranslatedLine) -> str:
    return " ".join(f"{source}-{target}" for source, target in line.alignment)


def _counted(found: Counter[str]) -> str:
    """Numbers of lines, most first."""
    return ", ".join(f"{name} {count}" for name, count in sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _report_speed(num_lines: int, seconds: float, counts: SearchCounts) -> None:
    """counts: of all that was decoded for the lines, n-best lists included."""
    rate = 1 / max(seconds, 1e-9)
    log.info("%s in %.1f s, %.1f a second", counted(num_lines, "line"), seconds, num_lines * rate)
    if counts.words:
        log.info("search: %s, %.0f a second; %s", counted(counts.words, "word"), counts.words * rate, counts.per_word())


def _report_unknown(path: str | None, unknown: Counter[str]) -> None:
    if unknown:
        log.info("%s, %d distinct", counted(unknown.total(), "unknown word"), len(unknown))
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
