"""Planning a batch: which rules and special entries its sentences may use, scored under their weights."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.grouping import sorted_distinct
from jaxsmt.common.ragged import Ragged, numbered_runs, offsets_of
from jaxsmt.search.nbest.derivation import END, FORCED, GLUE, STRAIGHT, SWAP, UNKNOWN_WORD, Symbols
from jaxsmt.search.plan.forest import (
    NO_SPAN,
    Groups,
    Layout,
    block_groups,
    concatenate_groups,
    glue_groups,
    groups_of_matches,
)
from jaxsmt.search.plan.matching import Matches
from jaxsmt.search.plan.profiles import Profiles
from jaxsmt.search.plan.ranking import Ranking
from jaxsmt.search.rules.grammar import Programs
from jaxsmt.search.weights import GLUE_STEP, UNKNOWN_STEP, SearchWeights
from jaxsmt.text.vocabulary import NONTERMINALS, PAD, SENTENCE_END

X1, X2 = NONTERMINALS
Spans = Mapping[tuple[int, int, int], Sequence[int]]  # (sentence, start, end) → target ids


@dataclass(frozen=True)
class SpecialEntries:
    """Entries that are no rules of the grammar, in the making; one list each, after the `num_lists` lists of rules.

    Sides are target ids of the language model; forced: target ids where the kind is FORCED.
    """

    num_lists: int
    kinds: list[int] = field(default_factory=list)
    profiles: list[int] = field(default_factory=list)
    sides: list[list[int]] = field(default_factory=list)
    forced: list[tuple[int, ...]] = field(default_factory=list)

    def add(self, kind: int, profile: int, side: list[int], forced: tuple[int, ...] = ()) -> int:
        """The number of the new entry's list."""
        self.kinds.append(kind)
        self.profiles.append(profile)
        self.sides.append(side)
        self.forced.append(forced)
        return self.num_lists + len(self.kinds) - 1

    def add_by_sentence(self, kind: int, side: list[int], profiles: Profiles) -> np.ndarray:
        """[B]: the list of an entry that all sentences have, each under its own profile."""
        return np.array([self.add(kind, user, side) for user in range(len(profiles.weights.lm))])[profiles.of_sentence]

    def scores(self, programs: Programs, weights: SearchWeights) -> np.ndarray:
        """[Z] float32: w·h with the language model's estimate; programs: of the sides, in order."""
        kinds, profile = np.array(self.kinds, np.int64), np.array(self.profiles, np.int64)
        return (
            weights.phrase_penalty[profile]
            - weights.word_penalty[profile] * programs.num_words
            + weights.glue[profile] * GLUE_STEP * (kinds == GLUE)
            + weights.swap[profile] * (kinds == SWAP)
            + weights.unknown[profile] * UNKNOWN_STEP * (kinds == UNKNOWN_WORD)
            + weights.lm[profile] * programs.estimate
        ).astype(np.float32)

    def side_array(self) -> np.ndarray:
        """[Z, L] int32"""
        table = np.full((len(self.sides), max(map(len, self.sides), default=1) or 1), PAD, np.int32)
        for row, side in zip(table, self.sides, strict=True):
            row[: len(side)] = side
        return table

    def symbols(self, number: int, start: int, end: int, drop_unknown: bool) -> tuple[int, Symbols, tuple[int, ...]]:
        """Kind, target side and source positions of special entry `number` in the span start..end."""
        kind = self.kinds[number]
        if kind == UNKNOWN_WORD:
            return kind, Symbols((), ()) if drop_unknown else Symbols((-1 - start,), ((0,),)), (start,)
        if kind == FORCED:
            tokens = self.forced[number]
            return kind, Symbols(tokens, (tuple(range(end - start)),) * len(tokens)), tuple(range(start, end))
        tokens = {END: (X1,), SWAP: (X2, X1)}.get(kind, (X1, X2))
        return kind, Symbols(tokens, ((),) * len(tokens)), (-1, -1)


def forced_allows(matches: Matches, forced: Spans) -> np.ndarray:
    """[A] bool: matches that leave every forced span whole, inside a gap or outside."""
    allowed = np.ones(len(matches), bool)
    for sentence, start, end in forced:
        outside = (matches.sentence != sentence) | (matches.end <= start) | (matches.start >= end)
        in_gap = ((matches.gaps[:, :, 0] <= start) & (matches.gaps[:, :, 1] >= end)).any(1)
        allowed &= outside | in_gap
    return allowed


def check_forced(forced: Spans, lengths: np.ndarray) -> None:
    """Forced spans lie inside their sentences and do not overlap."""
    taken: dict[int, list[tuple[int, int]]] = {}
    for sentence, start, end in sorted(forced):
        if not (0 <= sentence < len(lengths) and 0 <= start < end <= lengths[sentence]):
            raise UserError(f"the forced span {start}..{end} is not inside sentence {sentence}: check the given spans")
        for other in taken.setdefault(sentence, []):
            if other[1] > start:
                raise UserError(
                    f"the forced spans {other[0]}..{other[1]} and {start}..{end} of sentence {sentence} overlap: "
                    "keep one of them"
                )
        taken[sentence].append((start, end))


def unknown_positions(layout: Layout, matches: Matches, forced: Spans) -> tuple[np.ndarray, np.ndarray]:
    """Sentence and position of words without a translation of their own."""
    offsets = offsets_of(layout.lengths)
    is_known = np.zeros(offsets[-1], bool)
    single = matches.end - matches.start == 1
    is_known[offsets[matches.sentence[single]] + matches.start[single]] = True
    for row, start, end in forced:
        is_known[offsets[row] + start : offsets[row] + end] = True
    sentence, position = numbered_runs(layout.lengths)
    return sentence[~is_known], position[~is_known]


@dataclass(frozen=True)
class BatchSentences:
    """The B sentences of a batch.

    copy_ids: their words as the language model knows them.
    forced: (sentence, start, end) → target ids; forced_lm: the same in the language model's ids.
    """

    layout: Layout
    profiles: Profiles
    copy_ids: Ragged
    forced: Spans
    forced_lm: Mapping[tuple[int, int, int], list[int]]


def all_groups(
    batch: BatchSentences, ranking: Ranking, swap_span: int, drop_unknown: bool
) -> tuple[Groups, SpecialEntries]:
    """All rule applications of a batch, and the entries beside its rules."""
    layout, profiles, entries = batch.layout, batch.profiles, SpecialEntries(ranking.num_lists)
    glue = entries.add_by_sentence(GLUE, [X1, X2], profiles)
    end = entries.add_by_sentence(END, [X1, SENTENCE_END], profiles)
    parts = [
        groups_of_matches(layout, ranking.matches, ranking.rule_list),
        _unknown_words(batch, ranking.matches, entries, drop_unknown),
        *_forced_spans(batch, entries),
    ]
    spans = sorted_distinct(np.concatenate([part.cell for part in parts]))
    if swap_span > 1:
        straight = entries.add_by_sentence(STRAIGHT, [X1, X2], profiles)
        swap = entries.add_by_sentence(SWAP, [X2, X1], profiles)
        blocks = block_groups(layout, spans, swap, straight, swap_span)
        parts.append(blocks)
        spans = sorted_distinct(np.concatenate([spans, blocks.cell]))
    parts.append(glue_groups(layout, spans, glue, end))
    return concatenate_groups(parts), entries


def _unknown_words(batch: BatchSentences, matches: Matches, entries: SpecialEntries, drop_unknown: bool) -> Groups:
    """Words without a translation of their own, copied or dropped."""
    sentence, position = unknown_positions(batch.layout, matches, batch.forced)
    copies = batch.copy_ids
    words = np.full(len(sentence), PAD) if drop_unknown else copies.values[copies.offsets[sentence] + position]
    keys, place = np.unique(batch.profiles.of_sentence[sentence].astype(np.int64) << 32 | words, return_inverse=True)
    lists = [
        entries.add(UNKNOWN_WORD, int(key >> 32), [] if drop_unknown else [int(key & 0xFFFFFFFF)]) for key in keys
    ]
    return _plain(batch.layout.span(sentence, position, position + 1), np.array(lists, np.int64)[place.reshape(-1)])


def _forced_spans(batch: BatchSentences, entries: SpecialEntries) -> Iterator[Groups]:
    for (row, start, end), tokens in sorted(batch.forced.items()):
        profile, side = int(batch.profiles.of_sentence[row]), batch.forced_lm[row, start, end]
        number = entries.add(FORCED, profile, side, tuple(tokens))
        yield _plain(batch.layout.span(np.array([row]), np.array([start]), np.array([end])), np.array([number]))


def _plain(cell: np.ndarray, rule_list: np.ndarray) -> Groups:
    nothing = np.full(len(cell), NO_SPAN)
    return Groups(cell, nothing, nothing, rule_list)
