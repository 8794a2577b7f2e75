"""The decoder: sentences in, derivations out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.grouping import sorted_distinct
from jaxsmt.common.ragged import Ragged
from jaxsmt.lm.automaton import Automaton
from jaxsmt.search.chart.compiled import CompiledTargets
from jaxsmt.search.chart.kernel import CELLS_PER_CHUNK, IMPOSSIBLE, Beam, Chart, fill_chart
from jaxsmt.search.chart.rows import SearchLm, prepare_lm, start_row
from jaxsmt.search.nbest.derivation import Derivation, Reader
from jaxsmt.search.plan.forest import Layout, Plan, Sizes, plan_batch
from jaxsmt.search.plan.lists import assemble_lists
from jaxsmt.search.plan.matching import Matches, match_patterns
from jaxsmt.search.plan.planning import BatchSentences, SpecialEntries, all_groups, check_forced, forced_allows
from jaxsmt.search.plan.profiles import Profiles, distinct_profiles
from jaxsmt.search.plan.ranking import rank_rules
from jaxsmt.search.rules.grammar import Programs, compile_by_mixture, compile_targets
from jaxsmt.search.rules.model import RuleModel
from jaxsmt.search.statistics import SearchStatistics
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.vocabulary import UNKNOWN

SMALL, USUAL = Sizes().scaled(1, 16), Sizes()


@dataclass(frozen=True)
class SearchConfig:
    """What the search may do.

    beam: how widely it searches.
    max_span: the longest span of a rule; above it only glue.
    table_limit: translations of a source side that are tried, the best ones under the weights at hand.
    swap_span: spans up to this many words may also be two blocks in order or swapped; 0 is never.
    drop_unknown: leaves unknown words out instead of copying them.
    """

    beam: Beam = field(default_factory=Beam)
    max_span: int = 10
    table_limit: int = 20
    swap_span: int = 0
    drop_unknown: bool = False

    def __post_init__(self) -> None:
        for name, least, most in (("max_span", 1, 200), ("table_limit", 1, 2047), ("swap_span", 0, 200)):
            if not least <= getattr(self, name) <= most:
                raise UserError(f"search.{name} is {getattr(self, name)}: give a number from {least} to {most}")
        if self.swap_span > self.max_span:
            raise UserError(
                f"search.swap_span is {self.swap_span} and search.max_span {self.max_span}: it cannot be longer"
            )


@dataclass(frozen=True)
class Request:
    """B sentences to translate.

    sentences: source ids (UNKNOWN where the rules' vocabulary lacks the word).
    copy_ids: [T] the same words as the language model knows them, for copying; None: unknown to it.
    weights: log-linear weights.
    mixture: component weights λ, [4, D] for all sentences or [B, 4, D], of an ensemble [D] or [B, D]; None: equal ones,
        or nothing to mix.
    lm_mixture: [D] or [B, D] weights of the language models; None for a single one.
    forced: (sentence, start, end) → target ids that the span must become.
    """

    sentences: Ragged
    copy_ids: np.ndarray | None = None
    weights: SearchWeights = field(default_factory=SearchWeights)
    mixture: Any = None
    lm_mixture: Any = None
    forced: Mapping[tuple[int, int, int], Sequence[int]] = field(default_factory=dict)


class DecodedBatch(NamedTuple):
    """Sentences `rows` of a request, planned and decoded."""

    rows: np.ndarray
    plan: Plan
    profiles: Profiles
    chart: Chart
    reader: Reader


@dataclass(frozen=True)
class Decoder:
    """Rules and a language model made ready for search. See `make_decoder`."""

    rules: RuleModel
    lm: SearchLm
    config: SearchConfig
    lm_ids: np.ndarray  # [V] int32: the language model's ids of target words
    programs: Programs | None  # of all targets, where there is one language model;
    compiled: CompiledTargets | None  # where there are several, on demand
    statistics: SearchStatistics = field(default_factory=SearchStatistics)  # of all that was decoded so far

    def translate(self, request: Request, sizes: Sizes | None = None) -> list[Derivation]:
        """The best derivation of every sentence; `sizes` fixes the static sizes instead of choosing them."""
        found: dict[int, Derivation] = {}
        for batch in self.charts(request, sizes):
            group, choice, score = (
                np.asarray(part) for part in (batch.chart.group, batch.chart.choice, batch.chart.score)
            )
            for place, row in enumerate(batch.rows.tolist()):
                cell = int(batch.plan.last_cells[place])
                total = float(score[cell, 0]) + float(batch.profiles.start_score[batch.profiles.of_sentence[place]])
                assert score[cell, 0] > IMPOSSIBLE / 2, "unknown words pass through, so there is always a derivation"
                found[row] = Derivation(batch.reader.best(group, choice, cell, 0), total)
        return [found[row] for row in range(len(request.sentences))]

    def charts(self, request: Request, sizes: Sizes | None = None, keep_edges: bool = False) -> Iterator[DecodedBatch]:
        """Decodes batch by batch."""
        request = complete_request(request, self.rules)
        self._check_lm(request)
        matches = match_patterns(self.rules.grammar.trie, request.sentences, self.config.max_span)
        matches = matches.take(np.flatnonzero(forced_allows(matches, request.forced)))
        for rows in _batches(matches, request.sentences.lengths, sizes or USUAL, self.config):
            batch = self._decode(request, matches, rows, sizes, keep_edges)
            self.statistics.add(batch.plan, batch.chart)
            yield batch

    def _check_lm(self, request: Request) -> None:
        num = self.lm.automaton.num_models
        if num > 1 and np.shape(request.lm_mixture)[-1:] != (num,):
            raise UserError(f"there are {num} language models: give {num} weights for them (lm_mixture)")

    def _decode(
        self, request: Request, matches: Matches, rows: np.ndarray, sizes: Sizes | None, keep_edges: bool
    ) -> DecodedBatch:
        matches = _of_sentences(matches, rows)
        forced = {(key[0] - int(rows[0]), *key[1:]): ids for key, ids in request.forced.items() if key[0] in rows}
        weights = SearchWeights(**{name: value[rows] for name, value in vars(request.weights).items()})
        profiles = distinct_profiles(
            weights,
            None if request.mixture is None else request.mixture[rows],
            None if request.lm_mixture is None else request.lm_mixture[rows],
        )
        longest = max([self.config.max_span, *(end - start for _, start, end in forced)])
        layout = Layout(request.sentences.lengths[rows], longest)
        forced_lm = {key: self.lm_ids[list(ids)].tolist() if len(ids) else [] for key, ids in forced.items()}
        batch = BatchSentences(layout, profiles, _copies(request, rows), forced, forced_lm)
        plan, entries = self._plan(batch, matches, sizes)

        def special(number: int, start: int, end: int) -> Any:
            return entries.symbols(number, start, end, self.config.drop_unknown)

        chart = fill_chart(self.lm, plan.forest, self.config.beam, self.config.table_limit, keep_edges)
        return DecodedBatch(rows, plan, profiles, chart, Reader(plan, self.rules.grammar, special))

    def _plan(self, batch: BatchSentences, matches: Matches, sizes: Sizes | None) -> tuple[Plan, SpecialEntries]:
        layout, profiles, config = batch.layout, batch.profiles, self.config
        ranking = rank_rules(self.rules, matches, profiles, self._programs_of, config.table_limit)
        groups, entries = all_groups(batch, ranking, config.swap_span, config.drop_unknown)
        specials = self._special_programs(entries, profiles)
        lists = assemble_lists(ranking, specials, entries.scores(specials, profiles.weights))
        sizes = sizes or _fitting(len(layout.lengths), len(sorted_distinct(groups.cell)), len(groups.cell), lists)
        return plan_batch(layout, groups, lists, profiles, start_row(self.lm), sizes), entries

    def _programs_of(self, pairs: np.ndarray, user: np.ndarray, profiles: Profiles) -> tuple[Programs, np.ndarray]:
        """Compiled targets, and the place there of each pair [A] for its profile [A]."""
        target = self.rules.grammar.target_index[pairs]
        if self.programs is not None:
            return self.programs, target
        assert profiles.lm_mixture is not None
        assert self.compiled is not None
        return self.compiled.programs(target, user, profiles.lm_mixture)

    def _special_programs(self, entries: SpecialEntries, profiles: Profiles) -> Programs:
        if profiles.lm_mixture is None:
            return compile_targets(self.lm, entries.side_array())
        return compile_by_mixture(self.lm, entries.side_array(), np.array(entries.profiles), profiles.lm_mixture)


def make_decoder(
    rules: RuleModel, automaton: Automaton, config: SearchConfig | None = None, lm_ids: np.ndarray | None = None
) -> Decoder:
    """Compiles all target sides for the language model.

    lm_ids: [V] the language model's ids of target words; None: it uses the rules' target vocabulary.
    """
    grammar = rules.grammar
    ids = np.arange(len(grammar.target_vocabulary), dtype=np.int32) if lm_ids is None else np.asarray(lm_ids, np.int32)
    lm = prepare_lm(automaton)
    if automaton.num_models == 1:
        programs, compiled = compile_targets(lm, ids[grammar.target_sides]), None
    else:
        programs, compiled = None, CompiledTargets(lm, grammar.target_sides, ids)
    return Decoder(rules, lm, config or SearchConfig(), ids, programs, compiled)


def complete_request(request: Request, rules: RuleModel) -> Request:
    """The request with everything given for each sentence, checked."""
    num = len(request.sentences)
    copy_ids = request.copy_ids
    if copy_ids is None:
        copy_ids = np.full(len(request.sentences.values), UNKNOWN, np.int32)
    check_forced(request.forced, request.sentences.lengths)
    lm_mixture = request.lm_mixture
    if lm_mixture is not None:
        lm_mixture = np.broadcast_to(np.asarray(lm_mixture, np.float32), (num, np.shape(lm_mixture)[-1]))
    return replace(
        request,
        copy_ids=copy_ids,
        weights=request.weights.of_sentences(num, len(rules.grammar.feature_names)),
        mixture=rules.check_mixture(request.mixture, num),
        lm_mixture=lm_mixture,
    )


def _batches(matches: Matches, lengths: np.ndarray, sizes: Sizes, config: SearchConfig) -> list[np.ndarray]:
    """Consecutive sentences, as many as fit into `sizes`."""
    span_key = (matches.sentence.astype(np.int64) << 32) | (matches.start << 16) | matches.end
    spans = np.bincount(sorted_distinct(span_key) >> 32, minlength=len(lengths)) + lengths
    blocks = lengths * config.swap_span
    cells = spans + blocks + lengths + 3
    groups = (
        np.bincount(matches.sentence, minlength=len(lengths))
        + 2 * lengths
        + spans
        + blocks * (config.swap_span + 1)
        + 1
    )
    batches, begin, num_cells, num_groups = [], 0, CELLS_PER_CHUNK + 1, 0
    for row in range(len(lengths)):
        full = num_cells + cells[row] > sizes.cells or num_groups + groups[row] > sizes.groups
        if row > begin and (full or row - begin == sizes.sentences):
            batches.append(np.arange(begin, row))
            begin, num_cells, num_groups = row, CELLS_PER_CHUNK + 1, 0
        num_cells, num_groups = num_cells + cells[row], num_groups + groups[row]
    return [*batches, np.arange(begin, len(lengths))] if len(lengths) else []


def _fitting(sentences: int, cells: int, groups: int, lists: Any) -> Sizes:
    """The smallest class of sizes that holds a batch."""
    needed = (sentences, cells + sentences + 1 + CELLS_PER_CHUNK, groups, len(lists.score), len(lists.rows))
    sizes = SMALL
    while any(have < need for have, need in zip(vars(sizes).values(), needed, strict=True)):
        sizes = USUAL if sizes == SMALL else sizes.scaled(2)
    return sizes


def _of_sentences(matches: Matches, rows: np.ndarray) -> Matches:
    """The matches of consecutive sentences, which become 0, 1, …"""
    begin, end = np.searchsorted(matches.sentence, [rows[0], rows[-1] + 1])
    part = matches.take(np.arange(begin, end))
    return replace(part, sentence=part.sentence - rows[0])


def _copies(request: Request, rows: np.ndarray) -> Ragged:
    assert request.copy_ids is not None
    return Ragged(request.copy_ids, request.sentences.offsets).take(rows)
