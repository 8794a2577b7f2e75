"""Decoded batches as n-best lists are made from them, charts or stacks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from jaxsmt.search.chart.decoder import ChartBatch
from jaxsmt.search.decoder import Decoder, Request
from jaxsmt.search.nbest.derivation import END, GLUE, RULE, SWAP, UNKNOWN_WORD, Node
from jaxsmt.search.nbest.hypergraph import Hypergraph, hypergraph_of
from jaxsmt.search.nbest.kbest import Found
from jaxsmt.search.nbest.links import Places
from jaxsmt.search.nbest.rescoring import DerivationCounts, no_reordering
from jaxsmt.search.nbest.sides import Sides, sides_of
from jaxsmt.search.nbest.unfold import Steps, Trees, sums_by_owner
from jaxsmt.search.stack.decoder import StackBatch
from jaxsmt.search.stack.features import reordering_features
from jaxsmt.search.stack.lists import PhraseChains, StackGraph, phrases_of
from jaxsmt.search.stack.operations.programs import operation_features
from jaxsmt.search.weights import Profiles

T = TypeVar("T")


class Rooted(Protocol):
    """Derivations by number."""

    def root(self, number: int) -> Node: ...


class Source(Protocol):
    """A decoded batch as lists are made from it.

    rows, profiles: as in `ChartBatch`; graph, sides, side: its edges and what they write.
    """

    @property
    def rows(self) -> np.ndarray: ...
    @property
    def profiles(self) -> Profiles: ...
    @property
    def graph(self) -> Hypergraph: ...
    @property
    def sides(self) -> Sides: ...
    @property
    def side(self) -> np.ndarray: ...

    def start_score(self) -> np.ndarray:
        """[B] float64: what counts beside the edges of a derivation."""
        ...

    def trees(self, found: Found) -> Rooted: ...

    def counts(self, decoder: Decoder, found: Found, steps: Steps, features: np.ndarray) -> DerivationCounts:
        """features: [U + N, F] of the sides."""
        ...

    def places(self, found: Found, steps: Steps) -> Places:
        """Where the rule applications stand in the source."""
        ...


@dataclass(frozen=True)
class ChartSource:
    """A batch of charts."""

    batch: ChartBatch
    graph: Hypergraph
    sides: Sides
    side: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        return self.batch.rows

    @property
    def profiles(self) -> Profiles:
        return self.batch.profiles

    def start_score(self) -> np.ndarray:
        return self.profiles.start_score[self.profiles.of_sentence]

    def trees(self, found: Found) -> Trees:
        return Trees(self.batch.reader, found)

    def counts(self, decoder: Decoder, found: Found, steps: Steps, features: np.ndarray) -> DerivationCounts:
        kind, num = found.sides.kind[steps.side], len(found.way)
        return DerivationCounts(
            _rule_sums(found, steps, features),
            np.bincount(steps.owner, minlength=num) + 1,  # S → <s>
            np.bincount(steps.owner[kind == GLUE], minlength=num),
            np.bincount(steps.owner[kind == SWAP], minlength=num),
            np.bincount(steps.owner[kind == UNKNOWN_WORD], minlength=num),
            *no_reordering(decoder.rules, num),
            np.zeros((num, 0)),
        )

    def places(self, found: Found, steps: Steps) -> Places:
        plan, ways = self.batch.plan, found.ways
        cell = found.graph.cell[ways.edge]  # way 0 is no way
        width = np.where(np.arange(len(cell)) > 0, plan.cell_end[cell] - plan.cell_start[cell], 0)
        own = cell[steps.way]
        return Places(plan.cell_start[own], plan.cell_end[own], width[ways.below[:, steps.way]])


def chart_source(batch: ChartBatch) -> ChartSource:
    graph = hypergraph_of(batch.chart, batch.plan)
    return ChartSource(batch, graph, *sides_of(batch.reader, graph.entry, batch.plan.cell_start[graph.cell]))


@dataclass(frozen=True)
class StackSource:
    """A batch of stacks."""

    batch: StackBatch
    stack: StackGraph

    @property
    def rows(self) -> np.ndarray:
        return self.batch.rows

    @property
    def profiles(self) -> Profiles:
        return self.batch.profiles

    @property
    def graph(self) -> Hypergraph:
        return self.stack.graph

    @property
    def sides(self) -> Sides:
        return self.stack.sides

    @property
    def side(self) -> np.ndarray:
        return self.stack.side

    def start_score(self) -> np.ndarray:
        return np.zeros(len(self.rows))

    def trees(self, found: Found) -> PhraseChains:
        return PhraseChains(self.batch.reader, self.stack, found)

    def counts(self, decoder: Decoder, found: Found, steps: Steps, features: np.ndarray) -> DerivationCounts:
        kind, num = found.sides.kind[steps.side], len(found.way)
        profile, mixture = self.profiles.of_sentence[found.sentence], self.profiles.lm_mixture[-1]
        none = np.zeros(num, np.int64)
        phrases, has_target = phrases_of(self.stack, found)
        return DerivationCounts(
            _rule_sums(found, steps, features),
            np.bincount(steps.owner[kind != END], minlength=num),
            none,
            none,
            np.bincount(steps.owner[kind == UNKNOWN_WORD], minlength=num),
            *reordering_features(decoder.rules, phrases, profile, self.profiles.mixture),
            operation_features(
                decoder.operations, phrases, has_target, None if mixture is None else mixture[profile], num
            ),
        )

    def places(self, found: Found, steps: Steps) -> Places:
        group = found.graph.group[found.ways.edge[steps.way]]
        return Places(self.stack.start[group], self.stack.end[group], np.zeros((2, len(group)), np.int64))


def sources_of(decoder: Decoder, request: Request) -> Iterator[Source]:
    """Decodes batch by batch, edges kept."""
    return (batch.source() for batch in _ahead(decoder.batches(request, keep_edges=True)))


def _ahead(batches: Iterator[T]) -> Iterator[T]:
    """The same batches; each is asked for before the one before it is given out, so that the device has work."""
    last = next(batches, None)
    while last is not None:
        following = next(batches, None)
        yield last
        last = following


def _rule_sums(found: Found, steps: Steps, features: np.ndarray) -> np.ndarray:
    """[H, F] float64"""
    rules = np.flatnonzero(found.sides.kind[steps.side] == RULE)
    return sums_by_owner(steps.owner[rules], features[steps.side[rules]], len(found.way))
