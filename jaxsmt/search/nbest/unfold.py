"""From derivations in arrays to their rule applications, words and trees."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import Ragged, offsets_of, ranges
from jaxsmt.search.chart.structure import FIRST_ENTRY
from jaxsmt.search.nbest.derivation import START_NODE, Node, Reader
from jaxsmt.search.nbest.kbest import Found
from jaxsmt.search.nbest.sides import Sides
from jaxsmt.text.vocabulary import NONTERMINALS, PAD


class Steps(NamedTuple):
    """The rule applications of H derivations, S → <s> left out; T of them in any order.

    owner: [T] the derivation; side: [T] what is written, a place in `Sides`.
    at: [T] the place in the derivation's output at which the application's part begins.
    gaps: [2, T] numbers of words in the first and the second gap of its target side.
    way: [T] its place in `Ways`.
    """

    owner: np.ndarray
    side: np.ndarray
    at: np.ndarray
    gaps: np.ndarray
    way: np.ndarray


def steps_of(found: Found) -> Steps:
    """All rule applications: the roots, then what is in their gaps, and so on."""
    ways, sides = found.ways, found.sides
    owner, way = np.arange(len(found.way)), found.way
    at = np.zeros(len(way), np.int32)
    parts = []
    while True:
        side = found.side[ways.edge[way]]
        below = ways.below[:, way]
        swapped = sides.is_swapped[side]
        below = np.where(swapped, below[::-1], below)  # in the order of the target side
        gaps = ways.length[below]
        parts.append(Steps(owner, side, at, gaps, way))
        if not below.any():
            return Steps(*(np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True)))
        starts = [at + sides.run_length[side, 0]]
        starts.append(starts[0] + gaps[0] + sides.run_length[side, 1])
        inside = [np.flatnonzero(column) for column in below]  # way 0 is no way
        owner = np.concatenate([owner[rows] for rows in inside])
        at = np.concatenate([start[rows] for start, rows in zip(starts, inside, strict=True)])
        way = np.concatenate([column[rows] for column, rows in zip(below, inside, strict=True)])


def tokens_of(steps: Steps, sides: Sides, lengths: np.ndarray) -> Ragged:
    """The output of derivations with `lengths` [H] words: tokens as in `Derivation.tokens`."""
    is_gap = np.isin(sides.tokens, NONTERMINALS)
    side, column = np.nonzero(~is_gap & (sides.tokens != PAD))  # words of all sides, one after the other
    gaps_before = np.cumsum(is_gap, 1)[side, column]
    words_before = column - gaps_before
    first_word = np.searchsorted(side, np.arange(len(sides.tokens) + 1))
    word, step = ranges(first_word[steps.side], np.diff(first_word)[steps.side])
    gaps = np.stack([np.zeros_like(steps.at), steps.gaps[0], steps.gaps.sum(0, dtype=np.int32)])
    offsets = offsets_of(lengths)
    place = offsets[steps.owner[step]] + steps.at[step] + words_before[word] + gaps[gaps_before[word], step]
    values = np.zeros(int(offsets[-1]), np.int32)
    values[place] = sides.tokens[side[word], column[word]]
    return Ragged(values, offsets)


def sums_by_owner(owner: np.ndarray, values: np.ndarray, num: int) -> np.ndarray:
    """[num, F] float64: sums of the rows [T, F] of each owner [T]."""
    columns = [np.bincount(owner, column, num) for column in values.T.astype(np.float64)]
    return np.stack(columns, 1) if columns else np.zeros((num, 0))


@dataclass(frozen=True)
class Trees:
    """Derivations as trees; parts that several of them share are made once."""

    reader: Reader
    found: Found
    made: dict[int, Node] = field(default_factory=dict)

    def root(self, number: int) -> Node:
        """The tree of derivation `number`."""
        return self._node(int(self.found.way[number]))

    def _node(self, way: int) -> Node:
        if way not in self.made:
            graph, ways, plan = self.found.graph, self.found.ways, self.reader.plan
            edge = int(ways.edge[way])
            group = int(graph.group[edge])
            cells = self.reader.gaps(group)
            children = tuple(
                START_NODE if self.reader.is_start(cell) else self._node(int(below))
                for cell, below in zip(cells, ways.below[:, way].tolist(), strict=False)
            )
            rule = int(graph.entry[edge]) - int(plan.forest.groups[group, FIRST_ENTRY])
            self.made[way] = self.reader.node(int(graph.cell[edge]), group, rule, children)
        return self.made[way]
