"""n-best lists cut into blocks of equal shape, as the kernels of Bayesian predictive adaptation want them."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxsmt.common.devices.spreading import placed
from jaxsmt.common.errors import UserError
from jaxsmt.common.sizes import power_of_two, within_an_eighth
from jaxsmt.tune.lists import TuningLists

FAR_BELOW = -1e30  # the score of what fills a list: its probability is 0 and its logarithm finite
_SENTENCES = 64  # in a block: enough blocks to keep all cores busy, few calls


@dataclass(frozen=True)
class ListBlock:
    """Up to G sentences with lists of similar size.

    sentences: [G'] int64, G' ≤ G, their places in the lists.
    features: [G, H, F + 1] float32, the features of one hypothesis of the list taken off (small numbers lose less); the
        last column, whose weight is always 1, is 0 for a hypothesis and far below where there is none.
    """

    sentences: np.ndarray
    features: jax.Array


@dataclass(frozen=True)
class BlockedLists:
    """Lists and their blocks; sentences with empty lists are in no block."""

    lists: TuningLists
    blocks: Sequence[ListBlock]


def blocked(lists: TuningLists) -> BlockedLists:
    """Lists for reranking."""
    return BlockedLists(lists, list_blocks(lists, np.zeros(len(lists), np.int64)))


def list_blocks(lists: TuningLists, origins: np.ndarray) -> list[ListBlock]:
    """Cuts lists into blocks, longest lists first, on the devices in turn.

    origins: [B] int64, the hypothesis whose features are taken off.
    """
    check_finite(lists)
    order = np.argsort(-lists.sizes, kind="stable")
    order = order[lists.sizes[order] > 0]
    starts = range(0, len(order), _SENTENCES)
    longest = int(lists.sizes.max(initial=0))
    return [
        ListBlock(some, jnp.asarray(placed(_block_features(lists, some, origins, longest), number)))
        for number, some in enumerate(order[start : start + _SENTENCES] for start in starts)
    ]


def _block_features(lists: TuningLists, sentences: np.ndarray, origins: np.ndarray, longest: int) -> np.ndarray:
    """[G, H, F + 1] float32 of the sentences [G']."""
    size = int(lists.sizes[sentences].max())
    # powers of two, so that few kernels are compiled, but little waste where most lists are: at the longest
    width = min(power_of_two(size), within_an_eighth(longest))
    features = np.zeros((power_of_two(len(sentences)), max(width, 8), lists.num_features + 1), np.float32)
    features[:, :, -1] = FAR_BELOW
    fill_block(features, lists, sentences, origins[sentences])
    return features


def fill_block(features: np.ndarray, lists: TuningLists, sentences: np.ndarray, origins: np.ndarray) -> None:
    """Writes the lists of the sentences [G'] into features [G, H, F + 1], centred on hypotheses `origins` [G']."""
    num, size = len(sentences), int(lists.sizes[sentences].max(initial=0))
    centred = lists.features[sentences, :size] - lists.features[sentences, origins][:, None]
    is_real = lists.is_real[sentences, :size]
    features[:num, :size, :-1] = np.where(is_real[..., None], centred, 0.0)
    features[:num, :size, -1] = np.where(is_real, 0.0, FAR_BELOW)


def check_finite(lists: TuningLists) -> None:
    """Refuses features that are infinite or no numbers: they would spread to all scores."""
    if not np.isfinite(lists.features.sum()):  # one pass; which one it is matters only then
        sentence, _, feature = np.argwhere(~np.isfinite(lists.features))[0]
        name = lists.feature_names[feature]
        raise UserError(f"feature '{name}' of sentence {sentence} is not finite somewhere: repair the n-best list")
