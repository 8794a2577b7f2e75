"""Derivations read from the chart: rules, spans, words, segmentation and word alignment."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jaxsmt.search.chart.structure import FIRST_ENTRY, GAP_ONE, GAP_TWO, NO_CELL, unpack_choice
from jaxsmt.search.plan.forest import Plan
from jaxsmt.search.plan.lists import NO_PAIR
from jaxsmt.search.rules.grammar import Grammar
from jaxsmt.text.vocabulary import NONTERMINALS, PAD

RULE, GLUE, START, END, UNKNOWN_WORD, STRAIGHT, SWAP, FORCED = range(8)


@dataclass(frozen=True)
class Symbols:
    """A rule's target side: token ids, gaps as NONTERMINALS; links[j] are places in the rule's source side."""

    tokens: tuple[int, ...]
    links: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Node:
    """One rule application.

    kind: RULE, GLUE, …
    pair: rule of the grammar where kind is RULE, else -1.
    start, end: the span.
    target: the target side; a token -1 - n is source word n, copied.
    source_places: positions of the source side's symbols in the sentence, -1 for gaps.
    children: what fills X1 and X2.
    """

    kind: int
    pair: int
    start: int
    end: int
    target: Symbols
    source_places: tuple[int, ...]
    children: tuple["Node", ...]


@dataclass(frozen=True)
class Derivation:
    """A translation with the way it came about."""

    root: Node
    score: float

    @cached_property
    def nodes(self) -> list[Node]:
        """All rule applications, the root first, then depth first."""
        found, todo = [], [self.root]
        while todo:
            node = todo.pop()
            found.append(node)
            todo.extend(reversed(node.children))
        return found

    @cached_property
    def _words(self) -> list[tuple[int, tuple[int, ...], int]]:
        """Of each target word: token, linked source positions, number of its rule application in `nodes`."""
        number = {id(node): place for place, node in enumerate(self.nodes)}
        words: list[tuple[int, tuple[int, ...], int]] = []
        todo: list[tuple[Node, int]] = [(self.root, 0)]
        while todo:
            node, place = todo.pop()
            if place == len(node.target.tokens):
                continue
            todo.append((node, place + 1))
            token = node.target.tokens[place]
            if token in NONTERMINALS:
                todo.append((node.children[NONTERMINALS.index(token)], 0))
            else:
                links = tuple(node.source_places[offset] for offset in node.target.links[place])
                words.append((token, links, number[id(node)]))
        return words

    @property
    def tokens(self) -> tuple[int, ...]:
        """Target ids; -1 - n stands for source word n, copied."""
        return tuple(token for token, _, _ in self._words)

    @property
    def writers(self) -> list[int]:
        """Of each target word the number in `nodes` of the rule application that wrote it."""
        return [number for _, _, number in self._words]

    @property
    def alignment(self) -> list[tuple[int, int]]:
        """(source position, target position), sorted."""
        return sorted((source, place) for place, (_, links, _) in enumerate(self._words) for source in links)

    @property
    def unknown_positions(self) -> list[int]:
        """Source positions that nobody could translate."""
        return sorted(node.start for node in self.nodes if node.kind == UNKNOWN_WORD)

    @property
    def segments(self) -> list[tuple[int, int, int]]:
        """The output as segments (source start, source end, number of target words) of the rules that wrote them.

        A rule with gaps writes several segments; each names the rule's whole span.
        """
        segments: list[tuple[int, int, int]] = []
        previous = None
        for _, _, number in self._words:
            if number == previous:
                start, end, size = segments[-1]
                segments[-1] = (start, end, size + 1)
            else:
                segments.append((self.nodes[number].start, self.nodes[number].end, 1))
            previous = number
        return segments


def target_symbols(grammar: Grammar, pair: int) -> Symbols:
    """The target side of a rule of the grammar."""
    side = grammar.target_sides[grammar.target_index[pair]]
    tokens = tuple(int(token) for token in side[side != PAD])
    masks = grammar.links_by_target[pair, : len(tokens)].tolist()
    return Symbols(tokens, tuple(tuple(bit for bit in range(16) if mask >> bit & 1) for mask in masks))


@dataclass(frozen=True)
class Reader:
    """Turns (cell, group, choice) of a chart into nodes.

    special: what special entry n is: (kind, target, source places); for a start position see `make_node`.
    """

    plan: Plan
    grammar: Grammar
    special: Callable[[int, int, int], tuple[int, Symbols, tuple[int, ...]]]

    def node(self, cell: int, group: int, rule: int, children: tuple[Node, ...]) -> Node:
        """The application of a group's rule in a cell."""
        start, end = int(self.plan.cell_start[cell]), int(self.plan.cell_end[cell])
        entry = int(self.plan.forest.groups[group, FIRST_ENTRY]) + rule
        pair = int(self.plan.lists.pair[entry])
        if pair <= NO_PAIR:
            kind, target, places = self.special(NO_PAIR - pair, start, end)
            return Node(kind, -1, start, end, target, places, children)
        target, places = target_symbols(self.grammar, pair), self._source_places(pair, start, children)
        return Node(RULE, pair, start, end, target, places, children)

    def gaps(self, group: int) -> list[int]:
        """Cells of the group's gaps."""
        return [int(cell) for cell in self.plan.forest.groups[group, GAP_ONE : GAP_TWO + 1] if cell != NO_CELL]

    def is_start(self, cell: int) -> bool:
        return NO_CELL < cell <= len(self.plan.last_cells)

    def best(self, group: np.ndarray, choice: np.ndarray, cell: int, slot: int) -> Node:
        """Hypothesis `slot` of a cell, followed down; group, choice: [C, K]."""
        if self.is_start(cell):
            return START_NODE
        rule, *slots = (int(value) for value in unpack_choice(choice[cell, slot]))
        here = int(group[cell, slot])
        children = tuple(self.best(group, choice, gap, slots[place]) for place, gap in enumerate(self.gaps(here)))
        return self.node(cell, here, rule, children)

    def _source_places(self, pair: int, start: int, children: tuple[Node, ...]) -> tuple[int, ...]:
        side_number = int(np.searchsorted(self.grammar.first_pair, pair, side="right")) - 1
        places, position = [], start
        for symbol in self.grammar.source_sides[side_number].tolist():
            if symbol == PAD:
                break
            if symbol in NONTERMINALS:
                places.append(-1)
                position = children[NONTERMINALS.index(symbol)].end
            else:
                places.append(position)
                position += 1
        return tuple(places)


START_NODE = Node(START, -1, 0, 0, Symbols((), ()), (), ())
