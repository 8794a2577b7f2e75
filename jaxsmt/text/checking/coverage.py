"""Words that a text has and a training text has not."""

from collections.abc import Sequence

import numpy as np

from jaxsmt.text.checking.folding import LinesOfText
from jaxsmt.text.vocabulary import NUM_RESERVED


def unknown_shares(text: LinesOfText, trained: Sequence[LinesOfText]) -> np.ndarray:
    """[D + 1]: the share of a text's running words that each training text lacks, and that all of them lack.

    Only tokens with a letter or digit are words.
    """
    counts = word_counts(text)
    known = np.zeros((len(trained) + 1, len(counts)), bool)
    for row, part in enumerate(trained):
        known[row] = [word in part.vocabulary.id_of for word in text.vocabulary.words]
    known[-1] = known[:-1].any(axis=0)
    return 1 - (known @ counts) / max(counts.sum(), 1)


def word_counts(text: LinesOfText) -> np.ndarray:
    """[V − reserved]: how often each word of the vocabulary occurs in the text; 0 for punctuation."""
    counts = np.bincount(text.rows.values, minlength=len(text.vocabulary))[NUM_RESERVED:]
    return counts * np.array([form != "" for form in text.forms[NUM_RESERVED:]], bool)


def shared_words(texts: Sequence[LinesOfText]) -> np.ndarray:
    """[D, D]: entry (i, j) is the share of the running words of text i that text j has."""
    return np.array([1 - unknown_shares(text, texts)[:-1] for text in texts]).reshape(len(texts), len(texts))
