"""Whole derivations of phrases as pairs with links, from which their operations follow."""

from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import Ragged, offsets_of, ranges
from jaxsmt.osm.operations import Operations, operations_of
from jaxsmt.osm.phrases import LinkedPhrases
from jaxsmt.osm.table import OperationTable, rarity_by_place
from jaxsmt.text.bitext import Bitext


class PlacedPhrases(NamedTuple):
    """The phrases of H derivations, each derivation's in the order of the output; [T] each.

    owner: the derivation, ascending; phrase: which one; start: where it begins in the source.
    """

    owner: np.ndarray
    phrase: np.ndarray
    start: np.ndarray


def derivation_operations(table: OperationTable, phrases: LinkedPhrases, placed: PlacedPhrases, num: int) -> Operations:
    """The operations of `num` derivations, which cover their sources."""
    pairs, links, begins = _pairs(phrases, placed, num)
    return operations_of(pairs, links, rarity_by_place(table.target), begins)


def _pairs(phrases: LinkedPhrases, placed: PlacedPhrases, num: int) -> tuple[Bitext, Ragged, np.ndarray]:
    """Pairs, their links, and [S'] bool where phrases begin."""
    owner, phrase, start = placed
    source, target, links = (
        part.take(phrase) for part in (phrases.bitext.source, phrases.bitext.target, phrases.links)
    )
    offsets, written = (
        offsets_of(np.bincount(owner, part.lengths, minlength=num).astype(np.int64)) for part in (source, target)
    )
    words = np.zeros(int(offsets[-1]), source.values.dtype)
    words[ranges(offsets[owner] + start, source.lengths)[0]] = source.values
    begins = np.zeros(len(words), bool)
    begins[offsets[owner] + start] = True
    shift = np.stack([start, target.offsets[:-1] - written[owner]], 1)
    by_owner = offsets_of(np.bincount(owner, links.lengths, minlength=num).astype(np.int64))
    shifted = Ragged(links.values + shift[links.row_index].astype(links.values.dtype), by_owner)
    return Bitext(Ragged(words, offsets), Ragged(target.values, written)), shifted, begins
