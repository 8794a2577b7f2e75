"""What extraction gives: counted phrase pairs or rules, and counted word pairs."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RuleCounts:
    """Counted phrase pairs or rules of one corpus, sorted by (source side, target side).

    A side is a row of word ids, padded with PAD; gaps are the ids NONTERMINALS (X1, X2, numbered in
    source order). A phrase pair is a rule without gaps. Ps source sides, Pt target sides, P pairs.
    """

    source_sides: np.ndarray  # [Ps, Ls] int32, distinct, in lexicographic order of ids
    target_sides: np.ndarray  # [Pt, Lt] int32, likewise
    source_index: np.ndarray  # [P] int32 into source_sides
    target_index: np.ndarray  # [P] int32 into target_sides; pairs are distinct, sorted by both indices
    joint_counts: np.ndarray  # [P] float32 c(s, t); whole numbers, or fractions for rules
    source_counts: np.ndarray  # [Ps] float32 marginals c(s)
    target_counts: np.ndarray  # [Pt] float32 marginals c(t)
    links_by_target: np.ndarray  # [P, Lt] uint16: bit i of entry j = target symbol j is linked to source symbol i
    links_by_source: np.ndarray  # [P, Ls] uint16: bit j of entry i, likewise; can differ from the above in ties
    orientation_counts: np.ndarray | None  # [P, 6] float32: previous mono, swap, other; next likewise; None for rules

    def __len__(self) -> int:
        """P."""
        return len(self.source_index)


@dataclass(frozen=True)
class LexicalCounts:
    """Counted word links of one corpus; the word PAD is NULL, the partner of unaligned words."""

    word_pairs: np.ndarray  # [L, 2] int32 (source word, target word), sorted, distinct
    joint_counts: np.ndarray  # [L] float32
    source_counts: np.ndarray  # [Vs] float32: the pairs with that source word, at PAD those of NULL
    target_counts: np.ndarray  # [Vt] float32

    def __len__(self) -> int:
        """L."""
        return len(self.word_pairs)
