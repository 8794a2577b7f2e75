"""The operations of a batch's phrases, and of finished derivations from scratch.

What is no rule of the grammar, an unknown word or a forced translation, is one unknown operation (and `continue` for
each further source word).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsmt.common.ragged import Ragged, concatenate, offsets_of
from jaxsmt.common.sizes import filled_rows, power_of_two
from jaxsmt.osm.derivations import PlacedPhrases, derivation_operations
from jaxsmt.osm.models import OperationModels
from jaxsmt.osm.phrases import LinkedPhrases, PhrasePrograms, compile_phrases, joined_programs, linked_phrases
from jaxsmt.search.chart.rows import SearchLm, prepare_lm
from jaxsmt.search.plan.lists import NO_PAIR, RuleLists
from jaxsmt.search.rules.grammar import Grammar
from jaxsmt.search.stack.features import Phrases
from jaxsmt.search.stack.operations.appending import NAME, OperationOptions, ProgramLanes, estimate_operations
from jaxsmt.search.stack.planning import Spanned, by_sentence_mixture, profiles_of_entries
from jaxsmt.search.stack.tiles import stack_tiles
from jaxsmt.search.weights import Profiles
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import PAD, UNKNOWN

MOST_KEPT = 1 << 20  # compiled phrases; when there are more, all are compiled anew
_MOST_SYMBOLS = 16  # of a source side, one bit each
_LEAST_TOKENS, _LEAST_ENTRIES, _STEPS = 1 << 14, 1 << 12, 16


class _Store:
    """Compiled phrases of the grammar, in the order in which they were asked for."""

    def __init__(self, num_pairs: int) -> None:
        self.place = np.full(num_pairs, -1, np.int32)
        self.programs: PhrasePrograms | None = None

    def forget(self) -> None:
        """Begins anew."""
        self.place[:], self.programs = -1, None

    def add(self, pairs: np.ndarray, programs: PhrasePrograms) -> None:
        """Programs of pairs [A] that were not there."""
        first = 0 if self.programs is None else len(self.programs.lead)
        self.programs = programs if self.programs is None else joined_programs([self.programs, programs])
        self.place[pairs] = first + np.arange(len(pairs))


@dataclass(frozen=True)
class PhraseOperations:
    """An operation sequence model made ready for a grammar.

    lm: of operations; source_ids, target_ids: [V] the table's ids of the grammar's words.
    """

    models: OperationModels
    lm: SearchLm
    grammar: Grammar
    source_ids: np.ndarray
    target_ids: np.ndarray
    store: _Store
    name: str = NAME

    def for_grammar(self, grammar: Grammar) -> "PhraseOperations":
        """For another grammar with the same words."""
        return replace(self, grammar=grammar, store=_Store(grammar.num_pairs))

    def phrases(self, pairs: np.ndarray) -> LinkedPhrases:
        """The phrases [A] of the grammar in words of the table."""
        grammar = self.grammar
        side = np.searchsorted(grammar.first_pair, pairs, side="right") - 1
        source = _rows(grammar.source_sides[side], self.source_ids)
        target = _rows(grammar.target_sides[grammar.target_index[pairs]], self.target_ids)
        masks = grammar.links_by_target[pairs].astype(np.int64)
        row, place, symbol = np.nonzero(masks[:, :, None] >> np.arange(_MOST_SYMBOLS) & 1)
        links = Ragged(np.stack([symbol, place], 1), offsets_of(np.bincount(row, minlength=len(pairs))))
        return linked_phrases(Bitext(source, target), links)

    def programs(self, pairs: np.ndarray) -> PhrasePrograms:
        """The programs of phrases [A] of the grammar."""
        store = self.store
        if store.programs is not None and len(store.programs.lead) > MOST_KEPT:
            store.forget()
        missing = np.unique(pairs[store.place[pairs] < 0])
        if len(missing) or store.programs is None:
            store.add(missing, compile_phrases(self.models.table, self.phrases(missing)))
        assert store.programs is not None
        return store.programs.take(store.place[pairs])


def phrase_operations(models: OperationModels, grammar: Grammar) -> PhraseOperations:
    """Makes models ready for a grammar without gaps."""
    table = models.table
    ids = grammar.source_vocabulary.ids_in(table.source), grammar.target_vocabulary.ids_in(table.target)
    return PhraseOperations(models, prepare_lm(models.automaton), grammar, *ids, _Store(grammar.num_pairs))


def _rows(sides: np.ndarray, ids: np.ndarray) -> Ragged:
    """Rows of words [A, L], padded, as ids."""
    is_word = sides != PAD
    return Ragged(ids[sides[is_word]], offsets_of(is_word.sum(1)))


def _special_phrases(length: np.ndarray, has_target: np.ndarray) -> LinkedPhrases:
    """Phrases [Z] of unknown words: all source words are linked to one target word, if there is any."""
    size = has_target.astype(np.int64)
    source, target = (Ragged(np.full(int(num.sum()), UNKNOWN, np.int32), offsets_of(num)) for num in (length, size))
    word = np.arange(int(length.sum())) - np.repeat(source.offsets[:-1], length)
    kept = np.repeat(has_target, length)
    links = np.stack([word, np.zeros_like(word)], 1)[kept]
    return linked_phrases(Bitext(source, target), Ragged(links, offsets_of(length * size)))


class BatchPhrases(NamedTuple):
    """The entries of a batch's lists, the spans they may be used in, and whether special entry n has target words."""

    lists: RuleLists
    spans: Spanned
    has_target: Sequence[bool]


@dataclass(frozen=True)
class PlannedOperations:
    """Programs of E entries under their profiles [E]; estimate [E] and heads of programs, see `estimate_operations`."""

    operations: PhraseOperations
    programs: PhrasePrograms
    profile: np.ndarray
    estimate: np.ndarray
    heads: np.ndarray

    def scores(self, profiles: Profiles) -> np.ndarray:
        """[E] float32: the weighted estimates."""
        return (profiles.weights.lm[self.profile, -1] * self.estimate).astype(np.float32)

    def options(self, profiles: Profiles, num_entries: int, num_sentences: int) -> OperationOptions:
        """For the device, with sizes of options and sentences; the first option is NO_ENTRY."""
        tokens, start, size, lead, first, last = self.programs

        def shifted(column: np.ndarray) -> np.ndarray:
            full = np.zeros((num_entries, *column.shape[1:]), column.dtype)
            full[1 : len(column) + 1] = column
            return full

        mixture, own = profiles.lm_mixture[-1], self.operations
        return OperationOptions(
            own.lm,
            own.models.table.move_ids,
            filled_rows(tokens, power_of_two(len(tokens), _LEAST_TOKENS)),
            shifted(start),
            shifted(size),
            shifted(lead),
            shifted(first),
            shifted(last),
            shifted(self.estimate),
            shifted(self.heads),
            filled_rows(profiles.weights.lm[profiles.of_sentence, -1].astype(np.float32), num_sentences),
            None if mixture is None else by_sentence_mixture(mixture, profiles, num_sentences),
            _steps(self.programs.size),
        )


def _steps(count: np.ndarray) -> np.ndarray:
    return np.arange(-(-int(count.max(initial=1)) // _STEPS) * _STEPS, dtype=np.int32)


def plan_operations(operations: PhraseOperations, phrases: BatchPhrases, profiles: Profiles) -> PlannedOperations:
    """The operations of all entries of a batch."""
    lists, spans, has_target = phrases
    is_rule = lists.pair > NO_PAIR
    number = NO_PAIR - lists.pair[lists.first[spans.rule_list]]  # of special entries, negative elsewhere
    length = np.ones(len(has_target), np.int64)
    length[number[number >= 0]] = (spans.end - spans.start)[number >= 0]
    special = compile_phrases(operations.models.table, _special_phrases(length, np.array(has_target, bool)))
    programs = joined_programs([operations.programs(lists.pair[is_rule]), special])
    place = np.zeros(len(is_rule), np.int64)
    place[is_rule] = np.arange(is_rule.sum())
    place[~is_rule] = is_rule.sum() + NO_PAIR - lists.pair[~is_rule]
    profile = profiles_of_entries(lists, spans, profiles)
    programs = PhrasePrograms(programs.tokens, *(column[place] for column in programs[1:]))
    return PlannedOperations(operations, programs, profile, *_estimates(operations, programs, profile, profiles))


def _estimates(
    operations: PhraseOperations, programs: PhrasePrograms, profile: np.ndarray, profiles: Profiles
) -> tuple[np.ndarray, np.ndarray]:
    """[E] float32, and heads, of none where the program depends on the context of the phrase."""
    num, size = len(profile), power_of_two(len(profile), _LEAST_ENTRIES)
    mixture = profiles.lm_mixture[-1]
    lanes = ProgramLanes(
        filled_rows(programs.start[:, 0], size),
        filled_rows(programs.size[:, 0], size),
        None if mixture is None else filled_rows(mixture[profile].astype(np.float32), size),
    )
    tokens = filled_rows(programs.tokens, power_of_two(len(programs.tokens), _LEAST_TOKENS))
    move_ids, steps = operations.models.table.move_ids, _steps(programs.size)
    found: Any = jax.device_get(estimate_operations(operations.lm, move_ids, tokens, lanes, steps, stack_tiles().block))
    estimate, heads = (part[:num] for part in found)
    is_same = programs.start[:, 1] == programs.start[:, 0]
    return estimate, np.where(is_same[:, None], heads, 0)


def operation_features(
    operations: PhraseOperations | None, phrases: Phrases, has_target: np.ndarray, mixture: np.ndarray | None, num: int
) -> np.ndarray:
    """[H, 1] float64: log p of the operations of `num` derivations, or [H, 0] where there is no model.

    has_target: [T] bool, whether a phrase has target words; mixture: [H, D], or None where there is one model.
    """
    if operations is None:
        return np.zeros((num, 0))
    length = phrases.end - phrases.start
    key = np.where(phrases.pair >= 0, phrases.pair, -2 * length - has_target)
    distinct, first, place = np.unique(key, return_index=True, return_inverse=True)
    rules, special = distinct[distinct >= 0], first[distinct < 0]
    parts = _special_phrases(length[special], has_target[special]), operations.phrases(rules)
    source, target = (concatenate([getattr(part.bitext, side) for part in parts]) for side in ("source", "target"))
    whole = LinkedPhrases(Bitext(source, target), concatenate([part.links for part in parts]))
    placed = PlacedPhrases(phrases.owner, place.reshape(-1), phrases.start)
    found = derivation_operations(operations.models.table, whole, placed, num)
    return operations.models.mixed_log_probs(found, np.ones((num, 1)) if mixture is None else mixture)[:, None]
