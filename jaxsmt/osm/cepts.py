"""Minimal translation units of sentence pairs: cepts, whose target words stand side by side.

Words are known by their places in a whole text: word s of pair r has place offsets[r] + s.
"""

from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import Ragged
from jaxsmt.text.bitext import Bitext


class Units(NamedTuple):
    """U units of a text in the order of the target side: cepts, and target words that nothing is linked to.

    unit_of_target: [T'] int64, of every target place.
    first_target: [U] int64, the first target place of each unit.
    source: [A] int64 ascending, the source places with a link; unit: [A] int64, where they belong.
    """

    unit_of_target: np.ndarray
    first_target: np.ndarray
    source: np.ndarray
    unit: np.ndarray


def units_of(bitext: Bitext, links: Ragged, rarity: np.ndarray) -> Units:
    """The units of all pairs.

    A source word linked to target words that are not side by side keeps those next to the rarest one (of equally rare
    ones the first), as in Durrani, Schmid & Fraser 2011, section 5; what links connect then is a cept.

    links: of the pairs, (source, target). rarity: [V] of target ids, the rarer the higher.
    """
    source, target = _side_by_side(*_places(bitext, links), rarity[bitext.target.values])
    num_targets = len(bitext.target.values)
    is_first = np.diff(source, prepend=-1) > 0
    is_last = np.diff(source, append=-1) != 0
    low, high = target[is_first], target[is_last]  # [A] what each linked source word is linked to
    bounds = np.bincount(low, minlength=num_targets) - np.bincount(high, minlength=num_targets)
    joins_next = np.cumsum(bounds) > 0  # some word is linked to this place and to the next
    begins = np.ones(num_targets, bool)
    begins[1:] = ~joins_next[:-1]
    unit_of_target = np.cumsum(begins) - 1
    return Units(unit_of_target, np.flatnonzero(begins), source[is_first], unit_of_target[low])


def _places(bitext: Bitext, links: Ragged) -> tuple[np.ndarray, np.ndarray]:
    """[T] places of linked words: distinct links by rising source, then target place."""
    row, width = links.row_index, max(len(bitext.target.values), 1)
    values = links.values.reshape(-1, 2).astype(np.int64)
    source, target = (part.offsets[row] + values[:, side] for side, part in enumerate((bitext.source, bitext.target)))
    keys = np.unique(source * width + target)
    return keys // width, keys % width


def _side_by_side(source: np.ndarray, target: np.ndarray, rarity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the links of each source word the run with the rarest target word; rarity: [T'] of target places."""
    if not len(source):
        return source, target
    is_new = np.diff(source, prepend=-1) != 0
    word = np.cumsum(is_new) - 1
    run = np.cumsum(is_new | (np.diff(target, prepend=-2) != 1)) - 1
    own = rarity[target]
    rarest = np.flatnonzero(own == np.maximum.reduceat(own, np.flatnonzero(is_new))[word])
    first = rarest[np.diff(word[rarest], prepend=-1) != 0]
    kept = run == run[first][word]
    return source[kept], target[kept]
