"""From lists of n-grams to a model whose tables hold the prefix and the suffix of every n-gram.

Pruned models of other tools may lack them. What is added scores as before: its probability is the one that
backing off gives, its back-off is 0.
"""

from dataclasses import dataclass, replace

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.lm.model import Level, Lm, find_sorted, ngram_keys
from jaxsmt.text.vocabulary import UNKNOWN, Vocabulary


@dataclass(frozen=True)
class RawLevel:
    """The k-grams of a file in any order: words [G, k] int32, log_p and log_backoff [G] float64."""

    rows: np.ndarray
    log_p: np.ndarray
    log_backoff: np.ndarray


def close_model(
    vocabulary: Vocabulary, is_word: np.ndarray, raw: list[RawLevel], log_p_unknown: float, name: str
) -> Lm:
    """Builds the tables; `log_p_unknown` is p(<unk>) where the file has none, `name` is for messages."""
    raw = [*raw[:-1], replace(raw[-1], log_backoff=np.zeros(len(raw[-1].rows)))]  # nothing is longer: nothing to leave
    levels = [_unigrams(raw[0], len(vocabulary), log_p_unknown)]
    for k, level in enumerate(_with_missing(raw[1:]), 2):
        levels.append(_intern(level, levels, len(vocabulary), k, name))
    return Lm(vocabulary, is_word, tuple(levels))


def _unigrams(raw: RawLevel, num_words: int, log_p_unknown: float) -> Level:
    log_p, log_backoff = np.full(num_words, np.nan), np.zeros(num_words)
    log_p[raw.rows[:, 0]], log_backoff[raw.rows[:, 0]] = raw.log_p, raw.log_backoff
    if np.isnan(log_p[UNKNOWN]):
        log_p[UNKNOWN] = log_p_unknown
    log_p = np.where(np.isnan(log_p), log_p[UNKNOWN], log_p).astype(np.float32)
    zeros = np.zeros(num_words, np.int32)
    return Level(zeros, np.arange(num_words, dtype=np.int32), zeros, log_p, log_backoff.astype(np.float32), log_p)


def _with_missing(raw: list[RawLevel]) -> list[RawLevel]:
    """Levels 2, 3, … with absent prefixes and suffixes added, log_p nan where it is to be found by backing off."""
    closed: list[RawLevel] = []
    for level in reversed(raw):
        if closed:
            above = closed[-1].rows
            wanted = np.concatenate([above[:, :-1], above[:, 1:]])
            missing = wanted[~np.isin(_row_hash(wanted), _row_hash(level.rows))]
            missing = np.unique(missing, axis=0)
            level = RawLevel(
                np.concatenate([level.rows, missing]),
                np.concatenate([level.log_p, np.full(len(missing), np.nan)]),
                np.concatenate([level.log_backoff, np.zeros(len(missing))]),
            )
        closed.append(level)
    return closed[::-1]


def _row_hash(rows: np.ndarray) -> np.ndarray:
    """[G] uint64, only to find candidates fast: `_intern` looks everything up by its exact key."""
    number = np.zeros(len(rows), np.uint64)
    for column in rows.T:
        number = (number ^ (number >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64)
    return number


def _intern(raw: RawLevel, levels: list[Level], num_words: int, order: int, name: str) -> Level:
    """One order as a sorted table, with exact links to the order below."""
    keys_below = [ngram_keys(level, num_words) for level in levels]
    prefix = raw.rows[:, 0].astype(np.int64)
    for k in range(1, order - 1):
        prefix = find_sorted(keys_below[k], prefix * num_words + raw.rows[:, k])
    keys = prefix * num_words + raw.rows[:, -1]
    by_key = np.argsort(keys, kind="stable")
    if (np.diff(keys[by_key]) == 0).any():
        raise UserError(f"{name} lists a {order}-gram twice: make the file again")
    prefix, word = prefix[by_key], raw.rows[by_key, -1]
    if order == 2:
        suffix = word.astype(np.int64)
    else:  # the suffix of (prefix, w) is (suffix of prefix, w)
        suffix = find_sorted(keys_below[-1], levels[-1].suffix[prefix].astype(np.int64) * num_words + word)
    assert min(prefix.min(initial=0), suffix.min(initial=0)) >= 0, "two n-grams share a hash"
    backed_off = levels[-1].log_backoff[prefix] + levels[-1].log_p[suffix]
    log_p = np.where(np.isnan(raw.log_p[by_key]), backed_off, raw.log_p[by_key]).astype(np.float32)
    return Level(
        prefix.astype(np.int32), word, suffix.astype(np.int32), log_p, raw.log_backoff[by_key].astype(np.float32), log_p
    )
