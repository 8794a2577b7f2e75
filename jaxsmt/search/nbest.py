"""The k best derivations of a sentence, found lazily in the edges of its chart (Huang and Chiang 2005, algorithm 3).

An edge is a candidate that the language model scored: a rule with hypotheses in its gaps. Edges that lead to the same
hypothesis were recombined because the language model cannot tell them apart, so a derivation's score is exactly
    score(edge) + Σ over gaps [score of the derivation chosen there − score of the best one there].
"""

import heapq
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxsmt.search.chart import IMPOSSIBLE, Chart, unpack_choice
from jaxsmt.search.decoder import Decoder, Request
from jaxsmt.search.derivation import START_NODE, Derivation, Node, Reader
from jaxsmt.search.forest import Sizes

TRIES_PER_DISTINCT = 20  # derivations looked at for each distinct translation wanted


class _Way(NamedTuple):
    """A derivation of a hypothesis; sorted by falling score, then edge, then ranks of the gaps' derivations."""

    loss: float
    edge: int
    ranks: tuple[int, ...]


class _Ways:
    """The derivations of one hypothesis found so far, and those that may come next."""

    def __init__(self, first: list[_Way]) -> None:
        self.found: list[_Way] = []
        self.next = first
        self.seen = {(way.edge, way.ranks) for way in first}
        heapq.heapify(self.next)


class LazyBest:
    """Derivations of a chart in order of their scores."""

    def __init__(self, reader: Reader, chart: Chart) -> None:
        assert chart.edges is not None, "the chart was filled without keep_edges"
        self._reader = reader
        self._kept = np.asarray(chart.score)
        self._score, self._group, self._choice, self._slot = (np.asarray(part) for part in chart.edges)
        self._ways: dict[tuple[int, int], _Ways] = {}
        self._nodes: dict[tuple[int, int, int], Node] = {}

    def derivations(self, cell: int) -> Iterator[tuple[float, Node]]:
        """All derivations of a whole sentence, best first: scores without that of S → <s>, and trees.

        The last cell's hypotheses differ in nothing that matters any more, so there is one of them.
        """
        rank = 0
        while self._kept[cell, 0] > IMPOSSIBLE / 2 and (way := self._way(cell, 0, rank)) is not None:
            yield -way.loss, self._node(cell, 0, rank)
            rank += 1

    def _way(self, cell: int, slot: int, rank: int) -> _Way | None:
        """Derivation number `rank` of a hypothesis, or None."""
        if self._reader.is_start(cell):
            return _Way(0.0, -1, ()) if rank == 0 else None
        ways = self._ways.get((cell, slot))
        if ways is None:
            ways = self._ways[cell, slot] = _Ways(self._first(cell, slot))
        while len(ways.found) <= rank and ways.next:
            way = heapq.heappop(ways.next)
            ways.found.append(way)
            for place in range(len(way.ranks)):
                ranks = tuple(other + (place == number) for number, other in enumerate(way.ranks))
                self._push(cell, ways, way.edge, ranks)
        return ways.found[rank] if rank < len(ways.found) else None

    def _first(self, cell: int, slot: int) -> list[_Way]:
        edges = np.flatnonzero(self._slot[cell] == slot).tolist()
        return [_Way(-float(self._score[cell, edge]), edge, (0,) * len(self._gaps(cell, edge))) for edge in edges]

    def _gaps(self, cell: int, edge: int) -> list[tuple[int, int]]:
        """Cell and hypothesis in each gap of an edge."""
        _, *slots = unpack_choice(int(self._choice[cell, edge]))
        return list(zip(self._reader.gaps(int(self._group[cell, edge])), slots, strict=False))

    def _push(self, cell: int, ways: _Ways, edge: int, ranks: tuple[int, ...]) -> None:
        if (edge, ranks) in ways.seen:
            return
        ways.seen.add((edge, ranks))
        loss = -float(self._score[cell, edge])
        for gap, rank in zip(self._gaps(cell, edge), ranks, strict=True):
            chosen, best = self._way(*gap, rank), self._way(*gap, 0)
            if chosen is None or best is None:
                return
            loss += chosen.loss - best.loss
        heapq.heappush(ways.next, _Way(loss, edge, ranks))

    def _node(self, cell: int, slot: int, rank: int) -> Node:
        if self._reader.is_start(cell):
            return START_NODE
        key = (cell, slot, rank)
        if key not in self._nodes:
            way = self._ways[cell, slot].found[rank]
            gaps = self._gaps(cell, way.edge)
            children = tuple(self._node(*gap, place) for gap, place in zip(gaps, way.ranks, strict=True))
            rule = int(unpack_choice(int(self._choice[cell, way.edge]))[0])
            self._nodes[key] = self._reader.node(cell, int(self._group[cell, way.edge]), rule, children)
        return self._nodes[key]


def nbest(
    decoder: Decoder, request: Request, size: int, distinct: bool = True, sizes: Sizes | None = None
) -> list[list[Derivation]]:
    """Up to `size` derivations of every sentence, best first.

    distinct: of derivations with the same translation only the best.
    """
    lists: dict[int, list[Derivation]] = {}
    for batch in decoder.charts(request, sizes, keep_edges=True):
        lazy = LazyBest(batch.reader, batch.chart)
        for place, row in enumerate(batch.rows.tolist()):
            start = float(batch.profiles.start_score[batch.profiles.of_sentence[place]])
            lists[row] = _take(lazy.derivations(int(batch.plan.last_cells[place])), start, size, distinct)
    return [lists[row] for row in range(len(request.sentences))]


def _take(found: Iterator[tuple[float, Node]], start: float, size: int, distinct: bool) -> list[Derivation]:
    taken: list[Derivation] = []
    seen: set[Any] = set()
    for number, (score, root) in enumerate(found):
        if len(taken) == size or number == size * TRIES_PER_DISTINCT:
            break
        derivation = Derivation(root, start + score)
        if distinct and derivation.tokens in seen:
            continue
        seen.add(derivation.tokens)
        taken.append(derivation)
    return taken
