"""How much work the search did."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from jaxsmt.search.chart.structure import NUM_GROUPS, Chart
from jaxsmt.search.plan.forest import Plan

_FOLD_AT = 64


class SearchCounts(NamedTuple):
    """Sentences and source words decoded; cells of the chart or stacks, groups (a source side matched with the cells
    of its gaps, or spans with options), candidates that the language model scored."""

    sentences: int = 0
    words: int = 0
    cells: int = 0
    groups: int = 0
    candidates: int = 0

    def since(self, before: "SearchCounts") -> "SearchCounts":
        """What came after an earlier count."""
        return SearchCounts(*(now - then for now, then in zip(self, before, strict=True)))

    def per_word(self) -> str:
        """For a log: what a source word took."""
        words = max(self.words, 1)
        return (
            f"{self.cells / words:.1f} cells, {self.groups / words:.0f} rule applications and "
            f"{self.candidates / words:.0f} scored candidates a word"
        )


@dataclass
class SearchStatistics:
    """Sums up batches as they come; what the device counts is only fetched when it is asked for."""

    counts: SearchCounts = field(default_factory=SearchCounts)
    waiting: list[Any] = field(default_factory=list)  # numbers of candidates, still on the device

    def add(self, plan: Plan, chart: Chart) -> None:
        """One more batch."""
        words = int(plan.cell_end[plan.last_cells].sum())
        groups = int(np.asarray(plan.forest.cell_groups)[:, NUM_GROUPS].sum())
        cells = len(plan.cell_sentence) - 1 - len(plan.last_cells)
        self.add_counts(SearchCounts(len(plan.last_cells), words, cells, groups), chart.num_scored)

    def add_counts(self, counts: SearchCounts, num_scored: Any) -> None:
        """One more batch; num_scored: candidates, a number that may still be on the device."""
        self.counts = SearchCounts(*(done + more for done, more in zip(self.counts, counts, strict=True)))
        self.waiting.append(num_scored)
        if len(self.waiting) >= _FOLD_AT:
            self.total()

    def total(self) -> SearchCounts:
        """All so far."""
        scored = sum(int(number) for number in self.waiting)
        self.waiting.clear()
        self.counts = self.counts._replace(candidates=self.counts.candidates + scored)
        return self.counts
