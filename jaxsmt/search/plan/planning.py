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
from jaxsmt.search.plan.lists import Ranking
from jaxsmt.search.plan.matching import Matches
from jaxsmt.search.rules.grammar import Programs
from jaxsmt.search.weights import GLUE_STEP, UNKNOWN_STEP, Profiles
from jaxsmt.text.vocabulary import NONTERMINALS, PAD, SENTENCE_END

X1, X2 = NONTERMINALS
Spans = Mapping[tuple[int, int, int], Sequence[int]]  # (sentence, start, end) → target ids


@dataclass(frozen=True)
class SpecialEntries:
    """Entries that are no rules of the grammar, in the making; one list each, after the `num_lists` lists of rules.

    sides: target ids in each of the `num_lms` language models; forced: target ids where the kind is FORCED.
    """

    num_lists: int
    num_lms: int = 1
    kinds: list[int] = field(default_factory=list)
    profiles: list[int] = field(default_factory=list)
    sides: list[Sequence[Sequence[int]]] = field(default_factory=list)
    forced: list[tuple[int, ...]] = field(default_factory=list)

    def add(self, kind: int, profile: int, sides: Sequence[Sequence[int]], forced: tuple[int, ...] = ()) -> int:
        """The number of the new entry's list; sides: by language model."""
        self.kinds.append(kind)
        self.profiles.append(profile)
        self.sides.append(sides)
        self.forced.append(forced)
        return self.num_lists + len(self.kinds) - 1

    def add_by_sentence(self, kind: int, side: list[int], profiles: Profiles) -> np.ndarray:
        """[B]: the list of an entry that all sentences have, each under its own profile."""
        sides = [side] * self.num_lms
        return np.array([self.add(kind, user, sides) for user in range(len(profiles))])[profiles.of_sentence]

    def scores(self, programs: Sequence[Programs], profiles: Profiles) -> np.ndarray:
        """[Z] float32: w·h with the language models' estimates; programs: of the sides, in order, by model."""
        kinds, profile, weights = np.array(self.kinds, np.int64), np.array(self.profiles, np.int64), profiles.weights
        return (
            weights.phrase_penalty[profile]
            - weights.word_penalty[profile] * programs[0].num_words
            + weights.glue[profile] * GLUE_STEP * (kinds == GLUE)
            + weights.swap[profile] * (kinds == SWAP)
            + weights.unknown[profile] * UNKNOWN_STEP * (kinds == UNKNOWN_WORD)
            + profiles.lm_scores(profile, [own.estimate for own in programs])
        ).astype(np.float32)

    def side_array(self, lm: int) -> np.ndarray:
        """[Z, L] int32 in the ids of language model `lm`."""
        sides = [by_lm[lm] for by_lm in self.sides]
        table = np.full((len(sides), max(map(len, sides), default=1) or 1), PAD, np.int32)
        for row, side in zip(table, sides, strict=True):
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

    copy_ids: [T, N] their words as each language model knows them.
    forced: (sentence, start, end) → target ids; forced_lm: the same in the ids of each language model.
    """

    layout: Layout
    profiles: Profiles
    copy_ids: Ragged
    forced: Spans
    forced_lm: Mapping[tuple[int, int, int], list[list[int]]]

    @property
    def num_lms(self) -> int:
        """N"""
        return self.copy_ids.values.shape[1]

    def copied_sides(self, sentence: np.ndarray, position: np.ndarray, drop: bool) -> np.ndarray:
        """[A, N] int32: words as each language model knows them, PAD where they are dropped."""
        found = self.copy_ids.values[self.copy_ids.offsets[sentence] + position]
        return np.full_like(found, PAD) if drop else found

    def special_entries(self, ranking: Ranking) -> SpecialEntries:
        """None yet, behind the lists of a ranking."""
        return SpecialEntries(ranking.num_lists, self.num_lms)


def all_groups(
    batch: BatchSentences, ranking: Ranking, swap_span: int, drop_unknown: bool
) -> tuple[Groups, SpecialEntries]:
    """All rule applications of a batch, and the entries beside its rules."""
    layout, profiles, entries = batch.layout, batch.profiles, batch.special_entries(ranking)
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
    words = batch.copied_sides(sentence, position, drop_unknown)
    keys = np.concatenate([batch.profiles.of_sentence[sentence][:, None], words], 1)
    keys, place = np.unique(keys, axis=0, return_inverse=True)
    lists = [
        entries.add(UNKNOWN_WORD, profile, [[] if drop_unknown else [word] for word in own])
        for profile, *own in keys.tolist()
    ]
    return _plain(batch.layout.span(sentence, position, position + 1), np.array(lists, np.int64)[place.reshape(-1)])


def _forced_spans(batch: BatchSentences, entries: SpecialEntries) -> Iterator[Groups]:
    for (row, start, end), tokens in sorted(batch.forced.items()):
        profile, sides = int(batch.profiles.of_sentence[row]), batch.forced_lm[row, start, end]
        number = entries.add(FORCED, profile, sides, tuple(tokens))
        yield _plain(batch.layout.span(np.array([row]), np.array([start]), np.array([end])), np.array([number]))


def _plain(cell: np.ndarray, rule_list: np.ndarray) -> Groups:
    nothing = np.full(len(cell), NO_SPAN)
    return Groups(cell, nothing, nothing, rule_list)
