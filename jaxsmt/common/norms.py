"""The scale of weight vectors."""

import numpy as np


def l1_norm(weights: np.ndarray) -> np.ndarray:
    """[...]: Σ_f |w_f| of weights [..., F]."""
    return np.abs(weights).sum(-1)


def l1_normalised(weights: np.ndarray) -> np.ndarray:
    """Weights [..., F] divided by their L1 norms; zeros stay."""
    norms = l1_norm(weights)[..., None]
    return weights / np.where(norms > 0, norms, 1)
