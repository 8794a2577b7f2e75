"""Terms that must be translated as given: a file with a source term, a tab and its translation a line."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.text.encoding import TextSide
from jaxsmt.text.streams import read_lines

Glossary = Mapping[tuple[str, ...], tuple[str, ...]]  # source tokens → target tokens


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
