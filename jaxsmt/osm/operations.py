"""Sentence pairs and their links as sequences of operations, for all pairs of a text at once.

Target words are written from left to right; source words are put at a cursor, which leaves gaps and comes back to them
(Durrani, Schmid & Fraser 2011, section 3; Durrani et al. 2013). The operations are

    generate (source words, target words)   a cept: its first source word is put at the cursor; without target words it
                                            is an unlinked source word, without source words an unlinked target word
    continue                                the next source word of the cept is put at the cursor
    insert gap                              what stands here comes later
    jump back (n)                           into the n-th gap from the right
    jump forward                            behind all source words so far

Unlinked source words follow the word before them; those that begin a sentence come first. Between words of one gap
the cursor moves by a further gap alone, where the paper jumps forward and back.
Where the source is cut into phrases, unlinked words stay in theirs: those that begin a phrase come right before its
first linked word. So a linked word and what belongs to it are a block of words, and the blocks are what is ordered.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import Ragged, offsets_of, ranges, ranks_in_runs
from jaxsmt.osm.cepts import Units, units_of
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import PAD

# an operation is a row of symbols; a symbol is NUM_KINDS · value + kind
NUM_KINDS = 4
PLAIN, BACK, SOURCE, TARGET = range(NUM_KINDS)
GAP, FORWARD, CONTINUE = (NUM_KINDS * value + PLAIN for value in range(3))


COUNTED = ("gaps", "open-gaps", "deleted", "inserted")  # what `operation_counts` counts


@dataclass(frozen=True)
class Operations:
    """The operations of R pairs.

    symbols: one row an operation; words are SOURCE or TARGET symbols with their ids.
    offsets: [R + 1] int64, the operations of pair r are offsets[r]:offsets[r + 1].
    """

    symbols: Ragged
    offsets: np.ndarray


class PlacedOperations(NamedTuple):
    """Operations, and where they come from: U units, and A visits of blocks of source words.

    first_of_unit: [U + 1] int64, the first operation of each unit.
    unit: [A] int64 ascending; num_moves: [A] gaps and jumps before the block; begin, end: [A] the block's places.
    """

    operations: Operations
    first_of_unit: np.ndarray
    unit: np.ndarray
    num_moves: np.ndarray
    begin: np.ndarray
    end: np.ndarray


class _Visits(NamedTuple):
    """The linked source words in the order in which they are put, A of them; all numbers are of words with links.

    word: [A] int64 which one; unit: [A] its unit; is_first: [A] bool, of its unit.
    gap, forward, gap_after: [A] bool, what happens before it is put, in this order with `back` before the last.
    back: [A] int64, the gap to jump back to, 0 where there is no jump.
    """

    word: np.ndarray
    unit: np.ndarray
    is_first: np.ndarray
    gap: np.ndarray
    forward: np.ndarray
    back: np.ndarray
    gap_after: np.ndarray


def operations_of(bitext: Bitext, links: Ragged, rarity: np.ndarray, begins: np.ndarray | None = None) -> Operations:
    """The operations of all pairs; links and rarity as in `units_of`.

    begins: [S'] bool of source places, where phrases begin, each of which has a linked word; None: there are none.
    A target word PAD is not there: what is linked to it alone is generated in its turn, without target words.
    """
    return placed_operations(bitext, links, rarity, begins).operations


def placed_operations(
    bitext: Bitext, links: Ragged, rarity: np.ndarray, begins: np.ndarray | None = None
) -> PlacedOperations:
    """`operations_of`, and where they come from."""
    units = units_of(bitext, links, rarity)
    first_word = np.searchsorted(units.source, bitext.source.offsets)
    return _written(
        bitext, units, _blocks(units, first_word, bitext.source.offsets, begins), _visits(units, first_word)
    )


def _visits(units: Units, first_word: np.ndarray) -> _Visits:
    """first_word: [R + 1] the number of the first linked word of each pair."""
    word = np.argsort(units.unit, kind="stable")  # in a unit by rising place
    unit, number = units.unit[word], np.arange(len(word))
    time = np.empty_like(word)
    time[word] = number
    begin = np.repeat(first_word[:-1], np.diff(first_word))  # [A] of words and, pair by pair, of visits
    cursor = np.where(number == begin, begin, np.roll(word, 1) + 1)
    done = np.concatenate([[0], np.maximum.accumulate(word)[:-1] + 1]) if len(word) else word  # all before, gaps aside
    leaves = (cursor < done) & (cursor != word) & (time[np.minimum(cursor, len(word) - 1)] > number)
    skips = (cursor < word) & ((cursor == done) | _in_same_gap(cursor, word, done, time))
    moves = (cursor != word) & ~skips
    back = np.where(moves & (word < done), _gaps_from(word, done, time), 0)
    is_ahead = moves & (cursor < word)
    before = time[np.maximum(word - 1, 0)] > number  # the word before this one comes later
    inside = (back > 0) & (word > begin) & before
    return _Visits(
        word, unit, np.diff(unit, prepend=-1) != 0, skips | (moves & leaves), is_ahead, back,
        inside | (is_ahead & (done < word)),
    )  # fmt: skip


def _in_same_gap(cursor: np.ndarray, word: np.ndarray, done: np.ndarray, time: np.ndarray) -> np.ndarray:
    """[A] bool: the cursor is in a gap, and so is all that lies between it and a word further on."""
    asked = np.flatnonzero((cursor < word) & (word < done))
    between, owner = ranges(cursor[asked], (word - cursor)[asked])
    is_there = time[between] < asked[owner]
    found = np.zeros(len(word), bool)
    found[asked] = np.bincount(owner[is_there], minlength=len(asked)) == 0
    return found


def _gaps_from(word: np.ndarray, done: np.ndarray, time: np.ndarray) -> np.ndarray:
    """[A] int64: how many gaps there are from that with the word to the last; 0 where it is in none."""
    ends = np.flatnonzero(time[:-1] > time[1:])  # only there a gap can end, while words are between
    asked = np.flatnonzero(word < done)
    low, high = np.searchsorted(ends, word[asked]), np.searchsorted(ends, done[asked] - 1)
    place, owner = ranges(low, high - low)
    end, now = ends[place], asked[owner]
    is_gap = (time[end] >= now) & (time[end + 1] < now)
    found = np.zeros(len(word), np.int64)
    found[asked] = np.bincount(owner[is_gap], minlength=len(asked))
    return found


class _Blocks(NamedTuple):
    """How many unlinked source words come first in each pair [R], and right before and after each linked word [A]."""

    first: np.ndarray
    before: np.ndarray
    after: np.ndarray


def _written(bitext: Bitext, units: Units, blocks: _Blocks, visits: _Visits) -> PlacedOperations:
    """Lays out the operations: of each pair what begins it, then unit by unit unlinked target words and visits."""
    source, target, first = bitext.source, bitext.target, blocks.first
    before, after = blocks.before[visits.word], blocks.after[visits.word]
    alone = np.flatnonzero(np.bincount(units.unit, minlength=len(units.first_target)) == 0)
    moves = np.stack([visits.gap, visits.forward, visits.back > 0, visits.gap_after])
    sizes = [first, np.ones_like(alone), moves.sum(0) + before + 1 + after]
    row_of_unit = np.searchsorted(target.offsets, units.first_target, side="right") - 1
    first_unit = np.searchsorted(row_of_unit, np.arange(len(bitext)))
    at_pair, at_alone, at_visit = _starts([first_unit, alone, visits.unit], sizes)
    # one symbol for all operations but cepts
    symbols = np.full(sum(int(part.sum()) for part in sizes), CONTINUE, np.int64)
    first_of_unit = np.full(len(units.first_target) + 1, len(symbols))
    first_of_unit[alone], first_of_unit[visits.unit[visits.is_first]] = at_alone, at_visit[visits.is_first]
    plain = np.full_like(visits.back, GAP), np.full_like(visits.back, FORWARD)
    for happens, symbol in zip(moves, (*plain, visits.back * NUM_KINDS + BACK, plain[0]), strict=True):
        symbols[at_visit[happens]] = symbol[happens]
        at_visit = at_visit + happens
    symbols[at_alone] = _words(target, units.first_target[alone]) + TARGET
    place = units.source[visits.word]
    unlinked = (at_pair, source.offsets[:-1], first), (at_visit, place - before, before), (
        at_visit + before + 1, place + 1, after,
    )  # fmt: skip
    for at, begin, size in unlinked:
        symbols[ranges(at, size)[0]] = _words(source, ranges(begin, size)[0]) + SOURCE
    rows = _with_cepts(bitext, units, visits, symbols, (at_visit + before)[visits.is_first])
    operations = Operations(rows, np.append(at_pair, len(symbols)))
    return PlacedOperations(
        operations, first_of_unit, visits.unit, moves.sum(0), place - before, place + 1 + after
    )  # fmt: skip


def _blocks(units: Units, first_word: np.ndarray, offsets: np.ndarray, begins: np.ndarray | None) -> _Blocks:
    """offsets: [R + 1] of the pairs' source words."""
    linked = units.source
    if begins is not None:
        starts = np.append(np.flatnonzero(begins), offsets[-1])
        phrase = np.searchsorted(starts, linked, side="right") - 1
        is_first, is_last = np.diff(phrase, prepend=-1) != 0, np.diff(phrase, append=-1) != 0
        before = np.where(is_first, linked - starts[phrase], 0)
        following = np.where(is_last, starts[phrase + 1], np.append(linked[1:], offsets[-1]))
        return _Blocks(np.zeros(len(offsets) - 1, np.int64), before, following - linked - 1)
    ends = np.append(linked, offsets[-1])
    end_of_pair = np.repeat(offsets[1:], np.diff(first_word))
    first = np.minimum(ends[first_word[:-1]], offsets[1:]) - offsets[:-1]
    return _Blocks(first, np.zeros_like(linked), np.minimum(ends[1:], end_of_pair) - linked - 1)


def _starts(keys: list[np.ndarray], sizes: list[np.ndarray]) -> list[np.ndarray]:
    """Where events of some sizes begin if they are sorted by their keys, of equal ones the first first."""
    order = np.argsort(np.concatenate(keys), kind="stable")
    start = np.empty(len(order), np.int64)
    start[order] = offsets_of(np.concatenate(sizes)[order])[:-1]
    return np.split(start, np.cumsum([len(part) for part in keys[:-1]]))


def _words(side: Ragged, places: np.ndarray) -> np.ndarray:
    """Symbols of words, without their kind."""
    return side.values[places].astype(np.int64) * NUM_KINDS


def _with_cepts(bitext: Bitext, units: Units, visits: _Visits, symbols: np.ndarray, at: np.ndarray) -> Ragged:
    """Rows of the symbols [O], and of all words of a cept at each of `at` [cepts]."""
    linked = visits.unit[visits.is_first]  # units that are cepts
    num_sources = np.bincount(visits.unit, minlength=len(units.first_target))[linked]
    first_target = units.first_target[linked]
    target, owner = ranges(first_target, np.diff(units.first_target, append=len(units.unit_of_target))[linked])
    is_there = bitext.target.values[target] != PAD
    target, owner = target[is_there], owner[is_there]
    num_targets = np.bincount(owner, minlength=len(linked))
    lengths = np.ones(len(symbols), np.int64)
    lengths[at] = num_sources + num_targets
    offsets = offsets_of(lengths)
    values = np.empty(int(offsets[-1]), np.int64)
    values[offsets[:-1]] = symbols
    cept = np.cumsum(visits.is_first) - 1
    values[offsets[at][cept] + ranks_in_runs(visits.unit)] = _words(bitext.source, units.source[visits.word]) + SOURCE
    place = (offsets[at] + num_sources)[owner] + target - first_target[owner]
    values[place] = _words(bitext.target, target) + TARGET
    return Ragged(values, offsets)


def operation_counts(operations: Operations) -> np.ndarray:
    """[R, 4] float64, see COUNTED: gaps, gaps open at each linked source word, unlinked source and target words."""
    starts = operations.symbols.offsets[:-1]
    first, last = operations.symbols.values[starts], operations.symbols.values[operations.symbols.offsets[1:] - 1]
    kind, row = first % NUM_KINDS, np.repeat(np.arange(len(operations.offsets) - 1), np.diff(operations.offsets))
    is_gap, is_cept = first == GAP, (kind == SOURCE) & (last % NUM_KINDS == TARGET)
    num_open = np.cumsum(is_gap.astype(np.int64) - (kind == BACK))  # all gaps are closed at the end of a pair
    columns = (
        is_gap,
        np.where(is_cept | (first == CONTINUE), num_open, 0),
        (kind == SOURCE) & ~is_cept,
        kind == TARGET,
    )
    return np.stack([np.bincount(row, column, len(operations.offsets) - 1) for column in columns], axis=1)


def replayed(operations: Ragged) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """The pair that operations of one sentence write: source ids, target ids, and links (all words of a cept)."""
    source: list[tuple[int, int] | None] = []  # word and unit, None is a gap
    target: list[tuple[int, int]] = []
    waiting: list[tuple[int, int]] = []  # source words of the cept
    cursor = 0
    for number in range(len(operations)):
        row = operations[number]
        values, kinds = np.divmod(row, NUM_KINDS)
        if kinds[0] == BACK:
            cursor = [place for place, word in enumerate(source) if word is None][-int(values[0])]
            del source[cursor]
        elif row[0] == FORWARD:
            cursor = len(source)
        else:
            words = [(word, number) for word in values[kinds == SOURCE].tolist()]
            target += [(word, number) for word in values[kinds == TARGET].tolist()]
            if row[0] == CONTINUE:
                words = waiting
            if row[0] == CONTINUE or len(words) > 1:
                waiting = words[1:]
            put: list[tuple[int, int] | None] = [None] if row[0] == GAP else [*words[:1]]
            source[cursor:cursor] = put
            cursor += len(put)
    assert not waiting, "these operations are not those of a pair"
    written = [word for word in source if word is not None]
    links = [(s, t) for s, (_, own) in enumerate(written) for t, (_, other) in enumerate(target) if own == other]
    return [word for word, _ in written], [word for word, _ in target], links
