"""Phrases as programs: the operations that a search appends to a sequence when it appends a phrase.

The operations of a phrase are those of its units in the order of its target side. Its first block of source words (see
`operations`) may need gaps and jumps, which depend on all that is covered; a program leaves them out and says where
they come. The gaps and jumps between its own blocks depend on little: on whether the word before the phrase is still to
come, on what is behind it, and, for the number of a jump back, on the number of gaps behind it. A program has a version
for each such context, of which all are the same where the blocks follow one another.
"""

from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import Ragged, offsets_of, ranges
from jaxsmt.osm.operations import BACK, NUM_KINDS, Operations, PlacedOperations, placed_operations
from jaxsmt.osm.table import OperationTable, rarity_by_place
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import PAD, UNKNOWN

# contexts: 3 · (whether the word before is still to come) + one of
FRONT, COVERED_NEXT, OPEN_NEXT = range(3)  # nothing behind is covered; the next word is; a later one is
NUM_CONTEXTS = 6


class LinkedPhrases(NamedTuple):
    """Phrases with their words and links; each has a link, to a target word PAD that is not there if to no other."""

    bitext: Bitext
    links: Ragged


class PhrasePrograms(NamedTuple):
    """Programs of P phrases.

    tokens: [X] int32, ids of operations, and −n for a jump back by n and the number of gaps behind the phrase's own.
    start, size: [P, NUM_CONTEXTS] int32: the tokens of a program in a context.
    lead: [P] int32: tokens before the gaps and jumps that lead to the first block.
    first, last: [P] int32: where the first block begins and the last one ends, in source words of the phrase.
    """

    tokens: np.ndarray
    start: np.ndarray
    size: np.ndarray
    lead: np.ndarray
    first: np.ndarray
    last: np.ndarray

    def take(self, places: np.ndarray) -> "PhrasePrograms":
        """The programs of some phrases, with their tokens alone."""
        start, own_size = self.start[places], self.size[places]
        is_own = np.ones(start.shape, bool)
        is_own[:, 1:] = start[:, 1:] != start[:, :1]  # the others share the first one's tokens
        size = np.where(is_own, own_size, 0).reshape(-1)
        own = offsets_of(size)
        index, _ = ranges(start.reshape(-1), size)
        moved = own[:-1].reshape(start.shape)
        moved = np.where(is_own, moved, moved[:, :1]).astype(np.int32)
        return PhrasePrograms(
            self.tokens[index], moved, own_size, self.lead[places], self.first[places], self.last[places]
        )  # fmt: skip


class _Versions(NamedTuple):
    """Programs in one context: rows of tokens, and the columns of `PhrasePrograms`; has_moves: [P] bool, inside."""

    tokens: Ragged
    lead: np.ndarray
    first: np.ndarray
    last: np.ndarray
    has_moves: np.ndarray


def linked_phrases(bitext: Bitext, links: Ragged) -> LinkedPhrases:
    """Phrases, none without source words; those without links begin with a target word PAD for the first of these."""
    is_loose = links.lengths == 0
    target = _put(bitext.target, is_loose, np.zeros_like(is_loose), PAD)
    whole = _put(links, is_loose, np.zeros_like(is_loose), 0)
    return LinkedPhrases(Bitext(bitext.source, target), whole)


def _put(rows: Ragged, before: np.ndarray, after: np.ndarray, fill: int) -> Ragged:
    """Rows with `before` [R] and `after` [R] more items, all `fill`, at their ends."""
    offsets = offsets_of(rows.lengths + before + after)
    values = np.full((int(offsets[-1]), *rows.values.shape[1:]), fill, rows.values.dtype)
    values[ranges(offsets[:-1] + before, rows.lengths)[0]] = rows.values
    return Ragged(values, offsets)


def compile_phrases(table: OperationTable, phrases: LinkedPhrases) -> PhrasePrograms:
    """Programs of phrases whose words are those of the table."""
    plain = _versions(table, phrases, FRONT)
    changing = np.flatnonzero(plain.has_moves)
    few = LinkedPhrases(
        Bitext(phrases.bitext.source.take(changing), phrases.bitext.target.take(changing)), phrases.links.take(changing)
    )
    others = [_versions(table, few, context).tokens for context in range(1, NUM_CONTEXTS)] if len(changing) else []
    shape = (len(plain.lead), NUM_CONTEXTS)
    start = np.repeat(plain.tokens.offsets[:-1, None], NUM_CONTEXTS, 1)
    count = np.broadcast_to(plain.tokens.lengths[:, None], shape).copy()
    done = len(plain.tokens.values)
    for context, own in enumerate(others, 1):
        start[changing, context], count[changing, context] = done + own.offsets[:-1], own.lengths
        done += len(own.values)
    tokens = np.concatenate([plain.tokens.values, *(own.values for own in others)])
    columns = (start, count, plain.lead, plain.first, plain.last)
    return PhrasePrograms(tokens, *(column.astype(np.int32) for column in columns))


def joined_programs(parts: list[PhrasePrograms]) -> PhrasePrograms:
    """The programs of all parts, in order."""
    done = offsets_of(np.array([len(part.tokens) for part in parts]))
    moved = [part._replace(start=part.start + np.int32(first)) for part, first in zip(parts, done[:-1], strict=True)]
    return PhrasePrograms(*(np.concatenate(columns) for columns in zip(*moved, strict=True)))


def _versions(table: OperationTable, phrases: LinkedPhrases, context: int) -> _Versions:
    is_left, behind = divmod(context, OPEN_NEXT + 1)
    bitext, links, begins = _in_context(phrases, bool(is_left), behind)
    placed = placed_operations(bitext, links, rarity_by_place(table.target), begins)
    units, (first, end) = _units(placed, int(behind != FRONT), is_left + int(behind == OPEN_NEXT))
    begin, stop = placed.first_of_unit[units[0]], placed.first_of_unit[units[1]]
    source_at = bitext.source.offsets[:-1] + is_left
    lead = placed.first_of_unit[placed.unit[first]] - begin
    index, owner = ranges(begin, stop - begin)
    rank = index - begin[owner] - lead[owner]
    kept = (rank < 0) | (rank >= placed.num_moves[first][owner])
    counts = np.bincount(owner[kept], minlength=len(begin))
    moves = np.concatenate([[0], np.cumsum(placed.num_moves)])
    return _Versions(
        Ragged(_tokens(table, placed.operations)[index[kept]], offsets_of(counts)),
        lead,
        placed.begin[first] - source_at,
        placed.end[end - 1] - source_at,
        moves[end] > moves[first + 1],
    )


def _units(
    placed: PlacedOperations, num_before: int, num_after: int
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """First and last units, and first and last visits, of each phrase [P], the last ones not included."""
    offsets = placed.operations.offsets
    pair = np.searchsorted(offsets, placed.first_of_unit[:-1], side="right") - 1
    bounds = np.searchsorted(pair, np.arange(len(offsets)))
    units = bounds[:-1] + num_before, bounds[1:] - num_after
    return units, (np.searchsorted(placed.unit, units[0]), np.searchsorted(placed.unit, units[1]))


def _in_context(phrases: LinkedPhrases, is_left: bool, behind: int) -> tuple[Bitext, Ragged, np.ndarray]:
    """Pairs in which a phrase stands so: words around it, a covered one written before it, open ones after it."""
    (source, target), links = (phrases.bitext.source, phrases.bitext.target), phrases.links
    one = np.ones(len(source), np.int64)
    is_covered, is_open = behind != FRONT, behind == OPEN_NEXT
    num_left, num_open = int(is_left), int(is_open)
    sides = (
        _put(source, one * num_left, one * (is_covered + num_open), UNKNOWN),
        _put(target, one * is_covered, one * (num_left + num_open), UNKNOWN),
    )
    end, written = num_left + source.lengths, int(is_covered) + target.lengths
    around = [(0 * one, written)] * num_left + [(end, written + num_left)] * num_open
    around += [(end + num_open, 0 * one)] * is_covered
    shifted = Ragged(links.values + np.array([num_left, int(is_covered)], links.values.dtype), links.offsets)
    whole = _put(shifted, 0 * one, one * len(around), 0)
    begins = np.zeros(len(sides[0].values), bool)
    begins[sides[0].offsets[:-1] + num_left] = True
    for number, (word, partner) in enumerate(around):
        whole.values[whole.offsets[1:] - 1 - number] = np.stack([word, partner], 1)
        begins[sides[0].offsets[:-1] + word] = True
    return Bitext(*sides), whole, begins


def _tokens(table: OperationTable, operations: Operations) -> np.ndarray:
    """[O] int32 as in `PhrasePrograms`."""
    first = operations.symbols.values[operations.symbols.offsets[:-1]]
    return np.where(first % NUM_KINDS == BACK, -(first // NUM_KINDS), table.ids_of(operations).values).astype(np.int32)
