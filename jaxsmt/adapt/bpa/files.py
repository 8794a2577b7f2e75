"""Votes on disk: what a decoder needs to rerank with, in one safetensors file."""

from pathlib import Path

import numpy as np

from jaxsmt.adapt.bpa.rerank import Votes
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError

_FORMAT = 1


def save_votes(path: str | Path, votes: Votes, feature_names: tuple[str, ...]) -> None:
    """Writes votes and the names of the features that they weight."""
    arrays = {
        "samples": votes.samples, "log_weights": votes.log_weights,
        "settings": np.array([_FORMAT, votes.delta, votes.viterbi], np.float64),
        "feature_names": np.frombuffer("\n".join(feature_names).encode(), np.uint8),
    }  # fmt: skip
    save_arrays(path, arrays)


def load_votes(path: str | Path) -> tuple[Votes, tuple[str, ...]]:
    """Votes and feature names as `save_votes` wrote them."""
    arrays = open_arrays(path)
    if set(arrays) != {"samples", "log_weights", "settings", "feature_names"} or arrays["settings"][0] != _FORMAT:
        raise UserError(f"'{path}' holds no votes of this version: make it again")
    _, delta, viterbi = arrays["settings"].tolist()
    names = tuple(arrays["feature_names"].tobytes().decode().split("\n"))
    return Votes(np.array(arrays["samples"]), np.array(arrays["log_weights"]), delta, bool(viterbi)), names
