"""From matched rules to the device's `Forest`: cells, groups of rule applications, ranked lists of rules.

X[s, e]  a span of at most max_span words: rules matched there, an unknown word, a forced translation, block glue
S[e]     the first e words: S[k] X[k, e] for all k
end      the whole sentence, S[n] </s>
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jaxsmt.common.grouping import sorted_distinct
from jaxsmt.common.ragged import numbered_runs, ranks_in_runs
from jaxsmt.common.sizes import filled_rows, power_of_four
from jaxsmt.search.chart.structure import FIRST_ENTRY, NO_CELL, Forest
from jaxsmt.search.chart.tiles import FEW_GROUPS, GROUP_CLASSES
from jaxsmt.search.plan.lists import RuleLists
from jaxsmt.search.plan.matching import Matches
from jaxsmt.search.weights import Profiles

NO_SPAN = -1
_NARROW_STEP = 64  # cells: a step for batches without wide levels


class Groups(NamedTuple):
    """Rule applications before cells have their final numbers; [G] each.

    cell, gap_one, gap_two: cells as numbers of `Layout`; NO_SPAN where there is no gap.
    rule_list: place in `RuleLists`.
    """

    cell: np.ndarray
    gap_one: np.ndarray
    gap_two: np.ndarray
    rule_list: np.ndarray


@dataclass(frozen=True)
class Layout:
    """Numbers of possible cells of B sentences with `lengths` [B]: S[0..n], end, and X by (start, width).

    A cell's number is base[b] + e for S[e], base[b] + n + 1 for the end, and so on.
    """

    lengths: np.ndarray  # [B]
    max_span: int

    @property
    def base(self) -> np.ndarray:
        """[B + 1]"""
        return np.concatenate([[0], np.cumsum(self.lengths + 2 + self.lengths * self.max_span)]).astype(np.int64)

    def prefix(self, sentence: np.ndarray, end: np.ndarray) -> np.ndarray:
        return self.base[sentence] + end

    def last(self) -> np.ndarray:
        """[B]: the cells of whole sentences."""
        return self.base[:-1] + self.lengths + 1

    def span(self, sentence: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return self.base[sentence] + self.lengths[sentence] + 2 + start * self.max_span + (end - start - 1)

    def describe(self, cell: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of cells [C]: sentence, start, end, and level."""
        sentence = np.searchsorted(self.base, cell, side="right") - 1
        offset = cell - self.base[sentence]
        length = self.lengths[sentence]
        is_span = offset >= length + 2
        start, width = np.divmod(np.where(is_span, offset - length - 2, 0), self.max_span)
        end = np.where(is_span, start + width + 1, np.minimum(offset, length))
        level = np.where(is_span, width + 1, np.where(offset == 0, 0, offset + 1))
        return sentence, start, end, level


@dataclass(frozen=True)
class Plan:
    """A batch ready for the device, and what is needed to read the chart again.

    forest: arrays of static shapes, on the host.
    lists: the rules behind `forest`'s entries.
    cell_sentence, cell_start, cell_end: [C] of the forest's cells.
    last_cells: [B] cells of whole sentences.
    step: the most cells that a step of the device works on; most_groups: no cell has more, see `ChartTiles`.
    """

    forest: Forest
    lists: RuleLists
    cell_sentence: np.ndarray
    cell_start: np.ndarray
    cell_end: np.ndarray
    last_cells: np.ndarray
    step: int
    most_groups: int


@dataclass(frozen=True)
class Sizes:
    """Static sizes of a forest: the device program is compiled once for each."""

    sentences: int = 128
    cells: int = 1 << 14
    groups: int = 1 << 18
    entries: int = 1 << 18  # sentences with mixtures of their own share no rule lists
    rows: int = 1 << 17

    def scaled(self, factor: int, divisor: int = 1) -> "Sizes":
        return Sizes(*(value * factor // divisor for value in vars(self).values()))


def groups_of_matches(layout: Layout, matches: Matches, rule_list: np.ndarray) -> Groups:
    """matches: of sentences 0..B-1; rule_list: [A]."""
    gaps = []
    for number in range(2):
        start, end = matches.gaps[:, number, 0], matches.gaps[:, number, 1]
        gaps.append(np.where(end > 0, layout.span(matches.sentence, start, end), NO_SPAN))
    return Groups(layout.span(matches.sentence, matches.start, matches.end), gaps[0], gaps[1], rule_list)


def glue_groups(layout: Layout, spans: np.ndarray, glue_list: np.ndarray, end_list: np.ndarray) -> Groups:
    """S[k] X[k, e] for all X in `spans` [n] (distinct cells), and S[n] </s>; lists by sentence [B]."""
    sentence, start, end, _ = layout.describe(spans)
    order = np.lexsort((start, end, sentence))
    sentence, start, end, spans = sentence[order], start[order], end[order], spans[order]
    whole = np.arange(len(layout.lengths))
    return Groups(
        np.concatenate([layout.prefix(sentence, end), layout.last()]),
        np.concatenate([layout.prefix(sentence, start), layout.prefix(whole, layout.lengths)]),
        np.concatenate([spans, np.full(len(whole), NO_SPAN)]),
        np.concatenate([glue_list[sentence], end_list]),
    )


def block_groups(
    layout: Layout, spans: np.ndarray, swap_list: np.ndarray, straight_list: np.ndarray, most: int
) -> Groups:
    """X[s, m] X[m, e], swapped and in order, for spans of at most `most` words (inversion transduction, Wu 1997)."""
    exists = np.zeros(int(layout.base[-1]), bool)
    exists[spans] = True
    sentence, start = numbered_runs(layout.lengths)
    parts = []
    for total in range(2, most + 1):  # blocks may be made of blocks
        inside = start + total <= layout.lengths[sentence]
        row, begin = sentence[inside], start[inside]
        cell = layout.span(row, begin, begin + total)
        for width in range(1, total):
            left, right = layout.span(row, begin, begin + width), layout.span(row, begin + width, begin + total)
            both = np.flatnonzero(exists[left] & exists[right])
            for lists in (straight_list, swap_list):
                parts.append(Groups(cell[both], left[both], right[both], lists[row[both]]))
        exists[np.concatenate([cell[:0], *(part.cell for part in parts[-2 * (total - 1) :])])] = True
    return concatenate_groups(parts)


def concatenate_groups(parts: list[Groups]) -> Groups:
    empty = Groups(*(np.zeros(0, np.int64) for _ in range(4)))
    return Groups(*(np.concatenate(columns) for columns in zip(empty, *parts, strict=True)))


class ArrangedCells(NamedTuple):
    """The cells of B sentences in the order they are worked on: by level, those with many groups first.

    sentence, start, end, level, group_class: [C] in that order.
    groups: [G, 4] as `Forest.groups`, by cell; first_group: [1 + B + C + 1] where those of each cell begin.
    starts, last: [B] the cells of <s> and of whole sentences.
    """

    sentence: np.ndarray
    start: np.ndarray
    end: np.ndarray
    level: np.ndarray
    group_class: np.ndarray
    groups: np.ndarray
    first_group: np.ndarray
    starts: np.ndarray
    last: np.ndarray


def arrange_cells(layout: Layout, groups: Groups, lists: RuleLists) -> ArrangedCells:
    """Numbers the cells by level, and sorts groups by cell."""
    cells = sorted_distinct(groups.cell)  # some may be left without groups, and stay empty
    groups = _usable(layout, groups)
    num_sentences = len(layout.lengths)
    sentence, start, end, level = layout.describe(cells)
    counts = np.bincount(np.searchsorted(cells, groups.cell), minlength=len(cells))
    group_class = np.minimum(np.searchsorted(GROUP_CLASSES, counts), len(GROUP_CLASSES) - 1)
    order = np.lexsort((cells, -group_class, level))
    starts = layout.prefix(np.arange(num_sentences), np.zeros(num_sentences, np.int64))
    number = np.full(int(layout.base[-1]) + 1, NO_CELL, np.int32)  # the last place is NO_SPAN's
    number[starts] = 1 + np.arange(num_sentences)
    number[cells[order]] = 1 + num_sentences + np.arange(len(cells))

    by_cell = np.argsort(number[groups.cell], kind="stable")
    table = np.stack(
        [number[groups.gap_one], number[groups.gap_two], lists.first[groups.rule_list], lists.count[groups.rule_list]],
        1,
    )
    table, owner = _at_most(table[by_cell], number[groups.cell][by_cell], lists.score)
    first_group = np.searchsorted(owner, np.arange(1 + num_sentences + len(cells) + 1))
    return ArrangedCells(
        sentence[order],
        start[order],
        end[order],
        level[order],
        group_class[order],
        table,
        first_group,
        number[starts],
        number[layout.last()],
    )


def plan_batch(
    cells: ArrangedCells,
    lists: RuleLists,
    profiles: Profiles,
    start_rows: Sequence[np.ndarray],
    sizes: Sizes,
    most_cells: int = 64,
) -> Plan:
    """Fills everything up to `sizes`; start_rows: of <s>, by language model; most_cells: worked on in one step."""
    num_sentences = len(cells.starts)

    def described(values: np.ndarray, fill_start: np.ndarray) -> np.ndarray:
        return np.concatenate([[0], fill_start, values]).astype(np.int32)

    zeros = np.zeros(num_sentences, np.int64)
    cell_sentence = described(cells.sentence, np.arange(num_sentences))
    profile = profiles.of_sentence[cell_sentence]
    step = min(most_cells, power_of_four(int(np.bincount(cells.level).max(initial=1)), _NARROW_STEP))
    chunks = _chunks(cells.level, cells.group_class, 1 + num_sentences, step)
    num_cells = sizes.cells + step  # the last step may reach beyond the last cell
    ranges = np.stack([cells.first_group[:-1], np.diff(cells.first_group)], 1)
    forest = Forest(
        rows=tuple(filled_rows(rows, sizes.rows) for rows in lists.rows),
        entry_score=filled_rows(lists.score, sizes.entries),
        entry_program=tuple(filled_rows(program, sizes.entries) for program in lists.program),
        groups=filled_rows(cells.groups.astype(np.int32), sizes.groups),
        cell_groups=filled_rows(ranges.astype(np.int32), num_cells),
        lm_weight=filled_rows(profiles.weights.lm[profile].astype(np.float32), num_cells),
        weight_norm=filled_rows(profiles.weights.norm[profile].astype(np.float32), num_cells),
        lm_mixture=tuple(
            None if mixture is None else filled_rows(mixture[profile].astype(np.float32), num_cells)
            for mixture in profiles.lm_mixture
        ),
        start_cells=filled_rows(cells.starts.astype(np.int32), sizes.sentences),
        start_row=tuple(start_rows),
        chunks=filled_rows(chunks, sizes.cells),
        num_chunks=np.int32(len(chunks)),
    )
    places = described(cells.start, zeros), described(cells.end, zeros)
    is_sparse = cells.group_class.max(initial=0) <= GROUP_CLASSES.index(FEW_GROUPS)
    most_groups = FEW_GROUPS if is_sparse else GROUP_CLASSES[-1]
    return Plan(forest, lists, cell_sentence, *places, cells.last, step, most_groups)


def _usable(layout: Layout, groups: Groups) -> Groups:
    """Leaves out groups with a gap that no group fills."""
    exists = np.zeros(int(layout.base[-1]) + 1, bool)
    exists[groups.cell] = True
    exists[layout.prefix(np.arange(len(layout.lengths)), np.zeros(len(layout.lengths), np.int64))] = True
    exists[NO_SPAN] = True
    keep = np.flatnonzero(exists[groups.gap_one] & exists[groups.gap_two])
    return Groups(*(values[keep] for values in groups))


def _at_most(table: np.ndarray, owner: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most the largest class of groups per cell: those whose best rule is best."""
    counts = np.bincount(owner)
    if counts.max(initial=0) <= GROUP_CLASSES[-1]:
        return table, owner
    order = np.lexsort((-score[table[:, FIRST_ENTRY]], owner))
    keep = np.sort(order[ranks_in_runs(owner) < GROUP_CLASSES[-1]])
    return table[keep], owner[keep]


def _chunks(level: np.ndarray, group_class: np.ndarray, first_cell: int, step: int) -> np.ndarray:
    """[J, 3] int32: runs of cells of one level; within a level classes descend, so the first cell has the largest."""
    chunks = []
    bounds = np.flatnonzero(np.diff(level, prepend=-1, append=-1))
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        for at in range(begin, end, step):
            chunks.append((first_cell + at, min(step, end - at), int(group_class[at])))
    return np.array(chunks, np.int32).reshape(-1, 3)
