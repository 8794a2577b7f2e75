"""Where rules were seen: features of a rule that say which components have it, and about how often."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.common.errors import UserError


@dataclass(frozen=True)
class Provenance:
    """For each component one feature for each bin of c_d(s, t), the rule's count there: 1 in the bin, otherwise 0.

    bins: their upper ends, ascending; behind the last there is one more. So () asks only whether c_d(s, t) > 0.
    """

    bins: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        ends = (0.0, *self.bins)
        if not np.isfinite(ends).all() or (np.diff(ends) <= 0).any():
            raise UserError(f"tm.count_bins is {list(self.bins)}: give ascending counts above 0")

    def num_features(self, num_components: int) -> int:
        """X, of D components."""
        return num_components * (len(self.bins) + 1)

    def names(self, components: Sequence[str]) -> tuple[str, ...]:
        """Of the X features, those of a component side by side."""
        ends = ("0", *(f"{end:g}" for end in self.bins))
        return tuple(f"seen in {name} more than {low}" for name in components for low in ends)

    def features(self, joint_counts: np.ndarray) -> np.ndarray:
        """[A, X] float32 of rules with counts [D, A]."""
        num_components, num_rules, num_bins = *joint_counts.shape, len(self.bins) + 1
        number = np.searchsorted(np.array(self.bins), joint_counts, side="left")  # [D, A]
        is_in = (number[..., None] == np.arange(num_bins)) & (joint_counts > 0)[..., None]  # [D, A, bins]
        return is_in.transpose(1, 0, 2).reshape(num_rules, num_components * num_bins).astype(np.float32)
