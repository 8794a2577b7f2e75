"""Minimum Bayes risk over n-best lists (Kumar & Byrne 2004; with BLEU, Ehling, Zens & Ney 2007)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from jaxsmt.adapt.consensus.config import BLEU
from jaxsmt.adapt.consensus.kernels import ListBatch, mean_utilities
from jaxsmt.adapt.consensus.shared_ngrams import SharedItems, shared_items
from jaxsmt.adapt.voting import best_rows
from jaxsmt.common.progress import track
from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.common.sizes import power_of_four, power_of_two
from jaxsmt.evaluate.bleu import ORDER as WORD_ORDER
from jaxsmt.evaluate.chrf import ORDER as CHARACTER_ORDER
from jaxsmt.evaluate.ngrams import ngram_totals
from jaxsmt.evaluate.segments import Interner, characters

_DECIMALS = 5  # of mean utilities: what differs by less is equal, so that rounding decides nothing
_LOWEST = -1e200  # a score: less is as improbable
_LISTS_AT_ONCE = 64  # whose n-grams are numbered together
_CELLS_AT_ONCE = 1 << 22  # of [B, H, max(H, V)]


def posteriors(
    scores: np.ndarray, offsets: np.ndarray, gammas: Sequence[float], systems: np.ndarray | None = None
) -> np.ndarray:
    """[G, K] float64: p ∝ exp(γ · score) of the translations of each list, for every γ; γ = 0 is uniform.

    scores: [K]; those of list b at offsets[b]:offsets[b + 1]. systems: [K] int64, which of several systems each is of:
    p is then the mean of those of the systems that have a list, whose scores need not be comparable.
    """
    lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    systems = np.zeros(len(scores), np.int64) if systems is None else systems
    num_systems = int(systems.max(initial=0)) + 1
    parts, group = np.unique(lists * num_systems + systems, return_inverse=True)  # lists of one system
    share = 1.0 / np.bincount(parts // num_systems, minlength=1)[parts // num_systems]
    finite = np.maximum(scores, _LOWEST)
    highest = np.full(len(parts), _LOWEST)
    np.maximum.at(highest, group, finite)
    weights = np.exp(np.asarray(gammas, np.float64)[:, None] * (finite - highest[group]))
    sums = np.stack([np.bincount(group, row, minlength=len(parts)) for row in weights])
    return weights / sums[:, group] * share[group]


def choose(texts: Sequence[str], offsets: np.ndarray, probabilities: np.ndarray, utility: str) -> np.ndarray:
    """[G, B] int64: of each list the translation of highest mean utility, of equal ones the first; −1 for none."""
    found = expected_utilities(texts, offsets, probabilities, utility, has_bar=True)
    return np.stack([best_rows(row, offsets) for row in found])


def expected_utilities(
    texts: Sequence[str], offsets: np.ndarray, probabilities: np.ndarray, utility: str, has_bar: bool = False
) -> np.ndarray:
    """[G, K] float64: Σ_r p(r) u(h, r) over the list of each translation h, rounded to 5 decimals.

    texts: K translations; those of list b at offsets[b]:offsets[b + 1]. probabilities: [G, K].
    Equal texts of a list are one translation, which has the sum of their probabilities. has_bar: shows progress.
    """
    found = np.zeros(probabilities.shape)
    starts = range(0, len(offsets) - 1, _LISTS_AT_ONCE)
    for first in track(starts, "comparing translations", len(starts)) if has_bar else starts:
        own = offsets[first : first + _LISTS_AT_ONCE + 1]
        part = slice(int(own[0]), int(own[-1]))
        found[:, part] = _block(texts[part], own - own[0], probabilities[:, part], utility)
    return np.round(found, _DECIMALS)


def _block(texts: Sequence[str], offsets: np.ndarray, probabilities: np.ndarray, utility: str) -> np.ndarray:
    number_of: dict[tuple[int, str], int] = {}
    lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)).tolist()
    place = np.array([number_of.setdefault(key, len(number_of)) for key in zip(lists, texts, strict=True)], np.int64)
    owner = np.array([number for number, _ in number_of], np.int64)
    summed = np.stack([np.bincount(place, row, minlength=len(owner)) for row in probabilities])
    counted = _counted([text for _, text in number_of], owner, len(offsets) - 1, summed, utility)
    found = np.zeros((len(probabilities), len(owner)))
    for members, size in counted.groups():
        result = np.asarray(mean_utilities(counted.batch(members, *size), utility))  # [B, G, H]
        for row, number in enumerate(members.tolist()):
            begin, end = counted.offsets[number : number + 2].tolist()
            found[:, begin:end] = result[row, :, : end - begin]
    return found[:, place]


@dataclass(frozen=True)
class _CountedLists:
    """B lists of K different translations: their items by order, n-grams [K, O], tokens [K], posteriors [G, K]."""

    offsets: np.ndarray
    items: list[SharedItems]
    totals: np.ndarray
    lengths: np.ndarray
    posteriors: np.ndarray

    def groups(self) -> Iterator[tuple[np.ndarray, tuple[int, int, int]]]:
        """Lists that go through one kernel together, and (B, H, V) of its arrays, which a list alone decides."""
        sizes = np.diff(self.offsets)
        num_items = np.max([part.num_items for part in self.items], axis=0)
        columns = sizes.tolist(), num_items.tolist()
        bounds = [(power_of_two(h, 8), power_of_four(v, 64)) for h, v in zip(*columns, strict=True)]
        for bound in sorted(set(bounds)):
            members = np.array([row for row, own in enumerate(bounds) if own == bound and sizes[row]], np.int64)
            width = min(max(_CELLS_AT_ONCE // (bound[0] * max(bound)), 1), 32)
            for first in range(0, len(members), width):
                yield members[first : first + width], (width, *bound)

    def batch(self, members: np.ndarray, num_lists: int, num_rows: int, num_items: int) -> ListBatch:
        """The arrays of some lists."""
        size, orders = np.diff(self.offsets)[members], len(self.items)
        rows = np.concatenate([np.arange(*self.offsets[b : b + 2]) for b in members.tolist()])  # [K'] of the members
        own = np.repeat(np.arange(len(members)), size)
        row = np.arange(len(rows)) - np.repeat(np.cumsum(size) - size, size)
        has_item = np.zeros((orders, num_lists, num_rows, num_items), np.uint8)
        num_common = np.zeros((orders, num_lists), np.float32)
        for order, part in enumerate(self.items):
            entries = Ragged(part.items, part.offsets).take(rows)
            at = entries.row_index
            has_item[order, own[at], row[at], entries.values] = 1
            num_common[order, : len(members)] = part.num_common[members]
        totals = np.zeros((orders, num_lists, num_rows), np.float32)
        totals[:, own, row] = self.totals[rows].T
        lengths = np.zeros((num_lists, num_rows), np.float32)
        lengths[own, row] = self.lengths[rows]
        weights = np.zeros((num_lists, len(self.posteriors), num_rows), np.float32)
        weights[own, :, row] = self.posteriors[:, rows].T
        return ListBatch(*map(jnp.asarray, (has_item, num_common, totals, lengths, weights)))


def _counted(
    texts: Sequence[str], owner: np.ndarray, num_lists: int, probabilities: np.ndarray, utility: str
) -> _CountedLists:
    """owner: [K] int64 ascending, the list of each text."""
    is_bleu = utility == BLEU
    max_order = WORD_ORDER if is_bleu else CHARACTER_ORDER
    segments = Interner().encode([text.split() if is_bleu else characters(text) for text in texts])
    offsets = offsets_of(np.bincount(owner, minlength=num_lists))
    items = shared_items(segments, owner, num_lists, max_order)
    return _CountedLists(offsets, items, ngram_totals(segments.lengths, max_order), segments.lengths, probabilities)
