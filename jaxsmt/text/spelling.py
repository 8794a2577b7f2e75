"""How words are spelt, as arrays: what shows that words of two languages are alike without knowing either."""

import unicodedata

import numpy as np

from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary

SPELLING_WIDTH = 12  # letters that are looked at


def spellings(vocabulary: Vocabulary, width: int = SPELLING_WIDTH) -> np.ndarray:
    """[V, width] uint32 code points of every word's first letters, 0 after its end and for reserved ids.

    Letters are compared without case and accents: NFKD without combining marks, case-folded.
    """
    codes = np.zeros((len(vocabulary), width), np.uint32)
    for number, word in enumerate(vocabulary.words, NUM_RESERVED):
        letters = unicodedata.normalize("NFKD", word.casefold())
        plain = [ord(letter) for letter in letters if not unicodedata.combining(letter)][:width]
        codes[number, : len(plain)] = plain
    return codes
