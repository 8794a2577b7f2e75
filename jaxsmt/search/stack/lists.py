"""n-best lists from the stacks: their candidates as edges of a hypergraph in which every edge has one tail."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsmt.search.chart.structure import IMPOSSIBLE
from jaxsmt.search.nbest.derivation import END, START_NODE, Node
from jaxsmt.search.nbest.hypergraph import NO_NODE, ChartEdges, Hypergraph, Roots, make_hypergraph, score_units
from jaxsmt.search.nbest.kbest import Found
from jaxsmt.search.nbest.sides import Sides, cut_sides, tokens_of_entries
from jaxsmt.search.stack.decoder import StackBatch
from jaxsmt.search.stack.features import Phrases
from jaxsmt.search.stack.hypotheses import NO_ENTRY
from jaxsmt.search.stack.reading import StackReader
from jaxsmt.text.vocabulary import NONTERMINALS, PAD


class _Edges(NamedTuple):
    """[E] each: node, tail, loss before it is rounded, and the option in its span; NO_ENTRY ends a sentence."""

    node: np.ndarray
    tail: np.ndarray
    sentence: np.ndarray
    score: np.ndarray
    best: np.ndarray  # the score of the node
    entry: np.ndarray
    start: np.ndarray
    end: np.ndarray


@dataclass(frozen=True)
class StackGraph:
    """The edges of a batch. Cell 1 + n · B + b is stack n of sentence b; behind the stacks come the roots.

    sides, side: what the edges write, each after what stands before it (X1).
    entry, start, end: [E] of the edges, by `graph.group`.
    """

    graph: Hypergraph
    sides: Sides
    side: np.ndarray
    entry: np.ndarray
    start: np.ndarray
    end: np.ndarray


def stack_graph(batch: StackBatch) -> StackGraph:
    """All edges that whole sentences can use."""
    stacks = jax.device_get(batch.stacks)
    assert stacks.edges is not None, "the stacks were filled without keep_edges"
    num_sentences = len(batch.rows)
    num_stacks, num_columns, num_slots = stacks.score.shape
    inner, roots = _inner_edges(stacks), _root_edges(stacks, batch.plan.lengths)
    edges = _Edges(*(np.concatenate(parts) for parts in zip(inner, roots, strict=True)))
    edges = _Edges(*(column[edges.sentence < num_sentences] for column in edges))
    order = np.argsort(edges.node, kind="stable")
    edges = _Edges(*(column[order] for column in edges))
    unit = score_units(edges.score, edges.sentence, num_sentences)
    loss = np.rint((edges.best - edges.score) / unit[edges.sentence]).astype(np.int64)
    root = ((1 + num_stacks * num_columns + np.arange(num_sentences)) * num_slots).astype(np.int32)
    graph = make_hypergraph(
        ChartEdges(
            edges.node.astype(np.int32),
            edges.entry.astype(np.int32),
            np.arange(len(edges.node), dtype=np.int32),
            np.stack([edges.tail, np.full(len(edges.tail), NO_NODE)]).astype(np.int32),
            np.maximum(loss, 0),  # rounding
            edges.sentence.astype(np.int32),
        ),
        Roots(root, stacks.total.max(1)[:num_sentences].astype(np.float64), unit),
        (1 + (num_stacks + 1) * num_columns, num_slots),
    )
    sides, side = _sides(batch.reader, graph.entry, edges.start[graph.group])
    return StackGraph(graph, sides, side, edges.entry, edges.start, edges.end)


def _nodes(stack: np.ndarray, sentence: np.ndarray, slot: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Nodes of hypotheses; that of no words is NO_NODE."""
    return np.where(stack > 0, (1 + stack * shape[1] + sentence) * shape[2] + slot, NO_NODE)


def _inner_edges(stacks: Any) -> _Edges:
    shape, edges = stacks.score.shape, stacks.edges
    stack, sentence, rank = np.nonzero(edges.slot >= 0)
    at = stack, sentence, rank
    slot, parent = edges.slot[at], edges.parent[at]
    return _Edges(
        _nodes(stack, sentence, slot, shape),
        _nodes(parent // shape[2], sentence, parent % shape[2], shape),
        sentence,
        edges.score[at].astype(np.float64),
        stacks.score[stack, sentence, slot].astype(np.float64),
        edges.entry[at],
        edges.start[at],
        edges.end[at],
    )


def _root_edges(stacks: Any, lengths: np.ndarray) -> _Edges:
    """</s> after every hypothesis that covers its sentence, best first."""
    shape = stacks.score.shape
    order = np.argsort(-stacks.total[: len(lengths)], axis=1, kind="stable")
    total = np.take_along_axis(stacks.total[: len(lengths)], order, 1)
    sentence, rank = np.nonzero(total > IMPOSSIBLE / 2)
    none = np.zeros(len(sentence), np.int64)
    return _Edges(
        (1 + shape[0] * shape[1] + sentence) * shape[2],
        _nodes(lengths[sentence], sentence, order[sentence, rank], shape),
        sentence,
        total[sentence, rank].astype(np.float64),
        total[sentence, 0].astype(np.float64),
        none + NO_ENTRY,
        none,
        none,
    )


def _sides(reader: StackReader, entry: np.ndarray, start: np.ndarray) -> tuple[Sides, np.ndarray]:
    """Every side begins with X1; the last one has nothing else and ends sentences."""
    is_end = entry == NO_ENTRY
    tokens, kind, pair, inner = tokens_of_entries(reader, reader.plan.pair, entry[~is_end], start[~is_end])
    width = tokens.shape[1] + 1
    whole = np.full((len(tokens) + 1, width), PAD, np.int32)
    whole[:, 0], whole[:-1, 1:] = NONTERMINALS[0], tokens
    side = np.full(len(entry), len(tokens), np.int32)
    side[~is_end] = inner
    return Sides(whole, *cut_sides(whole), np.append(kind, np.int8(END)), np.append(pair, -1)), side


def phrases_of(stack: StackGraph, found: Found) -> tuple[Phrases, np.ndarray]:
    """The phrases of the derivations in `found`, in the order of the output; [T] bool: if they have target words."""
    ways, owner = found.ways, np.arange(len(found.way))
    way = ways.below[0, found.way]  # the root ends the sentence
    parts, depth = [], 0
    while len(way):
        inside = way != 0
        owner, way = owner[inside], way[inside]
        edge = ways.edge[way]
        parts.append((owner, np.full(len(owner), -depth), found.graph.group[edge], found.side[edge]))
        way, depth = ways.below[0, way], depth + 1
    nothing = (np.zeros(0, np.int64),) * 4
    owner, order, group, side = (np.concatenate(columns) for columns in zip(nothing, *parts, strict=True))
    by_place = np.lexsort((order, owner))
    owner, group, side = owner[by_place], group[by_place], side[by_place]
    has_target = found.sides.tokens[side, 1] != PAD if found.sides.tokens.shape[1] > 1 else np.zeros(len(side), bool)
    return Phrases(owner, found.sides.pair[side], stack.start[group], stack.end[group]), has_target


@dataclass(frozen=True)
class PhraseChains:
    """Derivations as chains of nodes; parts that several of them share are made once."""

    reader: StackReader
    stack: StackGraph
    found: Found
    made: dict[int, Node] = field(default_factory=dict)

    def root(self, number: int) -> Node:
        """The last phrase of derivation `number`."""
        ways = self.found.ways
        todo = [int(ways.below[0, self.found.way[number]])]
        while todo[-1] and todo[-1] not in self.made:
            todo.append(int(ways.below[0, todo[-1]]))
        node = self.made[todo[-1]] if todo[-1] else START_NODE
        for way in reversed(todo[:-1]):
            group = int(self.found.graph.group[ways.edge[way]])
            entry, start, end = (int(column[group]) for column in (self.stack.entry, self.stack.start, self.stack.end))
            self.made[way] = node = self.reader.node(entry, start, end, node)
        return node
