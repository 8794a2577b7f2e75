"""An n-gram model on the host: one table per order, each entry pointing to its prefix and its suffix."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.text.vocabulary import SENTENCE_END, SENTENCE_START, UNKNOWN, Vocabulary

SPECIAL_WORDS = {"<unk>": UNKNOWN, "<s>": SENTENCE_START, "</s>": SENTENCE_END}
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Level:
    """The k-grams of a model, sorted by (prefix, word). G entries; one column per model where there are D.

    prefix: [G] int32, where w_1..w_{k-1} stands in the level below (0 for unigrams).
    word: [G] int32, w_k. Unigrams are indexed by their word: entry w is word w.
    suffix: [G] int32, where w_2..w_k stands in the level below (0 for unigrams).
    log_p: [G] or [G, D] float32, log p(w_k | w_1..w_{k-1}).
    log_backoff: [G] or [G, D] float32, what the context w_1..w_k costs when it is left (0 in the highest order).
    log_rest: [G] or [G, D] float32, log p(w_k | w_1..w_{k-1}) in a model of order k, the best guess for w_k while
        the words left of w_1 are not known (Heafield, Koehn and Lavie 2012, section 3.1); log_p where unknown.
    """

    prefix: np.ndarray
    word: np.ndarray
    suffix: np.ndarray
    log_p: np.ndarray
    log_backoff: np.ndarray
    log_rest: np.ndarray

    def __len__(self) -> int:
        return len(self.word)


@dataclass(frozen=True)
class Lm:
    """An n-gram model with back-off; with every n-gram its prefix and its suffix are in the tables.

    vocabulary: what the word ids mean.
    is_word: [V] bool, the words that the model knows; all others are <unk> to it.
    levels: the n-grams of orders 1, 2, …
    """

    vocabulary: Vocabulary
    is_word: np.ndarray
    levels: tuple[Level, ...]

    @property
    def order(self) -> int:
        return len(self.levels)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many n-grams there are of each order, as an ARPA file states it."""
        return (int(self.is_word.sum()), *(len(level) for level in self.levels[1:]))


def special_word_ids(vocabulary: Vocabulary) -> list[int]:
    """Ordinary ids whose words are spelled <s>, </s> or <unk>: never words to a language model."""
    return [vocabulary.id_of[word] for word in SPECIAL_WORDS if word in vocabulary.id_of]


def ngram_keys(level: Level, num_words: int) -> np.ndarray:
    """[G] int64, ascending: (prefix, word) as one number."""
    return level.prefix.astype(np.int64) * num_words + level.word


def find_sorted(sorted_keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """[N] int64: where each wanted key stands among the ascending keys, -1 where it does not."""
    if not len(sorted_keys):
        return np.full(len(wanted), -1, np.int64)
    place = np.minimum(np.searchsorted(sorted_keys, wanted), len(sorted_keys) - 1)
    return np.where(sorted_keys[place] == wanted, place, -1)


def ngram_rows(levels: tuple[Level, ...], order: int) -> np.ndarray:
    """[G, order] int32: the words of every n-gram of one order."""
    rows = np.empty((len(levels[order - 1]), order), np.int32)
    place = np.arange(len(rows))
    for k in range(order - 1, -1, -1):
        rows[:, k] = levels[k].word[place]
        place = levels[k].prefix[place]
    return rows


def save_lm(lm: Lm, path: str | Path) -> None:
    """Writes the tables to one safetensors file; the vocabulary is stored on its own."""
    arrays = {"format": np.array([FORMAT_VERSION, lm.order], np.int32), "is_word": lm.is_word}
    for k, level in enumerate(lm.levels, 1):
        arrays |= {f"{k}.{name}": array for name, array in vars(level).items()}
    save_arrays(path, arrays)


def load_lm(path: str | Path, vocabulary: Vocabulary) -> Lm:
    """Opens what `save_lm` wrote, memory-mapped."""
    arrays = open_arrays(path)
    if "format" not in arrays or int(arrays["format"][0]) != FORMAT_VERSION or "is_word" not in arrays:
        raise UserError(f"'{path}' is not a language model of this version: delete it and run train.py again")
    if len(arrays["is_word"]) != len(vocabulary):
        raise UserError(
            f"'{path}' has {len(arrays['is_word'])} words and its vocabulary {len(vocabulary)}: "
            "give the vocabulary it was made with"
        )
    names = ("prefix", "word", "suffix", "log_p", "log_backoff", "log_rest")
    levels = [Level(*(arrays[f"{k}.{name}"] for name in names)) for k in range(1, int(arrays["format"][1]) + 1)]
    return Lm(vocabulary, arrays["is_word"], tuple(levels))
