"""Bitexts from files: two parallel files, a table, a translation memory, a message catalogue."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.text.formats.catalogues import mo_language, parse_po, read_mo, strip_accelerators
from jaxsmt.text.formats.tmx import read_tmx, same_language
from jaxsmt.text.streams import read_lines

FORMATS = ("auto", "plain", "tsv", "tmx", "po", "mo")
SIDES = ("source", "target")
AUTO = "auto"
_FORMAT_OF_SUFFIX = {".tsv": "tsv", ".tab": "tsv", ".tmx": "tmx", ".po": "po", ".pot": "po", ".mo": "mo", ".gmo": "mo"}


@dataclass(frozen=True)
class BitextSource:
    """Where a bitext is: `source` and `target` for two files with a sentence a line, or `path` for one file with both.

    All may be compressed with gzip or xz.

    format: 'auto' goes by the name of the file.
    source_language, target_language: codes to look for in a TMX file; 'fr' covers 'fr-FR'.
    source_column, target_column: of a TSV file, from 1.
    msgid_is: which side the msgid of a catalogue is, 'source' or 'target'; 'auto' asks its header for the language of
      the translations, and takes messages for English where the header does not say.
    accelerators: characters that mark keyboard accelerators in a catalogue and are removed, for instance '_&~'.
    first: only so many pairs from the beginning; None for all.
    """

    source: str | None = None
    target: str | None = None
    path: str | None = None
    format: str = "auto"
    source_language: str = ""
    target_language: str = ""
    source_column: int = 1
    target_column: int = 2
    msgid_is: str = AUTO
    accelerators: str = ""
    first: int | None = None

    def __post_init__(self) -> None:
        two_files = self.source is not None and self.target is not None
        if (self.path is None) != two_files or (self.source is None) != (self.target is None):
            raise UserError("a bitext is either two files, set source and target, or one file, set path")
        _check_choice("format", self.format, FORMATS)
        _check_choice("msgid_is", self.msgid_is, (AUTO, *SIDES))
        if min(self.source_column, self.target_column) < 1:
            raise UserError(
                f"source_column is {self.source_column} and target_column {self.target_column}: columns count from 1"
            )
        if self.source is not None and self.source == self.target:
            raise UserError(f"source and target are both '{self.source}': give two files, each in its language")
        if self.path is not None and self.source_column == self.target_column:
            raise UserError(f"source_column and target_column are both {self.source_column}: give two columns")
        if self.first is not None and self.first < 1:
            raise UserError(f"first is {self.first}: give a number of pairs from 1 on, or null for all")

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are read."""
        return tuple(str(name) for name in (self.source, self.target, self.path) if name is not None)


def read_bitext(spec: BitextSource) -> Iterator[tuple[str, str]]:
    """The (source, target) pairs of a bitext, in the order of the file; errors come while reading."""
    return itertools.islice(_read_pairs(spec), spec.first)


def _read_pairs(spec: BitextSource) -> Iterator[tuple[str, str]]:
    if spec.path is None:
        return _read_two_files(str(spec.source), str(spec.target))
    match _format_of(spec):
        case "tsv":
            return _read_tsv(spec.path, spec.source_column - 1, spec.target_column - 1)
        case "tmx":
            return read_tmx(spec.path, spec.source_language, spec.target_language)
        case "po":
            catalogue = parse_po(spec.path)
            return _read_catalogue(catalogue.pairs(), spec, catalogue.language)
        case _:
            return _read_catalogue(read_mo(spec.path), spec, mo_language(spec.path))


def _format_of(spec: BitextSource) -> str:
    if spec.format not in ("auto", "plain"):
        return spec.format
    name = Path(str(spec.path))
    suffix = (name.with_suffix("") if name.suffix.lower() in (".gz", ".xz") else name).suffix.lower()
    if spec.format == "plain" or suffix not in _FORMAT_OF_SUFFIX:
        raise UserError(f"'{name}' does not tell its format: set format to one of {', '.join(FORMATS[2:])}")
    return _FORMAT_OF_SUFFIX[suffix]


def _read_two_files(source: str, target: str) -> Iterator[tuple[str, str]]:
    sources, targets = read_lines(source), read_lines(target)
    number = 0
    for line in sources:
        other = next(targets, None)
        if other is None:
            raise _unequal(source, number + 1 + _count(sources), target, number)
        yield line, other
        number += 1
    if next(targets, None) is not None:
        raise _unequal(source, number, target, number + 1 + _count(targets))


def _count(lines: Iterator[str]) -> int:
    return sum(1 for _ in lines)


def _unequal(source: str, num_source: int, target: str, num_target: int) -> UserError:
    return UserError(
        f"'{source}' has {num_source} lines and '{target}' has {num_target}: "
        "line n of one must be the translation of line n of the other"
    )


def _read_tsv(path: str, source_column: int, target_column: int) -> Iterator[tuple[str, str]]:
    needed = max(source_column, target_column) + 1
    for number, line in enumerate(read_lines(path), 1):
        cells = line.split("\t")
        if len(cells) < needed:
            raise UserError(
                f"'{path}' line {number} has {len(cells)} tab-separated columns and column {needed} is asked for: "
                "mend the line or change source_column and target_column"
            )
        yield cells[source_column], cells[target_column]


def _read_catalogue(entries: Iterator[tuple[str, str]], spec: BitextSource, language: str) -> Iterator[tuple[str, str]]:
    """language: of the translations, as the header says."""
    found, side = False, message_side(spec, language)
    for pair in entries:
        found = True
        message, translation = strip_accelerators(pair, spec.accelerators)
        yield (message, translation) if side == "source" else (translation, message)
    if not found:
        raise UserError(f"'{spec.path}' has no translated entry: give a catalogue with translations")


def message_side(spec: BitextSource, language: str) -> str:
    """Which side the messages of a catalogue are whose translations are in a language, '' where it does not say."""
    codes = dict(zip(SIDES, (spec.source_language, spec.target_language), strict=True))
    if not all(codes.values()):  # nobody says what is wanted
        return "source" if spec.msgid_is == AUTO else spec.msgid_is
    if language:
        sides = [side for side in SIDES if same_language(codes[side], language)]
        if not sides:
            raise UserError(
                f"'{spec.path}' has translations into '{language}', as its header says, and the corpus is from "
                f"'{spec.source_language}' to '{spec.target_language}': give another catalogue, or correct its header"
            )
        found = "source" if "target" in sides else "target"
        if spec.msgid_is not in (AUTO, found):
            raise UserError(
                f"'{spec.path}' has translations into '{language}', as its header says, so that its messages are the "
                f"{found} side: set msgid_is to auto or {found}, or correct the header"
            )
        return found
    if spec.msgid_is != AUTO:
        return spec.msgid_is
    english = [side for side in SIDES if same_language(codes[side], "en")]
    if len(english) == 1:
        return english[0]
    raise UserError(
        f"'{spec.path}' does not say which language its translations are in: set msgid_is to source or target, or add "
        "the field Language to its header"
    )


def _check_choice(key: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UserError(f"{key} is '{value}': set it to one of {', '.join(choices)}")
