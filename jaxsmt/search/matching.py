"""Which source sides occur where in a sentence: an array trie, walked by all positions at once."""

from dataclasses import dataclass

import numpy as np

from jaxsmt.text.vocabulary import NUM_RESERVED, PAD

NO_MATCH = -1


@dataclass(frozen=True)
class TrieLevel:
    """The prefixes of one length.

    keys: [n] int64, sorted: (node of the prefix without its last word) << 32 | last word.
    side_index: [n] int32: the source side that ends here, or NO_MATCH.
    A prefix's node is its place in `keys`.
    """

    keys: np.ndarray
    side_index: np.ndarray


def build_trie(sides: np.ndarray) -> list[TrieLevel]:
    """The trie of the sides without gaps, one level per length.

    sides: [Ps, Ls] int32 padded with PAD, distinct.
    """
    is_phrase = ((sides == PAD) | (sides >= NUM_RESERVED)).all(1)
    index = np.flatnonzero(is_phrase).astype(np.int32)
    node = np.zeros(len(index), np.int64)
    levels = []
    for column in range(sides.shape[1]):
        alive = sides[index, column] != PAD
        index, node = index[alive], node[alive]
        keys, node = np.unique(node << 32 | sides[index, column], return_inverse=True)
        side_index = np.full(len(keys), NO_MATCH, np.int32)
        ends = sides[index, column + 1] == PAD if column + 1 < sides.shape[1] else np.ones(len(index), bool)
        side_index[node[ends]] = index[ends]
        levels.append(TrieLevel(keys, side_index))
    return levels


def match_spans(trie: list[TrieLevel], words: np.ndarray) -> np.ndarray:
    """The source side of every span.

    words: [B, N] int32 ids, padded with PAD.
    Returns [B, N, L] int32: the side that equals words[b, n:n + l + 1], or NO_MATCH.
    """
    matches = np.full((*words.shape, len(trie)), NO_MATCH, np.int32)
    node = np.where(words != PAD, 0, NO_MATCH).astype(np.int64)  # every word starts at the root
    for length, level in enumerate(trie):
        last = np.full_like(words, PAD)
        last[:, : words.shape[1] - length] = words[:, length:]
        node = _step(level.keys, node, last)
        matches[:, :, length] = np.where(node >= 0, _take(level.side_index, node), NO_MATCH)
    return matches


def _step(keys: np.ndarray, node: np.ndarray, word: np.ndarray) -> np.ndarray:
    wanted = np.where((node >= 0) & (word >= NUM_RESERVED), node << 32 | word, -1)
    place = np.searchsorted(keys, wanted)
    found = _take(keys, np.minimum(place, len(keys) - 1)) == wanted
    return np.where(found & (wanted >= 0), place, NO_MATCH)


def _take(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    return values[index] if len(values) else np.full(index.shape, NO_MATCH, values.dtype)
