"""Documents of the trade, opened: what a file is, and whether its languages are the model's."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from omegaconf import DictConfig

from jaxsmt.common.errors import UserError
from jaxsmt.model.model import Model
from jaxsmt.pipeline.standard import STANDARD
from jaxsmt.text.checking.language import MOST_LINES, can_be_told_apart, side_evidence
from jaxsmt.text.documents.document import Segment, TranslatableDocument
from jaxsmt.text.documents.memory import open_memory
from jaxsmt.text.documents.po import open_po
from jaxsmt.text.documents.tsv import open_tsv
from jaxsmt.text.documents.units import split_units
from jaxsmt.text.documents.xliff import open_xliff
from jaxsmt.text.formats.tmx import same_language

FORMATS = ("auto", "plain", "po", "xliff", "tmx", "tsv")
_FORMAT_OF_SUFFIX = {
    ".po": "po", ".pot": "po", ".xlf": "xliff", ".xliff": "xliff", ".tmx": "tmx", ".tsv": "tsv", ".tab": "tsv",
}  # fmt: skip


def document_format(given: str, path: str) -> str | None:
    """The format of a document, None for lines of text."""
    if given not in FORMATS:
        raise UserError(f"format is '{given}': set it to one of {', '.join(FORMATS)}")
    name = Path(path)
    suffix = (name.with_suffix("") if name.suffix.lower() in (".gz", ".xz") else name).suffix.lower()
    found = _FORMAT_OF_SUFFIX.get(suffix) if given == "auto" else given
    return None if found == "plain" else found


def open_input(config: DictConfig, model: Model) -> TranslatableDocument:
    """The document that is the input."""
    if config.input == STANDARD:
        raise UserError("a document comes from a file: give its name, input=catalogue.po")
    return _opened(config, config.input, document_format(config.format, config.input), model)


def open_finished(config: DictConfig, path: str, model: Model) -> TranslatableDocument:
    """A document whose finished texts are wanted; its name tells what it is."""
    kind = document_format("auto", path)
    if kind is None:
        suffixes = ", ".join(_FORMAT_OF_SUFFIX)
        raise UserError(f"adapt_memory is '{path}', which does not tell its format: give one that ends in {suffixes}")
    return _opened(config, path, kind, model)


def _opened(config: DictConfig, path: str, kind: str | None, model: Model) -> TranslatableDocument:
    languages = model.source.language, model.target.language
    found: TranslatableDocument
    match kind:
        case "po":
            found = open_po(path)
        case "xliff":
            found = open_xliff(path)
        case "tmx":
            found = open_memory(path, *languages)
        case _:
            found = open_tsv(path, config.source_column, config.target_column)
    check_direction(path, found.languages, languages)
    if config.language_check:
        check_unnamed(path, found, languages)
    return found


def check_direction(path: str, found: tuple[str, str], model: tuple[str, str]) -> None:
    """Raises UserError where a document says that it is of other languages than the model."""
    for side, own, wanted in zip(("from", "into"), found, model, strict=True):
        if own and not same_language(own, wanted):
            raise UserError(
                f"'{path}' is to be translated {side} '{own}' and the model translates from '{model[0]}' into "
                f"'{model[1]}': take another model, or correct the file's language"
            )


def check_unnamed(path: str, document: TranslatableDocument, model: tuple[str, str]) -> None:
    """Raises UserError where texts of a side whose language the document does not say look like the other side's."""
    if not can_be_told_apart(model):
        return
    sources = [*document.segments, *(text.source for text in document.finished)]
    targets = [Segment(text.target, 0, text.source.is_xml, text.source.is_c) for text in document.finished]
    for side, texts, what in ((0, sources, "texts to translate"), (1, targets, "translations")):
        if not document.languages[side] and _looks_like(texts, model) == 1 - side:
            raise UserError(
                f"'{path}' has {what} that look like '{model[1 - side]}', and the model translates from '{model[0]}' "
                f"into '{model[1]}': take another model, look at its sides or columns, or add language_check=false"
            )


def _looks_like(texts: Sequence[Segment], languages: tuple[str, str]) -> int | None:
    """The side whose language the words of the first texts are in, without placeholders and markup."""
    first = islice(texts, MOST_LINES)
    parts = (part for text in first for part in split_units(text.text, text.is_xml, text.is_c))
    return side_evidence((part for part in parts if isinstance(part, str)), languages).looks_like
