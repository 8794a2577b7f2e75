"""From matched phrases to the device's `Options`: lists of phrases by span, ranked for each orientation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jaxsmt.search.chart.structure import IMPOSSIBLE
from jaxsmt.search.nbest.derivation import FORCED, UNKNOWN_WORD
from jaxsmt.search.plan.lists import NO_PAIR, Ranking, RuleLists, descending_in_lists
from jaxsmt.search.plan.planning import BatchSentences, SpecialEntries, unknown_positions
from jaxsmt.search.rules.model import RuleModel
from jaxsmt.search.stack.hypotheses import MONO, NO_ENTRY, Options
from jaxsmt.search.weights import Profiles

# a device program for each; longer ones in steps of the last. As many stacks are filled as the longest sentence of a
# batch has words, so that room for more of them adds no steps; a program takes seconds to compile
WORD_CLASSES = (24, 48, 96)
LEAST_ENTRIES = 1 << 12


class Spanned(NamedTuple):
    """Spans and the lists of options they may use; [M] each."""

    sentence: np.ndarray
    start: np.ndarray
    end: np.ndarray
    rule_list: np.ndarray


@dataclass(frozen=True)
class StackPlan:
    """A batch ready for the device, and what is needed to read the stacks again.

    options: arrays of static shapes, on the host.
    pair: [E] rule of the grammar, or NO_PAIR - n for special entry n; that of NO_ENTRY means nothing.
    lengths: [B] of the sentences that there are.
    num_spans: spans with options.
    """

    options: Options
    pair: np.ndarray
    lengths: np.ndarray
    num_spans: int


def word_class(num_words: int) -> int:
    """The static length of a sentence's arrays."""
    last = WORD_CLASSES[-1]
    return next((size for size in WORD_CLASSES if num_words <= size), -(-num_words // last) * last)


def special_spans(batch: BatchSentences, ranking: Ranking, drop_unknown: bool) -> tuple[Spanned, SpecialEntries]:
    """Unknown words and forced translations."""
    entries = batch.special_entries(ranking)
    columns: list[tuple[int, int, int, int]] = []
    of_sentence, known = batch.profiles.of_sentence, {}
    sentence, position = unknown_positions(batch.layout, ranking.matches, batch.forced)
    words = batch.copied_sides(sentence, position, drop_unknown)
    for row, place, own in zip(sentence.tolist(), position.tolist(), words.tolist(), strict=True):
        key = int(of_sentence[row]), *own
        if key not in known:
            known[key] = entries.add(UNKNOWN_WORD, key[0], [[] if drop_unknown else [word] for word in own])
        columns.append((row, place, place + 1, known[key]))
    for (row, start, end), tokens in sorted(batch.forced.items()):
        sides = batch.forced_lm[row, start, end]
        columns.append((row, start, end, entries.add(FORCED, int(of_sentence[row]), sides, tuple(tokens))))
    return Spanned(*np.array(columns, np.int64).reshape(-1, 4).T), entries


def plan_stack(
    rules: RuleModel, batch: BatchSentences, ranking: Ranking, lists: RuleLists, special: Spanned,
    shape: tuple[int, int, int],
) -> StackPlan:  # fmt: skip
    """lists: the ranked ones, then those of special entries; shape: B, N and L, the static sizes."""
    profiles, lengths = batch.profiles, batch.layout.lengths
    weights = profiles.weights
    spans = all_spans(ranking, special)
    list_of_entry = np.repeat(np.arange(len(lists.count)), lists.count)
    before, after = _orientation_scores(rules, lists, profiles_of_entries(lists, spans, profiles), profiles)
    size = max(LEAST_ENTRIES, 1 << len(lists.score).bit_length())
    ranked, worth = _ranked(lists.score, before, after, list_of_entry, size)
    first, count = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    place = spans.sentence, spans.start, spans.end - spans.start - 1
    first[place], count[place] = lists.first[spans.rule_list] + 1, lists.count[spans.rule_list]
    of_sentence = profiles.of_sentence

    def by_sentence(values: np.ndarray) -> np.ndarray:
        return filled(values[of_sentence].astype(np.float32), shape[0], 0)

    phrases = zip(lists.rows, lists.program, strict=True)
    options = Options(
        tuple(filled(rows[np.maximum(program[:, 0], 0)], size, 1) for rows, program in phrases),
        filled(lists.score, size, 1),
        filled(before, size, 1),
        filled(after, size, 1),
        ranked,
        worth,
        first,
        count,
        filled(lengths.astype(np.int32), shape[0], 0),
        by_sentence(weights.lm),
        by_sentence(weights.distortion),
        by_sentence(weights.norm),
        tuple(
            None if mixture is None else by_sentence_mixture(mixture, profiles, shape[0])
            for mixture in profiles.lm_mixture[: len(lists.rows)]
        ),
    )
    pair = np.concatenate([[NO_PAIR], lists.pair])
    return StackPlan(options, pair, lengths, len(spans.sentence))


def all_spans(ranking: Ranking, special: Spanned) -> Spanned:
    """Those of ranked phrases, then special ones."""
    matches = ranking.matches
    known = Spanned(matches.sentence, matches.start, matches.end, ranking.rule_list)
    return Spanned(*(np.concatenate(parts) for parts in zip(known, special, strict=True)))


def profiles_of_entries(lists: RuleLists, spans: Spanned, profiles: Profiles) -> np.ndarray:
    """[E] the profile under which each entry is scored."""
    of_list = np.zeros(len(lists.count), np.int64)
    of_list[spans.rule_list] = profiles.of_sentence[spans.sentence]
    return np.repeat(of_list, lists.count)


def _orientation_scores(
    rules: RuleModel, lists: RuleLists, profile: np.ndarray, profiles: Profiles
) -> tuple[np.ndarray, np.ndarray]:
    """[E, 3] float32 each: weighted orientations to the previous and to the next phrase; specials have none."""
    scores = np.zeros((len(lists.pair), 2, 3), np.float32)
    weights = profiles.weights.reordering
    known = np.flatnonzero(lists.pair > NO_PAIR)
    if weights.any() and len(known):
        logs = rules.orientations(lists.pair[known], profile[known], profiles.mixture)
        scores[known] = (logs * weights[profile[known]]).reshape(len(known), -1, 2, 3).sum(1)
    return scores[:, 0], scores[:, 1]


def _ranked(
    score: np.ndarray, before: np.ndarray, after: np.ndarray, list_of_entry: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """[3, size] each: the options of each list by falling worth in an orientation, as monotone neighbours see them."""
    ranked, worth = np.full((3, size), NO_ENTRY, np.int32), np.full((3, size), 2 * IMPOSSIBLE, np.float32)
    end = len(score) + 1
    for orientation in range(3):
        if orientation > MONO and (before[:, orientation] == before[:, MONO]).all():
            ranked[orientation], worth[orientation] = ranked[MONO], worth[MONO]
            continue
        own = score + before[:, orientation] + after[:, MONO]
        order = descending_in_lists(own, list_of_entry)
        ranked[orientation, 1:end], worth[orientation, 1:end] = order + 1, own[order]
    return ranked, worth


def by_sentence_mixture(mixture: np.ndarray, profiles: Profiles, num_sentences: int) -> np.ndarray:
    """[B, D] float32 from [U, D]; sentences that are not there have a mixture too."""
    values = filled(mixture[profiles.of_sentence].astype(np.float32), num_sentences, 0)
    values[~values.any(1), 0] = 1
    return values


def filled(values: np.ndarray, size: int, first: int) -> np.ndarray:
    """`values` from row `first` on, zeros elsewhere."""
    full = np.zeros((size, *values.shape[1:]), values.dtype)
    full[first : first + len(values)] = values
    return full


def phrase_length(depth: int, forced: Sequence[tuple[int, int, int]]) -> int:
    """L: the longest option; depth: of the grammar's trie. Few sizes, so that a glossary costs few compilations."""
    longest = max((end - start for _, start, end in forced), default=0)
    return max(depth, 1) if longest <= depth else -(-longest // 8) * 8
