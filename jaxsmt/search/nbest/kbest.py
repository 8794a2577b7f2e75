"""The k best derivations of many sentences at once, bottom-up over the edges of their charts (Huang and Chiang 2005).

Where that paper's algorithm 3 asks lazily for one derivation after the other, here all sentences go up level by level
with lists that are as long as they need to be: a node's list ends at the loss δ − outside(node), beyond which no whole
derivation loses at most δ, and after k derivations. δ is guessed for each sentence, and raised where it let too few
derivations through.

In lists of distinct strings a node keeps the best derivation of each string. That loses nothing: what is put around
two derivations of one node is the same for both. Strings are compared by their hashes (see `sides`; among a million
strings two collide with a probability of about 1e-7).

Derivations of a node that lose the same are in the order of their edges, then of the derivations in X1 and in X2.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import numbered_runs, ranks_in_runs
from jaxsmt.search.nbest.hypergraph import NO_NODE, Hypergraph
from jaxsmt.search.nbest.sides import Sides, Strings, base_powers, filled_strings

NO_LIMIT = np.int64(1) << 60
_LOSS_BITS = 40  # room for the losses of 2^13 edges, see `hypergraph.UNIT_BITS`
_CANDIDATES_AT_ONCE = 1 << 21  # a bound on memory
# how δ is guessed: by the number of edges at first (in units of k), then by the growth that it needs
_FIRST_EDGES, _AIM, _LEAST_GROWTH, _MOST_GROWTH = 2.0, 2.5, 1.2, 4.0


class Ways(NamedTuple):
    """W derivations of nodes, those of a node end to end and best first; way 0 is the only one of NO_NODE.

    loss: [W] int64; edge: [W] int32; below: [2, W] int32 ways in X1 and X2.
    hash, length: [W] uint64 and int32 of the strings.
    """

    loss: np.ndarray
    edge: np.ndarray
    below: np.ndarray
    hash: np.ndarray
    length: np.ndarray


@dataclass(frozen=True)
class Found:
    """The best ways of some sentences: H of them, sentence by sentence, best first.

    graph, sides, side: the edges that `ways` speaks of, and their target sides.
    sentence, way: [H].
    """

    graph: Hypergraph
    sides: Sides
    side: np.ndarray
    ways: Ways
    sentence: np.ndarray
    way: np.ndarray


def best_ways(graph: Hypergraph, sides: Sides, side: np.ndarray, size: int, distinct: bool) -> Iterator[Found]:
    """Up to `size` derivations of every sentence, in any order of sentences.

    side: [E] the target side of each edge. distinct: of derivations with the same string only the best.
    """
    most = graph.most[graph.roots]
    limit = _first_limits(graph, size)
    waiting = np.ones(len(most), bool)
    while waiting.any():
        limit = np.where(limit >= most, NO_LIMIT, limit)
        edges = np.flatnonzero(waiting[graph.sentence] & (graph.through <= limit[graph.sentence]))
        part, part_side = graph.take(edges), side[edges]
        ways, first, count = _Climb(part, sides, part_side, limit, size, distinct).run()
        found = np.where(waiting, count[graph.roots], 0)
        done = waiting & ((found >= size) | (limit == NO_LIMIT))
        sentence = np.repeat(np.arange(len(done)), np.where(done, found, 0))
        way = np.repeat(first[graph.roots], np.where(done, found, 0)) + ranks_in_runs(sentence)
        yield Found(part, sides, part_side, ways, sentence, way)
        waiting &= ~done
        limit = _raised(limit, found, size)


def _first_limits(graph: Hypergraph, size: int) -> np.ndarray:
    """[B] int64: δ that lets a number of edges through, beside those of the best derivation."""
    order = np.lexsort((graph.through, graph.sentence))
    order = order[graph.through[order] > 0]
    counts = np.bincount(graph.sentence[order], minlength=len(graph.roots))
    first = np.cumsum(counts) - counts
    chosen = np.minimum(int(size * _FIRST_EDGES), counts - 1)
    limits = np.full(len(counts), NO_LIMIT)
    some = counts > 0
    limits[some] = graph.through[order[(first + chosen)[some]]]
    return limits


def _raised(limit: np.ndarray, found: np.ndarray, size: int) -> np.ndarray:
    """δ for the next try: the number of derivations grows about exponentially with it."""
    growth = np.log(_AIM * size) / np.log(np.maximum(found, 2))
    return np.minimum(limit * np.clip(growth, _LEAST_GROWTH, _MOST_GROWTH) + 1, NO_LIMIT).astype(np.int64)


@dataclass
class _Climb:
    """One pass from the leaves to the roots; the fields are the arguments of `best_ways`, limit [B] is δ."""

    graph: Hypergraph
    sides: Sides
    side: np.ndarray
    limit: np.ndarray
    size: int
    distinct: bool

    def __post_init__(self) -> None:
        graph = self.graph
        self.budget = self.limit[graph.sentence] - graph.through  # what an edge's tails may lose
        self.first, self.count = np.zeros(len(graph.outside), np.int64), np.zeros(len(graph.outside), np.int64)
        self.count[NO_NODE] = 1
        nothing = np.zeros(1, np.int64)
        self.ways = Ways(
            nothing, nothing.astype(np.int32) - 1, np.zeros((2, 1), np.int32), nothing.astype(np.uint64),
            nothing.astype(np.int32),
        )  # fmt: skip
        self.num = 1
        self.powers = base_powers(1)

    def run(self) -> tuple[Ways, np.ndarray, np.ndarray]:
        """The ways, and of every node [C · K] the first and their number."""
        for begin, end in pairwise(self.graph.levels.tolist()):
            if begin < end:
                for part in self._parts(begin, end):
                    self._fill(part)
        return Ways(*(column[..., : self.num] for column in self.ways)), self.first, self.count

    def _parts(self, begin: int, end: int) -> Iterator[np.ndarray]:
        """The edges of a level, cut between nodes into parts that have not too many candidates each."""
        edges = np.arange(begin, end)
        counts = self.count[self.graph.tails[:, begin:end]]
        most = np.minimum(counts[0] * counts[1], self.size * (1 + np.log(np.minimum(*counts)))).astype(np.int64)
        part = np.cumsum(most) // _CANDIDATES_AT_ONCE
        if part[-1] == 0:
            yield edges
            return
        starts = np.flatnonzero(np.diff(self.graph.node[edges], prepend=-1))
        part = part[starts]  # of each node
        bounds = starts[np.flatnonzero(np.diff(part, prepend=-1))].tolist()
        for low, high in pairwise([*bounds, len(edges)]):
            yield edges[low:high]

    def _fill(self, edges: np.ndarray) -> None:
        """Makes the lists of the nodes that these edges lead to."""
        graph = self.graph
        edge, below = self._candidates(edges)
        loss = graph.loss[edge] + self.ways.loss[below[0]] + self.ways.loss[below[1]]
        strings = self._strings(edge, below)
        node = graph.node[edge]
        number = np.cumsum(np.diff(node, prepend=node[:1]) != 0)  # of the node, in few bits
        order = np.argsort((number << _LOSS_BITS) | loss, kind="stable")
        if self.distinct:
            order = order[_is_first((strings.hash + number.astype(np.uint64) * _NODE_STEP)[order])]
        order = order[ranks_in_runs(number[order]) < self.size]
        nodes, counts = np.unique(node[order], return_counts=True)
        self.first[nodes], self.count[nodes] = self.num + np.cumsum(counts) - counts, counts
        self._append(Ways(loss[order], edge[order], below[:, order], strings.hash[order], strings.length[order]))

    def _candidates(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Edges with ways in their gaps that stay within the limits: [Q] and [2, Q]; by edge, then ranks in gaps.

        A pair of ranks (i, j) is behind (i + 1)(j + 1) - 1 better ones of the same edge.
        """
        first, second = self.graph.tails[:, edges]
        row, rank = numbered_runs(self._within(first, self.budget[edges]))
        one = self.first[first[row]] + rank
        num = self._within(second[row], self.budget[edges[row]] - self.ways.loss[one])
        again, rank = numbered_runs(np.minimum(num, self.size // (rank + 1)))
        two = self.first[second[row[again]]] + rank
        return edges[row[again]], np.stack([one[again], two])

    def _within(self, node: np.ndarray, budget: np.ndarray) -> np.ndarray:
        """[n] how many ways of the nodes lose at most the budget: bisection in all lists at once."""
        num = np.ones(len(node), np.int64)
        some = np.flatnonzero(node != NO_NODE)
        first, budget = self.first[node[some]], budget[some]
        low, high = np.zeros(len(some), np.int64), self.count[node[some]]
        for _ in range(int(high.max(initial=0)).bit_length()):
            middle = (low + high) // 2
            fits = (low < high) & (self.ways.loss[np.minimum(first + middle, self.num - 1)] <= budget)
            low, high = np.where(fits, middle + 1, low), np.where(fits, high, middle)
        num[some] = low
        return num

    def _strings(self, edge: np.ndarray, below: np.ndarray) -> Strings:
        first, second = (Strings(self.ways.hash[way], self.ways.length[way]) for way in below)
        longest = max(int(part.max(initial=0)) for part in (first.length, second.length, self.sides.run_length))
        if longest >= len(self.powers):
            self.powers = base_powers(2 * longest)
        return filled_strings(self.sides, self.side[edge], first, second, self.powers)

    def _append(self, more: Ways) -> None:
        num = self.num + len(more.loss)
        if num > len(self.ways.loss):
            self.ways = Ways(*(_grown(column, self.num, 2 * num) for column in self.ways))
        for column, part in zip(self.ways, more, strict=True):
            column[..., self.num : num] = part
        self.num = num


_NODE_STEP = np.uint64(0xD6E8FEB86659FD93)


def _grown(column: np.ndarray, used: int, size: int) -> np.ndarray:
    grown = np.zeros((*column.shape[:-1], size), column.dtype)
    grown[..., :used] = column[..., :used]
    return grown


def _is_first(keys: np.ndarray) -> np.ndarray:
    """[n] bool: no equal key comes before."""
    order = np.argsort(keys, kind="stable")
    is_first = np.ones(len(keys), bool)
    is_first[order[1:]] = keys[order[1:]] != keys[order[:-1]]
    return is_first
