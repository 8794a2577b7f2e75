"""Lines to be translated, tokenised once for all that looks at them: labellers, rules, glossary, search.

A glossary is a file with a source term, a tab and its translation a line: terms that must be translated as given.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.text.encoding import TextSide
from jaxsmt.text.streams import read_lines

LINES_PER_BLOCK = 500  # read, translated and written at a time
LETTERS_PER_BLOCK = 1 << 22  # fewer lines, where they are very long
Glossary = Mapping[tuple[str, ...], tuple[str, ...]]  # source tokens → target tokens


@dataclass(frozen=True)
class SourceText:
    """Raw lines; the tokens of each as the model knows them; and with the quotes, apostrophes and dashes they have.

    origins: which word of its line each token stands for, where rare words were rewritten; None: its own.
    """

    lines: Sequence[str]
    tokens: Sequence[list[str]]
    exact: Sequence[list[str]]
    origins: Sequence[list[int]] | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def take(self, rows: Iterable[int]) -> "SourceText":
        """Some of the lines, in the given order."""
        chosen = list(rows)
        tokens, exact = ([column[row] for row in chosen] for column in (self.tokens, self.exact))
        origins = None if self.origins is None else [self.origins[row] for row in chosen]
        return SourceText([self.lines[row] for row in chosen], tokens, exact, origins)

    def origins_of(self, row: int) -> Sequence[int] | None:
        """`origins` of line `row`."""
        return None if self.origins is None else self.origins[row]

    def blocks(self) -> Iterator["SourceText"]:
        """The text in pieces of LINES_PER_BLOCK."""
        for start in range(0, len(self), LINES_PER_BLOCK):
            yield self.take(range(start, min(start + LINES_PER_BLOCK, len(self))))


NO_TEXT = SourceText((), (), ())


def links_of_words(origins: Sequence[int] | None, alignment: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Links of the tokens of a line as links of its words, sorted; origins: as in `SourceText`, of the line."""
    if origins is None:
        return list(alignment)
    return sorted({(origins[source], target) for source, target in alignment})


def source_text(side: TextSide, lines: Iterable[str]) -> SourceText:
    """Tokenises and cases raw lines."""
    kept = list(lines)
    read = [side.read(line) for line in kept]
    origins = None if side.rare_words is None else [line.origins for line in read]
    return SourceText(kept, [line.tokens for line in read], [line.exact for line in read], origins)


def joined_texts(parts: Iterable[SourceText]) -> SourceText:
    """Several texts end to end."""
    kept = list(parts)
    origins = [own for part in kept for own in part.origins or ()]
    return SourceText(
        [line for part in kept for line in part.lines],
        [tokens for part in kept for tokens in part.tokens],
        [exact for part in kept for exact in part.exact],
        origins if any(part.origins is not None for part in kept) else None,
    )


def blocks_of(side: TextSide, lines: Iterable[str]) -> Iterator[SourceText]:
    """A stream of raw lines in pieces of LINES_PER_BLOCK, each read when it is asked for."""
    for block in line_blocks(lines, LETTERS_PER_BLOCK):
        yield source_text(side, block)


def line_blocks(lines: Iterable[str], most_letters: int | None = None) -> Iterator[list[str]]:
    """Raw lines in pieces of LINES_PER_BLOCK; a piece ends where it has most_letters, if that is given."""
    block: list[str] = []
    num_letters = 0
    for line in lines:
        block.append(line)
        num_letters += len(line)
        if len(block) == LINES_PER_BLOCK or (most_letters is not None and num_letters >= most_letters):
            yield block
            block, num_letters = [], 0
    if block:
        yield block


def read_glossary(path: str | Path, source: TextSide, target: TextSide) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Reads and tokenises a glossary; an empty translation leaves the term out."""
    terms: dict[tuple[str, ...], tuple[str, ...]] = {}
    for number, line in enumerate(read_lines(path), 1):
        cells = line.split("\t")
        term = tuple(source.preprocess(cells[0]))
        if len(cells) != 2 or not term:
            raise UserError(f"'{path}' line {number} is not a term, a tab and its translation: mend the line")
        if term in terms:
            raise UserError(f"'{path}' line {number} gives '{cells[0]}' a second translation: keep one")
        terms[term] = tuple(target.exact_tokens(cells[1]))
    return terms


def find_terms(
    glossary: Glossary, sentences: Sequence[Sequence[str]], id_of: Mapping[str, int]
) -> dict[tuple[int, int, int], list[int]]:
    """(sentence, start, end) → target ids; from left to right, at each place the longest term."""
    if not glossary:
        return {}
    longest, found = max(map(len, glossary)), {}
    for row, tokens in enumerate(sentences):
        start = 0
        while start < len(tokens):
            ends = range(min(len(tokens), start + longest), start, -1)
            end = next((end for end in ends if tuple(tokens[start:end]) in glossary), None)
            if end is not None:
                found[row, start, end] = [id_of[word] for word in glossary[tuple(tokens[start:end])]]
            start = end or start + 1
    return found
