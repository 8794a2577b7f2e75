"""What the chart search works on and gives: a beam, the forest of a batch, the chart."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from jaxsmt.common.settings import check_ranges
from jaxsmt.search.chart.rows import SearchLm
from jaxsmt.search.chart.tiles import ChartTiles

Array = Any
IMPOSSIBLE = -1e30  # the score of what cannot be; finite, so that sums stay ordered
NO_CELL = 0  # the cell of an absent gap: one hypothesis, no words, score 0
MAX_PARTS = 5  # of a rule: run gap run gap run
FIRST_GAP, SECOND_GAP = -1, -2  # parts of a rule's program that are no rows
GAP_ONE, GAP_TWO, FIRST_ENTRY, NUM_ENTRIES = range(4)  # columns of `Forest.groups`
FIRST_GROUP, NUM_GROUPS = range(2)  # columns of `Forest.cell_groups`
FIRST_CELL, NUM_CELLS, GROUP_CLASS = range(3)  # columns of `Forest.chunks`
_RULE_BITS, _KEPT_BITS = 11, 10


@dataclass(frozen=True)
class Beam:
    """How widely to search.

    kept: K, hypotheses kept per cell.
    rules: (group, rule) pairs of a cell that the language model scores with the best hypotheses in the gaps.
    expanded: how many of these have other hypotheses tried in their gaps.
    neighbours: how many such combinations of a cell the language model scores.
    rule_slack: (group, rule) pairs are left out that the estimates put further behind the cell's best one.
    neighbour_slack: combinations are left out that the estimates put further behind the K-th best of round 1 (the last
      of those that are expanded, if they are fewer).
    Slacks are in units of the weights' L1 norm (rules, language model, word and phrase penalty).
    """

    kept: int = 24
    rules: int = 80
    expanded: int = 64
    neighbours: int = 112
    rule_slack: float = 2.4
    neighbour_slack: float = 0.25

    @property
    def lanes(self) -> int:
        """M: room for the candidates of one cell and round."""
        return max(self.rules, self.neighbours)

    def __post_init__(self) -> None:
        numbers = dict.fromkeys(("rules", "expanded", "neighbours"), (1, 1 << 14))
        check_ranges(self, "search.beam", {"kept": (1, 1 << _KEPT_BITS), **numbers})
        check_ranges(self, "search.beam", dict.fromkeys(("rule_slack", "neighbour_slack"), (0.0, math.inf)))


class Forest(NamedTuple):
    """The rule applications of a batch of sentences; filled up to static sizes. C cells, G groups, E entries.

    Cell NO_CELL is first; the chunks name the cells that are to be filled.
    """

    rows: tuple[Array, ...]  # by language model [S, width] int32: runs of words of the rules; row 0 has no words
    entry_score: Array  # [E] float32: rule score with penalties and estimated language model score
    entry_program: tuple[Array, ...]  # by language model [E, MAX_PARTS] int32: rows, or FIRST_GAP or SECOND_GAP
    groups: Array  # [G, 4] int32: GAP_ONE and GAP_TWO (cells), FIRST_ENTRY, NUM_ENTRIES
    cell_groups: Array  # [C, 2] int32: FIRST_GROUP, NUM_GROUPS
    lm_weight: Array  # [C, M] float32, of the cell's sentence, for all features of all language models
    weight_norm: Array  # [C] float32, the unit of slacks
    lm_mixture: tuple[Array | None, ...]  # by language model [C, D] float32
    start_cells: Array  # [B] int32: cells that hold <s>
    start_row: tuple[Array, ...]  # by language model [width] int32
    chunks: Array  # [J, 3] int32: FIRST_CELL, NUM_CELLS, GROUP_CLASS (place in GROUP_CLASSES)
    num_chunks: Array  # [] int32


class Chart(NamedTuple):
    """What was found; hypotheses of a cell come best first."""

    score: Array  # [C, K] float32, IMPOSSIBLE where there is none
    group: Array  # [C, K] int32
    choice: Array  # [C, K] int32: rule, i and j, see `unpack_choice`
    edges: "Edges | None"
    num_scored: Array  # [] int32: candidates that the language model scored


class Edges(NamedTuple):
    """For n-best lists: the K hypotheses of each cell, then the K best of those recombined into them; [C, 2K] each."""

    score: Array
    group: Array
    choice: Array
    slot: Array  # the hypothesis that the candidate is or was recombined into; -1 if it was dropped


class ChartSearch(NamedTuple):
    """What stays the same while a chart is filled.

    table_limit: the largest number of entries a group has.
    """

    lms: tuple[SearchLm, ...]
    forest: Forest
    beam: Beam
    table_limit: int
    tiles: ChartTiles


class ChartState(NamedTuple):
    """What is there so far."""

    rows: tuple[Array, ...]  # by language model [S + C·K, width]: runs, then hypotheses
    chart: Chart


class Candidates(NamedTuple):
    """[Q, M] each."""

    group: Array
    choice: Array  # rule, i and j, see `unpack_choice`


def pack_choice(rule: Array, first: Array, second: Array) -> Array:
    return (rule << 2 * _KEPT_BITS) | (first << _KEPT_BITS) | second


def unpack_choice(choice: Array) -> tuple[Array, Array, Array]:
    """Rule, i and j."""
    mask = (1 << _KEPT_BITS) - 1
    return choice >> 2 * _KEPT_BITS, (choice >> _KEPT_BITS) & mask, choice & mask
