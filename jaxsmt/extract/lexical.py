"""Counted word pairs, from which both directions of the lexical weights come."""

import numpy as np

from jaxsmt.common.ragged import Ragged
from jaxsmt.extract.counts import LexicalCounts
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import PAD


def count_words(bitext: Bitext, links: Ragged, num_source_words: int, num_target_words: int) -> LexicalCounts:
    """Counts linked word pairs; a word without a link counts as linked to NULL (PAD).

    Args:
      bitext, links: the corpus and its links [T, 2] (source, target).
      num_source_words, num_target_words: Vs and Vt, the sizes of the vocabularies with the reserved ids.
    """
    source, target = _linked_words(bitext, links)
    key, counts = np.unique(source.astype(np.int64) << 32 | target, return_counts=True)
    pairs = np.stack([key >> 32, key & 0xFFFFFFFF], axis=1).astype(np.int32)
    return LexicalCounts(
        word_pairs=pairs,
        joint_counts=counts.astype(np.float32),
        source_counts=np.bincount(pairs[:, 0], counts, num_source_words).astype(np.float32),
        target_counts=np.bincount(pairs[:, 1], counts, num_target_words).astype(np.float32),
    )


def _linked_words(bitext: Bitext, links: Ragged) -> tuple[np.ndarray, np.ndarray]:
    """The source and target words of all links, those with NULL included."""
    row = links.row_index
    source = bitext.source.offsets[row] + links.values[:, 0]
    target = bitext.target.offsets[row] + links.values[:, 1]
    lone_source = np.ones(len(bitext.source.values), bool)
    lone_source[source] = False
    lone_target = np.ones(len(bitext.target.values), bool)
    lone_target[target] = False
    source_words, target_words = bitext.source.values, bitext.target.values
    no_target = np.full(int(lone_source.sum()), PAD, np.int32)
    no_source = np.full(int(lone_target.sum()), PAD, np.int32)
    return (
        np.concatenate([source_words[source], source_words[lone_source], no_source]),
        np.concatenate([target_words[target], no_target, target_words[lone_target]]),
    )
