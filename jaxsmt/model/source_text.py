"""Lines to be translated, tokenised once for all that looks at them: labellers, rules, glossary, search."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jaxsmt.text.encoding import TextSide

LINES_PER_BLOCK = 500  # read, translated and written at a time


@dataclass(frozen=True)
class SourceText:
    """Raw lines, and the tokens of each as the model knows them."""

    lines: Sequence[str]
    tokens: Sequence[list[str]]

    def __len__(self) -> int:
        return len(self.lines)

    def take(self, rows: Iterable[int]) -> "SourceText":
        """Some of the lines, in the given order."""
        chosen = list(rows)
        return SourceText([self.lines[row] for row in chosen], [self.tokens[row] for row in chosen])

    def blocks(self) -> Iterator["SourceText"]:
        """The text in pieces of LINES_PER_BLOCK."""
        for start in range(0, len(self), LINES_PER_BLOCK):
            yield self.take(range(start, min(start + LINES_PER_BLOCK, len(self))))


def source_text(side: TextSide, lines: Iterable[str]) -> SourceText:
    """Tokenises and cases raw lines."""
    kept = list(lines)
    return SourceText(kept, [side.preprocess(line) for line in kept])


def joined_texts(parts: Iterable[SourceText]) -> SourceText:
    """Several texts end to end."""
    kept = list(parts)
    return SourceText([line for part in kept for line in part.lines], [own for part in kept for own in part.tokens])


def blocks_of(side: TextSide, lines: Iterable[str]) -> Iterator[SourceText]:
    """A stream of raw lines in pieces of LINES_PER_BLOCK, each read when it is asked for."""
    block: list[str] = []
    for line in lines:
        block.append(line)
        if len(block) == LINES_PER_BLOCK:
            yield source_text(side, block)
            block = []
    if block:
        yield source_text(side, block)
