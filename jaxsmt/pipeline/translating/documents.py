"""Documents of the trade in, the same documents with what was missing filled in out."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from omegaconf import DictConfig

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_file
from jaxsmt.common.progress import log, track
from jaxsmt.common.wording import counted
from jaxsmt.model.labelling.labellers import Labeller
from jaxsmt.model.model import Model
from jaxsmt.model.source_text import SourceText, read_glossary, source_text
from jaxsmt.model.translation import make_translator
from jaxsmt.pipeline.config.rooms import with_overrides
from jaxsmt.pipeline.standard import STANDARD
from jaxsmt.pipeline.translating.opening import open_finished, open_input
from jaxsmt.pipeline.translating.session import DocumentText, Session
from jaxsmt.text.documents.document import FinishedText, Segment, TranslatableDocument
from jaxsmt.text.documents.finished import collect_finished, finished_lines
from jaxsmt.text.documents.messages import Message, MessageLine, Rendering, make_message

MOST_NAMED = 5  # messages that a warning names
LINE_FILES = ("labels", "nbest_output", "alignments", "explain_output", "labels_output", "unknown_words")


def translate_document(config: DictConfig, model: Model, labeller: Labeller) -> None:
    """Fills in what a document lacks, checks placeholders and markup, and writes the document."""
    given = [key for key in LINE_FILES if config[key] is not None]
    if given or config.nbest or config.explain:
        name = given[0] if given else "nbest" if config.nbest else "explain"
        raise UserError(f"{name} is for lines of text, and '{config.input}' is a document: leave it out")
    document = open_input(config, model)
    finished = _finished(config, model, document)
    known = [collect_finished(texts) for texts in finished.values()]
    texts = [next(filter(None, (part.find(segment) for part in known)), None) for segment in document.segments]
    rest = [place for place, text in enumerate(texts) if text is None]
    messages = [_message(config, document.segments[place]) for place in rest]
    lines = list(dict.fromkeys(line for message in messages for line in message.lines if line.has_words))
    pairs = {name: finished_lines(found, config.accelerators) for name, found in finished.items()}
    translated = _translated(config, model, labeller, lines, pairs)
    for place, message in zip(rest, messages, strict=True):
        texts[place] = message.joined([translated.get(line, line.untranslated) for line in message.lines])
    _write(config.output, document.filled(texts))
    _report(config.input, document, texts, len(texts) - len(rest))


def document_lines(config: DictConfig, model: Model) -> list[str]:
    """The lines that a document needs translations of, as the model gets them."""
    messages = [_message(config, segment) for segment in open_input(config, model).segments]
    texts = (message.lines for message in messages if not message.is_refused)
    return [line.source() for lines in texts for line in lines if line.has_words]


def _finished(config: DictConfig, model: Model, document: TranslatableDocument) -> dict[str, Sequence[FinishedText]]:
    """Finished texts that the configuration asks for: the document's own, which come first, and a memory's."""
    found = {"file": document.finished} if config.adapt_to_file else {}
    if config.adapt_memory is not None:
        found["memory"] = open_finished(config, config.adapt_memory, model).finished
    return found


def _message(config: DictConfig, part: Segment) -> Message:
    return make_message(part.text, config.accelerators, part.is_xml, part.is_c)


def _translated(
    config: DictConfig, model: Model, labeller: Labeller, lines: Sequence[MessageLine],
    finished: Mapping[str, Sequence[tuple[str, str]]],
) -> dict[MessageLine, str | None]:  # fmt: skip
    """The translation of each line; a second time with tags as words where they did not come through."""
    careful = [line for line in lines if any(unit.kind != "alone" for unit in line.units)]
    first, second = ([line.source(way) for line in part] for way, part in ((False, lines), (True, careful)))
    texts = source_text(model.source, [*first, *second])
    sides = model.source, model.target
    found: dict[MessageLine, str | None] = {}
    main = texts.take(range(len(first)))
    labels = labeller.labels_of(main.tokens)
    glossary = read_glossary(config.glossary, model.source, model.target) if config.glossary else {}
    session = _session(config, model, DocumentText(texts, labels, labeller, glossary), finished)
    label_of = dict(zip(lines, labels, strict=True))
    for line, rendering in zip(lines, _renderings(session, main, labels), strict=True):
        found[line] = line.restored(rendering, sides)
    again = [place for place, line in enumerate(careful) if found[line] is None]
    rest = texts.take(len(first) + place for place in again)
    for place, rendering in zip(again, _renderings(session, rest, [label_of[careful[p]] for p in again]), strict=True):
        found[careful[place]] = careful[place].restored(rendering, sides, careful=True)
    return found


def _session(
    config: DictConfig, model: Model, text: DocumentText, finished: Mapping[str, Sequence[tuple[str, str]]]
) -> Session:
    """What translates a text, adapted to finished lines if there are any."""
    if len(text.source) and finished:
        from jaxsmt.pipeline.translating.adapting import adapted_session  # it loads what trains

        found = adapted_session(config, model, text, finished)
        if found is not None:
            return found
    search = with_overrides(model.search, config.search)
    return Session(config, make_translator(model.for_text(text.source), search, text.glossary))


def _renderings(session: Session, text: SourceText, labels: Sequence[str | None]) -> list[Rendering]:
    """All lines, translated block by block."""
    found: list[Rendering] = []
    blocks = list(text.blocks())
    for block in track(blocks, "translating, blocks", len(blocks)):
        own = labels[len(found) : len(found) + len(block)]
        lines = (answer.line for answer in session.answers(block, own))
        found += [Rendering(line.text, line.words, line.alignment) for line in lines]
    return found


def _write(path: str, data: bytes) -> None:
    if path == STANDARD:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    with atomic_file(path) as temporary:
        Path(temporary).write_bytes(data)


def _report(path: str, document: TranslatableDocument, texts: Sequence[str | None], num_reused: int) -> None:
    failed = [part for part, text in zip(document.segments, texts, strict=True) if text is None]
    log.info(
        "%s: %s translated and marked for review, %d had a translation", path,
        counted(len(texts) - len(failed), "text"), document.num_translated,
    )  # fmt: skip
    if num_reused:
        log.info("%d of them have the translation that the same text has where it is finished", num_reused)
    if failed:
        named = ", ".join(f"line {part.line}" for part in failed[:MOST_NAMED])
        more = f" and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
        log.warning(
            "%s left untranslated, for placeholders or markup did not come through: %s%s",
            counted(len(failed), "text"), named, more,
        )  # fmt: skip
