"""Kinds of text: how one is translated, and what a model knows of many."""

from dataclasses import dataclass, field

import numpy as np

from jaxsmt.search.weights import SearchWeights


@dataclass(frozen=True)
class Profile:
    """How one kind of text is translated.

    mixture: component weights λ, [4, D], or [5, D] with those of orientations; [D] where models are mixed as wholes.
    lm_mixtures: for each language model [D] weights of its models, sum 1.
    weights: log-linear weights.
    label: the kind of text, where it has a name.
    """

    mixture: np.ndarray
    lm_mixtures: tuple[np.ndarray, ...]
    weights: SearchWeights
    label: str | None = None


@dataclass(frozen=True)
class LabelSettings:
    """What is known of kinds of text, by label.

    mixtures: component weights, as in `Profile`.
    lm_mixtures: for each language model the weights of its models.
    weights: log-linear weights of labels that were tuned on their own.
    """

    mixtures: dict[str, list] = field(default_factory=dict)
    lm_mixtures: dict[str, list[list[float]]] = field(default_factory=dict)
    weights: dict[str, SearchWeights] = field(default_factory=dict)

    def updated(self, other: "LabelSettings") -> "LabelSettings":
        """All that either knows; where both know something, what the other says."""
        return LabelSettings(
            {**self.mixtures, **other.mixtures},
            {**self.lm_mixtures, **other.lm_mixtures},
            {**self.weights, **other.weights},
        )
