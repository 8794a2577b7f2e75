"""Planning a batch: which rules and special entries its sentences may use, scored under their weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.grouping import sorted_distinct
from jaxsmt.common.ragged import Ragged, numbered_runs, offsets_of
from jaxsmt.search.nbest.derivation import END, FORCED, GLUE, STRAIGHT, SWAP, UNKNOWN_WORD, Symbols
from jaxsmt.search.plan.forest import Groups, Layout, block_groups, concatenate_groups, glue_groups, groups_of_matches
from jaxsmt.search.plan.matching import Matches
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.vocabulary import NONTERMINALS, PAD, SENTENCE_END

X1, X2 = NONTERMINALS
Spans = Mapping[tuple[int, int, int], Sequence[int]]  # (sentence, start, end) → target ids


@dataclass(frozen=True)
class Profiles:
    """The distinct (w, λ, LM weights) of a batch; U of them.

    of_sentence: [B]; weights: arrays by profile; mixture: [U, ...] or None; lm_mixture: [U, D] or None.
    """

    of_sentence: np.ndarray
    weights: SearchWeights
    mixture: np.ndarray | None
    lm_mixture: np.ndarray | None

    @property
    def start_score(self) -> np.ndarray:
        """[U] float64: the score of S → <s>, one rule and one word."""
        return self.weights.phrase_penalty.astype(np.float64) - self.weights.word_penalty


def distinct_profiles(weights: SearchWeights, mixture: np.ndarray | None, lm_mixture: np.ndarray | None) -> Profiles:
    """weights: arrays by sentence [B, ...], mixture [B, ...], lm_mixture [B, D]."""
    num = len(weights.lm)
    parts = [getattr(weights, field.name) for field in fields(weights)] + [mixture, lm_mixture]
    columns = [np.asarray(part, np.float32).reshape(num, -1) for part in parts if part is not None]
    _, first, of_sentence = np.unique(np.concatenate(columns, 1), axis=0, return_index=True, return_inverse=True)
    taken = SearchWeights(**{field.name: getattr(weights, field.name)[first] for field in fields(weights)})
    return Profiles(
        of_sentence.reshape(-1),
        taken,
        None if mixture is None else mixture[first],
        None if lm_mixture is None else lm_mixture[first],
    )


@dataclass(frozen=True)
class SpecialEntries:
    """Entries that are no rules of the grammar, in the making: one list each. Targets are ids of the language model."""

    kinds: list[int]
    profiles: list[int]
    sides: list[list[int]]
    forced: list[tuple[int, ...]]  # target ids where kind is FORCED

    def add(self, kind: int, profile: int, side: list[int], forced: tuple[int, ...] = ()) -> int:
        self.kinds.append(kind)
        self.profiles.append(profile)
        self.sides.append(side)
        self.forced.append(forced)
        return len(self.kinds) - 1

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


def all_groups(
    layout: Layout,
    matches: Matches,
    rule_list: np.ndarray,
    num_lists: int,
    profiles: Profiles,
    copy_ids: Ragged,
    forced: Spans,
    forced_lm: Mapping[tuple[int, int, int], list[int]],
    swap_span: int,
    drop_unknown: bool,
) -> tuple[Groups, SpecialEntries]:
    """All rule applications of a batch; special entry n has list num_lists + n.

    forced_lm: the forced targets in the language model's ids.
    """
    entries = SpecialEntries([], [], [], [])
    of_sentence = profiles.of_sentence
    users = range(len(profiles.weights.lm))

    def by_sentence(kind: int, side: list[int]) -> np.ndarray:
        return num_lists + np.array([entries.add(kind, user, side) for user in users])[of_sentence]

    glue, end = by_sentence(GLUE, [X1, X2]), by_sentence(END, [X1, SENTENCE_END])
    parts = [groups_of_matches(layout, matches, rule_list)]
    sentence, position = unknown_positions(layout, matches, forced)
    if len(sentence):
        words = np.full(len(sentence), PAD) if drop_unknown else copy_ids.values[copy_ids.offsets[sentence] + position]
        keys, place = np.unique(of_sentence[sentence].astype(np.int64) << 32 | words, return_inverse=True)
        numbers = np.array(
            [
                entries.add(UNKNOWN_WORD, int(key >> 32), [int(key & 0xFFFFFFFF)] if not drop_unknown else [])
                for key in keys
            ]
        )
        parts.append(_plain(layout.span(sentence, position, position + 1), num_lists + numbers[place]))
    for (row, start, stop), tokens in sorted(forced.items()):
        number = entries.add(FORCED, int(of_sentence[row]), forced_lm[row, start, stop], tuple(tokens))
        cell = layout.span(np.array([row]), np.array([start]), np.array([stop]))
        parts.append(_plain(cell, np.array([num_lists + number])))
    spans = sorted_distinct(np.concatenate([part.cell for part in parts]))
    if swap_span > 1:
        straight, swap = by_sentence(STRAIGHT, [X1, X2]), by_sentence(SWAP, [X2, X1])
        blocks = block_groups(layout, spans, swap, straight, swap_span)
        parts.append(blocks)
        spans = sorted_distinct(np.concatenate([spans, blocks.cell]))
    parts.append(glue_groups(layout, spans, glue, end))
    return concatenate_groups(parts), entries


def _plain(cell: np.ndarray, rule_list: np.ndarray) -> Groups:
    nothing = np.full(len(cell), -1)
    return Groups(cell, nothing, nothing, rule_list)
