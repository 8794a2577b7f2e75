"""The chart decoder: sentences in, derivations out."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from jaxsmt.common.devices.room import fits, within_room
from jaxsmt.common.devices.spreading import Replicas, spread
from jaxsmt.common.grouping import sorted_distinct
from jaxsmt.search.chart.kernel import fill_chart
from jaxsmt.search.chart.rows import SearchLm, start_row
from jaxsmt.search.chart.structure import IMPOSSIBLE, Chart
from jaxsmt.search.chart.tiles import ChartTiles, chart_tiles
from jaxsmt.search.nbest.derivation import Derivation, Reader
from jaxsmt.search.plan.forest import Plan, Sizes, arrange_cells, plan_batch
from jaxsmt.search.plan.lists import PlacedPrograms, assemble_lists, rank_rules
from jaxsmt.search.plan.matching import Matches, match_patterns
from jaxsmt.search.plan.planning import BatchSentences, SpecialEntries, all_groups, forced_allows
from jaxsmt.search.plan.targets import TargetPrograms, programs_by_lm, special_programs_by_lm
from jaxsmt.search.request import MatchedRequest, Request, SearchConfig, complete_request, part_of
from jaxsmt.search.rules.model import RuleModel
from jaxsmt.search.statistics import SearchStatistics
from jaxsmt.search.weights import Profiles

if TYPE_CHECKING:
    from jaxsmt.search.nbest.sources import ChartSource

SMALL, USUAL = Sizes().scaled(1, 16), Sizes()


class ChartBatch(NamedTuple):
    """Sentences `rows` of a request, planned and decoded."""

    rows: np.ndarray
    plan: Plan
    profiles: Profiles
    chart: Chart
    reader: Reader

    def source(self) -> "ChartSource":
        """What n-best lists are made from; edges were kept."""
        from jaxsmt.search.nbest.sources import chart_source  # who asks for the best alone need not load lists

        return chart_source(self)


@dataclass(frozen=True)
class ChartDecoder:
    """Rules and language models made ready for search. See `make_decoder`."""

    end_words: ClassVar[int] = 2  # <s> and </s> count as words
    makes_chains: ClassVar[bool] = False  # derivations are trees
    operations: ClassVar[None] = None  # operation sequence models follow phrases from left to right
    rules: RuleModel
    targets: tuple[TargetPrograms, ...]  # for each language model
    config: SearchConfig
    statistics: SearchStatistics = field(default_factory=SearchStatistics)  # of all that was decoded so far
    tiles: ChartTiles = field(default_factory=chart_tiles)
    copies: Replicas[tuple[SearchLm, ...]] | None = None  # of the language models, from a search with other rules

    def with_rules(self, rules: RuleModel) -> "ChartDecoder":
        """The same search with other rules of the same words; what is decoded is counted together."""
        targets = tuple(own.for_grammar(rules.grammar) for own in self.targets)
        return replace(self, rules=rules, targets=targets, copies=self._replicas)

    @cached_property
    def lms(self) -> tuple[SearchLm, ...]:
        """The language models."""
        return tuple(own.lm for own in self.targets)

    @property
    def lm_names(self) -> tuple[str, ...]:
        """Of the features of the language models."""
        return tuple(name for own in self.targets for name in own.names)

    def translate(self, request: Request, sizes: Sizes | None = None) -> list[Derivation]:
        """The best derivation of every sentence; `sizes` fixes the static sizes instead of choosing them."""
        found: dict[int, Derivation] = {}
        for batch in self.batches(request, sizes):
            group, choice, score = (
                np.asarray(part) for part in (batch.chart.group, batch.chart.choice, batch.chart.score)
            )
            for place, row in enumerate(batch.rows.tolist()):
                cell = int(batch.plan.last_cells[place])
                total = float(score[cell, 0]) + float(batch.profiles.start_score[batch.profiles.of_sentence[place]])
                assert score[cell, 0] > IMPOSSIBLE / 2, "unknown words pass through, so there is always a derivation"
                found[row] = Derivation(batch.reader.best(group, choice, cell, 0), total)
        return [found[row] for row in range(len(request.sentences))]

    def batches(self, request: Request, sizes: Sizes | None = None, keep_edges: bool = False) -> Iterator[ChartBatch]:
        """Decodes batch by batch."""
        request = complete_request(request, self.rules, self.lms)
        matches = match_patterns(self.rules.grammar.trie, request.sentences, self.config.max_span)
        matches = matches.take(np.flatnonzero(forced_allows(matches, request.forced)))
        whole = MatchedRequest(request, matches, keep_edges)

        def decoded(number: int, rows: np.ndarray) -> Iterator[ChartBatch]:
            lms = self._replicas.on(number)
            return within_room(rows, partial(self._decode, whole, sizes, lms))

        room = sizes or USUAL.scaled(self.tiles.batches)
        for batch in spread(decoded, _batches(matches, request.sentences.lengths, room, self.config)):
            self.statistics.add(batch.plan, batch.chart)
            yield batch

    @cached_property
    def _replicas(self) -> Replicas[tuple[SearchLm, ...]]:
        return self.copies or Replicas(self.lms)

    def _decode(
        self, whole: MatchedRequest, sizes: Sizes | None, lms: tuple[SearchLm, ...], rows: np.ndarray
    ) -> ChartBatch | None:
        """None where the device has no room for all of them at once; lms: on that device."""
        part = part_of(whole, rows)
        longest = max([self.config.max_span, *(end - start for _, start, end in part.forced)])
        plan, entries = self._plan(part.batch([own.lm_ids for own in self.targets], longest), part.matches, sizes)

        def special(number: int, start: int, end: int) -> Any:
            return entries.symbols(number, start, end, self.config.drop_unknown)

        tiles = self.tiles._replace(cells=plan.step, groups=plan.most_groups)
        arguments = lms, plan.forest, self.config.beam, self.config.table_limit, tiles, whole.keep_edges
        if len(rows) > 1 and not fits(fill_chart, *arguments):
            return None
        chart = fill_chart(*arguments)
        return ChartBatch(rows, plan, part.profiles, chart, Reader(plan, self.rules.grammar, special))

    def _plan(self, batch: BatchSentences, matches: Matches, sizes: Sizes | None) -> tuple[Plan, SpecialEntries]:
        layout, profiles, config = batch.layout, batch.profiles, self.config
        ranking = rank_rules(self.rules, matches, profiles, self._programs_of, config.table_limit)
        groups, entries = all_groups(batch, ranking, config.swap_span, config.drop_unknown)
        specials = special_programs_by_lm(self.targets, entries, profiles)
        lists = assemble_lists(ranking, specials, entries.scores(specials, profiles))
        sizes = sizes or _fitting(len(layout.lengths), len(sorted_distinct(groups.cell)), len(groups.cell), lists)
        starts = [start_row(lm) for lm in self.lms]
        cells = arrange_cells(layout, groups, lists)
        most_cells = self.tiles.most_cells(config.beam.lanes)
        return plan_batch(cells, lists, profiles, starts, sizes, most_cells), entries

    def _programs_of(self, pairs: np.ndarray, user: np.ndarray, profiles: Profiles) -> tuple[PlacedPrograms, ...]:
        """Compiled targets, and the place there of each pair [A] for its profile [A]."""
        return programs_by_lm(self.targets, self.rules.grammar.target_index[pairs], user, profiles)


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
    batches, begin, num_cells, num_groups = [], 0, 1, 0
    for row in range(len(lengths)):
        full = num_cells + cells[row] > sizes.cells or num_groups + groups[row] > sizes.groups
        if row > begin and (full or row - begin == sizes.sentences):
            batches.append(np.arange(begin, row))
            begin, num_cells, num_groups = row, 1, 0
        num_cells, num_groups = num_cells + cells[row], num_groups + groups[row]
    return [*batches, np.arange(begin, len(lengths))] if len(lengths) else []


def _fitting(sentences: int, cells: int, groups: int, lists: Any) -> Sizes:
    """The smallest class of sizes that holds a batch."""
    needed = (sentences, cells + sentences + 1, groups, len(lists.score), max(map(len, lists.rows)))
    sizes = SMALL
    while any(have < need for have, need in zip(vars(sizes).values(), needed, strict=True)):
        sizes = USUAL if sizes == SMALL else sizes.scaled(2)
    return sizes
