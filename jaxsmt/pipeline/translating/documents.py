"""Documents of the trade in, the same documents with what was missing filled in out."""

import sys
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_file
from jaxsmt.common.progress import log, track
from jaxsmt.model.labelling.labellers import Labeller
from jaxsmt.model.model import Model
from jaxsmt.model.source_text import SourceText, read_glossary, source_text
from jaxsmt.model.translation import make_translator
from jaxsmt.pipeline.config.rooms import with_overrides
from jaxsmt.pipeline.standard import STANDARD
from jaxsmt.pipeline.translating.session import Session
from jaxsmt.text.documents.document import TranslatableDocument
from jaxsmt.text.documents.memory import open_memory
from jaxsmt.text.documents.messages import MessageLine, Rendering, make_message
from jaxsmt.text.documents.po import open_po
from jaxsmt.text.documents.tsv import open_tsv
from jaxsmt.text.documents.xliff import open_xliff
from jaxsmt.text.formats.tmx import same_language

FORMATS = ("auto", "plain", "po", "xliff", "tmx", "tsv")
_FORMAT_OF_SUFFIX = {
    ".po": "po", ".pot": "po", ".xlf": "xliff", ".xliff": "xliff", ".tmx": "tmx", ".tsv": "tsv", ".tab": "tsv",
}  # fmt: skip
MOST_NAMED = 5  # messages that a warning names
LINE_FILES = ("labels", "nbest_output", "alignments", "explain_output", "labels_output", "unknown_words")


def document_format(given: str, path: str) -> str | None:
    """The format of a document, None for lines of text."""
    if given not in FORMATS:
        raise UserError(f"format is '{given}': set it to one of {', '.join(FORMATS)}")
    name = Path(path)
    suffix = (name.with_suffix("") if name.suffix.lower() in (".gz", ".xz") else name).suffix.lower()
    found = _FORMAT_OF_SUFFIX.get(suffix) if given == "auto" else given
    return None if found == "plain" else found


def open_document(config: DictConfig, model: Model) -> TranslatableDocument:
    """The document that is the input, if its languages are the model's."""
    if config.input == STANDARD:
        raise UserError("a document comes from a file: give its name, input=catalogue.po")
    languages = model.source.language, model.target.language
    found: TranslatableDocument
    match document_format(config.format, config.input):
        case "po":
            found = open_po(config.input)
        case "xliff":
            found = open_xliff(config.input)
        case "tmx":
            found = open_memory(config.input, *languages)
        case _:
            found = open_tsv(config.input, config.source_column, config.target_column)
    check_direction(config.input, found.languages, languages)
    return found


def check_direction(path: str, found: tuple[str, str], model: tuple[str, str]) -> None:
    """Raises UserError where a document says that it is of other languages than the model."""
    for side, own, wanted in zip(("from", "into"), found, model, strict=True):
        if own and not same_language(own, wanted):
            raise UserError(
                f"'{path}' is to be translated {side} '{own}' and the model translates from '{model[0]}' into "
                f"'{model[1]}': take another model, or correct the file's language"
            )


def translate_document(config: DictConfig, model: Model, labeller: Labeller) -> None:
    """Fills in what a document lacks, checks placeholders and markup, and writes the document."""
    given = [key for key in LINE_FILES if config[key] is not None]
    if given or config.nbest or config.explain:
        name = given[0] if given else "nbest" if config.nbest else "explain"
        raise UserError(f"{name} is for lines of text, and '{config.input}' is a document: leave it out")
    document = open_document(config, model)
    messages = [make_message(part.text, config.accelerators, part.is_xml, part.is_c) for part in document.segments]
    lines = list(dict.fromkeys(line for message in messages for line in message.lines if line.has_words))
    translated = _translated(config, model, labeller, lines)
    texts = [
        message.joined([translated.get(line, line.untranslated) for line in message.lines]) for message in messages
    ]
    _write(config.output, document.filled(texts))
    _report(config.input, document, texts)


def _translated(
    config: DictConfig, model: Model, labeller: Labeller, lines: Sequence[MessageLine]
) -> dict[MessageLine, str | None]:
    """The translation of each line; a second time with tags as words where they did not come through."""
    careful = [line for line in lines if any(unit.kind != "alone" for unit in line.units)]
    first, second = ([line.source(way) for line in part] for way, part in ((False, lines), (True, careful)))
    texts = source_text(model.source, [*first, *second])
    model = model.for_text(texts)
    glossary = read_glossary(config.glossary, model.source, model.target) if config.glossary else {}
    session = Session(config, make_translator(model, with_overrides(model.search, config.search), glossary))
    sides = model.source, model.target
    found: dict[MessageLine, str | None] = {}
    main = texts.take(range(len(first)))
    labels = labeller.labels_of(main.tokens)
    label_of = dict(zip(lines, labels, strict=True))
    for line, rendering in zip(lines, _renderings(session, main, labels), strict=True):
        found[line] = line.restored(rendering, sides)
    again = [place for place, line in enumerate(careful) if found[line] is None]
    rest = texts.take(len(first) + place for place in again)
    for place, rendering in zip(again, _renderings(session, rest, [label_of[careful[p]] for p in again]), strict=True):
        found[careful[place]] = careful[place].restored(rendering, sides, careful=True)
    return found


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


def _report(path: str, document: TranslatableDocument, texts: Sequence[str | None]) -> None:
    failed = [part for part, text in zip(document.segments, texts, strict=True) if text is None]
    log.info(
        "%s: %d texts translated and marked for review, %d had a translation", path, len(texts) - len(failed),
        document.num_translated,
    )  # fmt: skip
    if failed:
        named = ", ".join(f"line {part.line}" for part in failed[:MOST_NAMED])
        more = f" and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
        log.warning(
            "%d texts are left untranslated, for their placeholders or markup did not come through: %s%s",
            len(failed), named, more,
        )  # fmt: skip
