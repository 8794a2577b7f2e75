"""The scale of weight vectors."""

import numpy as np


def l1_normalised(weights: np.ndarray) -> np.ndarray:
    """Weights [..., F] divided by their L1 norms Σ_f |w_f|; zeros stay."""
    norms = np.abs(weights).sum(-1, keepdims=True)
    return weights / np.where(norms > 0, norms, 1)
