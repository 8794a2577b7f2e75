"""The edges of a chart as flat arrays, made ready for n-best lists.

A node is a hypothesis (cell, slot), numbered cell · K + slot; an edge is a candidate that became a node or was
recombined into one, with nodes as tails. Recombined candidates differ in nothing that the language model could see, so
a derivation is exactly worth the best one of its root less the losses of its edges:
    loss(edge) = score of the node − score of the edge ≥ 0,    score(derivation) = score(root) − Σ loss(edge).
Every node can be had without loss. So the least loss of a whole derivation that uses an edge is
    through(edge) = outside(its node) + loss(edge),    outside(node) = min through(edges with this tail),
with outside(root) = 0, from the root down.

Losses are integers, in units of about 2e-8 of the largest score of the sentence (a float32 is no finer): sums do not
depend on their order, so derivations that tie do so on every machine, in every batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from jaxsmt.search.chart.structure import FIRST_ENTRY, GAP_ONE, GAP_TWO, NO_CELL, Chart, Edges, unpack_choice
from jaxsmt.search.plan.forest import Plan

NO_NODE = 0  # the tail of an absent gap, and of S → <s>: no words, no loss
NO_LOSS_YET = np.int64(1) << 61  # outside of what the root cannot reach
UNIT_BITS = 26  # a sentence's largest score has about so many


@dataclass(frozen=True)
class Hypergraph:
    """E edges that some whole derivation uses, sorted by node, then best first. C cells with K slots, B sentences.

    cell, node, entry, group: [E] int32; entry is the place in the plan's rule lists.
    tails: [2, E] int32 nodes in X1 and X2, or NO_NODE.
    loss, through: [E] int64 in units of the sentence.
    sentence: [E] int32.
    outside, most: [C · K] int64: least loss outside of a node, and the largest loss of any derivation of it.
    roots: [B] int32 nodes of whole sentences.
    score, unit: [B] float64 score of the best derivation (without that of S → <s>), and what a loss of 1 is worth.
    levels: [L + 1] int64: edges levels[n]:levels[n + 1] have tails in earlier levels only.
    """

    cell: np.ndarray
    node: np.ndarray
    entry: np.ndarray
    group: np.ndarray
    tails: np.ndarray
    loss: np.ndarray
    through: np.ndarray
    sentence: np.ndarray
    outside: np.ndarray
    most: np.ndarray
    roots: np.ndarray
    score: np.ndarray
    unit: np.ndarray
    levels: np.ndarray

    def take(self, edges: np.ndarray) -> "Hypergraph":
        """With only these edges, given in order."""
        names = ("cell", "node", "entry", "group", "loss", "through", "sentence")
        columns = {name: getattr(self, name)[edges] for name in names}
        return replace(self, **columns, tails=self.tails[:, edges], levels=np.searchsorted(edges, self.levels))


class ChartEdges(NamedTuple):
    """Edges sorted by node; the fields are those of `Hypergraph`, [E] or [2, E]."""

    node: np.ndarray
    entry: np.ndarray
    group: np.ndarray
    tails: np.ndarray
    loss: np.ndarray
    sentence: np.ndarray


class Roots(NamedTuple):
    """Nodes of whole sentences [B]; score and unit as in `Hypergraph`."""

    node: np.ndarray
    score: np.ndarray
    unit: np.ndarray


def hypergraph_of(chart: Chart, plan: Plan) -> Hypergraph:
    """All edges of a chart that the whole sentences can use."""
    assert chart.edges is not None, "the chart was filled without keep_edges"
    kept = np.asarray(chart.score)
    num_slots = kept.shape[1]
    node, group, entry, tails, score = _read_edges(chart.edges, plan, num_slots)
    sentence = plan.cell_sentence[node // num_slots]
    unit = score_units(score, sentence, len(plan.last_cells))
    loss = np.rint((kept.reshape(-1)[node].astype(np.float64) - score) / unit[sentence]).astype(np.int64)
    edges = ChartEdges(node, entry, group, tails, loss, sentence)
    last = (plan.last_cells * num_slots).astype(np.int32)
    return make_hypergraph(edges, Roots(last, kept.reshape(-1)[last].astype(np.float64), unit), kept.shape)


def make_hypergraph(edges: ChartEdges, roots: Roots, shape: tuple[int, ...]) -> Hypergraph:
    """Those edges that the roots can reach; tails are in cells with smaller numbers. shape: C cells, K slots."""
    num_cells, num_slots = shape
    cell, most = edges.node // num_slots, np.zeros(num_cells * num_slots, np.int64)
    levels = _levels(cell, edges.tails // num_slots, num_cells)
    outside, through = _outside(edges, levels, roots.node, len(most))
    graph = Hypergraph(
        cell, edges.node, edges.entry, edges.group, edges.tails, edges.loss, through, edges.sentence, outside, most,
        roots.node, roots.score, roots.unit, levels,
    ).take(np.flatnonzero(through < NO_LOSS_YET))  # fmt: skip
    return replace(graph, most=_most(graph))


def _read_edges(edges: Edges, plan: Plan, num_slots: int) -> tuple[np.ndarray, ...]:
    """Node, group, entry, tails and score of all edges, sorted by node, then best first."""
    score, group, choice, slot = (np.asarray(part)[: len(plan.cell_sentence)] for part in edges)
    places = np.flatnonzero(slot.reshape(-1) >= 0)
    node = (places // slot.shape[1] * num_slots + slot.reshape(-1)[places]).astype(np.int32)
    order = np.argsort(node, kind="stable")
    places, node = places[order], node[order]
    group = group.reshape(-1)[places]
    rule, *slots = unpack_choice(choice.reshape(-1)[places])
    table = np.asarray(plan.forest.groups)[group]
    tails = np.stack([table[:, GAP_ONE] * num_slots + slots[0], table[:, GAP_TWO] * num_slots + slots[1]])
    is_empty = tails // num_slots <= NO_CELL + len(plan.last_cells)  # <s> has no words of the output
    tails[is_empty] = NO_NODE
    return node, group, table[:, FIRST_ENTRY] + rule, tails, score.reshape(-1)[places].astype(np.float64)


def score_units(score: np.ndarray, sentence: np.ndarray, num_sentences: int) -> np.ndarray:
    """[B] float64 powers of two: the largest score of a sentence has about UNIT_BITS bits."""
    largest = np.zeros(num_sentences)
    np.maximum.at(largest, sentence, np.abs(score))
    return np.exp2(np.ceil(np.log2(np.maximum(largest, 1e-20))) - UNIT_BITS)


def _levels(cell: np.ndarray, tail_cells: np.ndarray, num_cells: int) -> np.ndarray:
    """Cuts the edges, sorted by cell, where a cell uses one that is not below the last cut."""
    highest = np.zeros(num_cells, np.int64)
    np.maximum.at(highest, cell, tail_cells.max(0))
    highest = np.maximum.accumulate(highest)
    cuts = [1]
    while cuts[-1] < num_cells:
        cuts.append(int(np.searchsorted(highest, cuts[-1])))
    return np.searchsorted(cell, cuts)


def _spans(levels: np.ndarray) -> Iterator[slice]:
    for begin, end in pairwise(levels.tolist()):
        yield slice(begin, end)


def _outside(
    edges: ChartEdges, levels: np.ndarray, roots: np.ndarray, num_nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """outside [C · K] and through [E], see the top of this file."""
    node = edges.node
    outside, through = np.full(num_nodes, NO_LOSS_YET), np.full(len(node), NO_LOSS_YET)
    outside[roots] = 0
    for level in reversed(list(_spans(levels))):
        here = outside[node[level]]
        used = np.flatnonzero(here < NO_LOSS_YET) + level.start
        through[used] = outside[node[used]] + edges.loss[used]
        for column in edges.tails:
            np.minimum.at(outside, column[used], through[used])
    return outside, through


def _most(graph: Hypergraph) -> np.ndarray:
    """[C · K] int64: the largest loss of a derivation of each node."""
    most = np.zeros(len(graph.outside), np.int64)
    for edges in _spans(graph.levels):
        first, second = graph.tails[:, edges]
        np.maximum.at(most, graph.node[edges], graph.loss[edges] + most[first] + most[second])
    return most
