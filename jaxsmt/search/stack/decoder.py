"""The stack decoder: sentences in, derivations out."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import jax
import numpy as np

from jaxsmt.common.devices.room import fits, within_room
from jaxsmt.common.devices.spreading import Replicas, spread
from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import Ragged
from jaxsmt.search.chart.rows import SearchLm
from jaxsmt.search.chart.structure import IMPOSSIBLE
from jaxsmt.search.nbest.derivation import Derivation
from jaxsmt.search.plan.forest import Sizes
from jaxsmt.search.plan.lists import PlacedPrograms, assemble_lists, rank_rules
from jaxsmt.search.plan.matching import Matches, match_patterns
from jaxsmt.search.plan.planning import BatchSentences, SpecialEntries, forced_allows
from jaxsmt.search.plan.targets import TargetPrograms, programs_by_lm, special_programs_by_lm
from jaxsmt.search.request import MatchedRequest, Request, SearchConfig, complete_request, mixture_rows, part_of
from jaxsmt.search.rules.model import RuleModel
from jaxsmt.search.stack.hypotheses import Stacks
from jaxsmt.search.stack.kernel import fill_stacks
from jaxsmt.search.stack.planning import StackPlan, all_spans, phrase_length, plan_stack, special_spans, word_class
from jaxsmt.search.stack.reading import StackReader
from jaxsmt.search.stack.tiles import StackTiles, stack_tiles
from jaxsmt.search.statistics import SearchCounts, SearchStatistics
from jaxsmt.search.weights import Profiles
from jaxsmt.text.vocabulary import NONTERMINALS

if TYPE_CHECKING:  # what few searches have is imported by them
    from jaxsmt.osm.models import OperationModels
    from jaxsmt.search.nbest.sources import StackSource
    from jaxsmt.search.stack.operations.programs import PhraseOperations

MOST_PADDING = 32  # words by which a batch's sentences may be lengthened on average, so that they share it with others
MOST_EMPTY = 1 / 8  # places of a last batch that are filled with nothing, beside those of full batches


class StackBatch(NamedTuple):
    """Sentences `rows` of a request, planned and decoded."""

    rows: np.ndarray
    plan: StackPlan
    profiles: Profiles
    stacks: Stacks
    reader: StackReader

    def source(self) -> "StackSource":
        """What n-best lists are made from; edges were kept."""
        from jaxsmt.search.nbest.sources import StackSource  # who asks for the best alone need not load lists
        from jaxsmt.search.stack.lists import stack_graph

        return StackSource(self, stack_graph(self))


@dataclass(frozen=True)
class StackDecoder:
    """Phrases and language models made ready for the stack search. See `make_decoder`."""

    end_words: ClassVar[int] = 0  # <s> and </s> do not count as words
    makes_chains: ClassVar[bool] = True
    rules: RuleModel
    targets: tuple[TargetPrograms, ...]  # for each language model
    config: SearchConfig
    statistics: SearchStatistics = field(default_factory=SearchStatistics)  # of all that was decoded so far
    operations: "PhraseOperations | None" = None  # an operation sequence model; its weight is the last of those of `lm`
    copies: Replicas[tuple[SearchLm, ...]] | None = None  # of the language models, from a search with other phrases
    tiles: StackTiles = field(default_factory=stack_tiles)

    def with_rules(self, rules: RuleModel) -> "StackDecoder":
        """The same search with other phrases of the same words; what is decoded is counted together."""
        targets = tuple(own.for_grammar(rules.grammar) for own in self.targets)
        operations = None if self.operations is None else self.operations.for_grammar(rules.grammar)
        return replace(self, rules=rules, targets=targets, operations=operations, copies=self._replicas)

    @cached_property
    def lms(self) -> tuple[SearchLm, ...]:
        """The language models, then that of operations."""
        return *(own.lm for own in self.targets), *(() if self.operations is None else (self.operations.lm,))

    @property
    def lm_names(self) -> tuple[str, ...]:
        """Of the features of all these."""
        names = (name for own in self.targets for name in own.names)
        return *names, *(() if self.operations is None else (self.operations.name,))

    def translate(self, request: Request, sizes: Sizes | None = None) -> list[Derivation]:
        """The best derivation of every sentence; `sizes` fixes the number of sentences of a batch."""
        found: dict[int, Derivation] = {}
        for batch in self.batches(request, sizes):
            stacks = jax.device_get(batch.stacks)
            best = stacks.total.argmax(1)
            for place, row in enumerate(batch.rows.tolist()):
                slot = int(best[place])
                total = float(stacks.total[place, slot])
                assert total > IMPOSSIBLE / 2, "unknown words pass through, so there is always a derivation"
                found[row] = Derivation(batch.reader.best(stacks, place, slot), total)
        return [found[row] for row in range(len(request.sentences))]

    def batches(self, request: Request, sizes: Sizes | None = None, keep_edges: bool = False) -> Iterator[StackBatch]:
        """Decodes batch by batch, sentences of about one length together."""
        batch_size = None if sizes is None else sizes.sentences
        request = complete_request(request, self.rules, self.lms)
        order = np.argsort(request.sentences.lengths, kind="stable")
        request = _reordered(request, order)
        matches = match_patterns(self.rules.grammar.trie, request.sentences, len(self.rules.grammar.trie))
        matches = matches.take(np.flatnonzero(forced_allows(matches, request.forced)))
        whole = MatchedRequest(request, matches, keep_edges)

        places = (batch_size,) if batch_size else self.tiles.sentences

        def decoded(number: int, piece: tuple[np.ndarray, int]) -> Iterator[StackBatch]:
            (rows, size), lms = piece, self._replicas.on(number)

            def decode(part: np.ndarray) -> StackBatch | None:
                return self._decode(whole, size if len(part) == len(rows) else _fitting(len(part), places), lms, part)

            return within_room(rows, decode)

        for batch in spread(decoded, sized_batches(request.sentences.lengths, places)):
            lengths = batch.plan.lengths
            counts = SearchCounts(len(batch.rows), int(lengths.sum()), int((lengths + 1).sum()), batch.plan.num_spans)
            self.statistics.add_counts(counts, batch.stacks.num_scored)
            yield batch._replace(rows=order[batch.rows])

    @cached_property
    def _replicas(self) -> Replicas[tuple[SearchLm, ...]]:
        return self.copies or Replicas(self.lms[: len(self.targets)])

    def _decode(
        self, whole: MatchedRequest, batch_size: int, lms: tuple[SearchLm, ...], rows: np.ndarray
    ) -> StackBatch | None:
        """None where the device has no room for all of them at once; lms: on that device."""
        part = part_of(whole, rows)
        longest = phrase_length(len(self.rules.grammar.trie), list(part.forced))
        batch = part.batch([own.lm_ids for own in self.targets], longest)
        plan, entries = self._plan(batch, part.matches, batch_size)
        limits = self.config.table_limit, self.tiles.block
        arguments = lms, plan.options, self.config.stack, *limits, whole.keep_edges
        if len(rows) > 1 and not fits(fill_stacks, *arguments):
            return None
        stacks = fill_stacks(*arguments)

        def describe(number: int, start: int, end: int) -> Any:
            return entries.symbols(number, start, end, self.config.drop_unknown)

        return StackBatch(rows, plan, part.profiles, stacks, StackReader(plan, self.rules.grammar, describe))

    def _plan(self, batch: BatchSentences, matches: Matches, batch_size: int) -> tuple[StackPlan, SpecialEntries]:
        layout, profiles, config = batch.layout, batch.profiles, self.config
        ranking = rank_rules(self.rules, matches, profiles, self._programs_of, config.table_limit)
        special, entries = special_spans(batch, ranking, config.drop_unknown)
        programs = special_programs_by_lm(self.targets, entries, profiles)
        lists = assemble_lists(ranking, programs, entries.scores(programs, profiles))
        shape = batch_size, word_class(int(layout.lengths.max())), layout.max_span
        if self.operations is None:
            return plan_stack(self.rules, batch, ranking, lists, special, shape), entries
        from jaxsmt.search.stack.operations.programs import BatchPhrases, plan_operations

        written = [entries.symbols(number, 0, 1, config.drop_unknown)[1].tokens for number in range(len(entries.kinds))]
        phrases = BatchPhrases(lists, all_spans(ranking, special), [len(tokens) > 0 for tokens in written])
        planned = plan_operations(self.operations, phrases, profiles)
        lists = replace(lists, score=lists.score + planned.scores(profiles))
        plan = plan_stack(self.rules, batch, ranking, lists, special, shape)
        options = plan.options._replace(operations=planned.options(profiles, len(plan.options.score), batch_size))
        return replace(plan, options=options), entries

    def _programs_of(self, pairs: np.ndarray, user: np.ndarray, profiles: Profiles) -> tuple[PlacedPrograms, ...]:
        return programs_by_lm(self.targets, self.rules.grammar.target_index[pairs], user, profiles)


def stack_decoder(
    rules: RuleModel, targets: tuple[TargetPrograms, ...], config: SearchConfig, models: "OperationModels | None" = None
) -> StackDecoder:
    """A decoder for phrases; see `jaxsmt.search.decoder.make_decoder`."""
    if np.isin(rules.grammar.source_sides, NONTERMINALS).any():
        raise UserError("the rules have gaps, and search.kind is 'stack': search them with kind 'chart'")
    if models is None:
        return StackDecoder(rules, targets, config)
    from jaxsmt.search.stack.operations.programs import phrase_operations

    return StackDecoder(rules, targets, config, operations=phrase_operations(models, rules.grammar))


def _fitting(num: int, sizes: tuple[int, ...]) -> int:
    return next(size for size in sizes if num <= size)


def sized_batches(lengths: np.ndarray, sizes: tuple[int, ...]) -> list[tuple[np.ndarray, int]]:
    """Sentences by `cut_by_length`, and for how many of them the device's program is made: one of `sizes`, ascending.

    The smallest that holds them; but the largest for what is left of a length with many full batches, beside which a
    few empty places are nothing: another program would take longer to compile. lengths: [B] ascending.
    """
    batches, most = cut_by_length(lengths, sizes[-1]), sizes[-1]
    classes = [word_class(int(lengths[rows[-1]])) for rows in batches]
    places = Counter(own for own, rows in zip(classes, batches, strict=True) for _ in rows if len(rows) == most)
    fitting = [_fitting(len(rows), sizes) for rows in batches]
    return [
        (rows, most if len(rows) > 1 and most - size <= places[own] * MOST_EMPTY else size)  # one cannot be halved
        for rows, size, own in zip(batches, fitting, classes, strict=True)
    ]


def cut_by_length(lengths: np.ndarray, most: int) -> list[np.ndarray]:
    """Consecutive sentences of about one length, at most so many at once; lengths: [B] ascending.

    What is left of a class of lengths joins the next longer one, unless that costs much more than it saves: a batch of
    its own would be a device program more for a few sentences, and mostly padding too.
    """
    classes = np.array([word_class(int(length)) for length in lengths], np.int64)
    bounds = np.flatnonzero(np.diff(classes, prepend=-1, append=-1)).tolist()
    batches, begin = [], 0
    for end in bounds[1:]:
        while end - begin >= most:
            batches.append(np.arange(begin, begin + most))
            begin += most
        joins = end < len(lengths) and (end - begin) * (classes[end] - classes[begin]) <= MOST_PADDING * most
        if begin < end and not joins:
            batches.append(np.arange(begin, end))
            begin = end
    return batches


def _reordered(request: Request, order: np.ndarray) -> Request:
    """The sentences of a complete request in another order."""
    assert request.copy_ids is not None
    place = np.argsort(order)
    return replace(
        request,
        sentences=request.sentences.take(order),
        copy_ids=Ragged(request.copy_ids, request.sentences.offsets).take(order).values,
        weights=request.weights.rows(order),
        mixture=None if request.mixture is None else request.mixture[order],
        lm_mixture=mixture_rows(request.lm_mixture, order),
        forced={(int(place[row]), start, end): ids for (row, start, end), ids in request.forced.items()},
    )
