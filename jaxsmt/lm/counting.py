"""Counting n-grams order by order: the key of a k-gram is (number of its prefix, last word) and so fits 64 bits."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jaxsmt.common.cluster.tasks import TaskRunner
from jaxsmt.common.errors import UserError
from jaxsmt.common.grouping import sorted_distinct
from jaxsmt.common.progress import log, track
from jaxsmt.common.ragged import Ragged, numbered_runs
from jaxsmt.lm.counting_tasks import NgramShards, number_keys
from jaxsmt.lm.model import special_word_ids
from jaxsmt.text.vocabulary import NUM_RESERVED, SENTENCE_END, SENTENCE_START, UNKNOWN, Vocabulary

_BYTES_PER_SORTED_KEY = 64  # key, permutation, sorted key, flags, number: the peak inside `number_keys`
_BYTES_PER_NGRAM = 64  # table columns and the float64 columns of the estimation
_BYTES_PER_TOKEN = 32
_SMALLEST_CHUNK = 1 << 18
TOKENS_FOR_TASKS = 1 << 20  # of fewer, counting takes no longer than to hand out tasks


@dataclass(frozen=True)
class CountedLevel:
    """The k-grams of a text, sorted by (prefix, word); columns as in `Level`.

    count: [G] int64, how often each occurs.
    starts: [G] bool, whether w_1 is <s>.
    """

    prefix: np.ndarray
    word: np.ndarray
    suffix: np.ndarray
    count: np.ndarray
    starts: np.ndarray


def sentence_stream(sentences: Ragged, vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """The text as one row: <s> w_1 … w_m </s> <s> …

    Tokens that cannot be words (reserved ids other than UNKNOWN, and words spelled <s>, </s> or <unk>) are left
    out with a warning, as `lmplz --skip_symbols` does. UNKNOWN counts as the word <unk>.
    Returns tokens [T] int32 and each token's distance from its <s> [T] int32.
    """
    is_text = np.ones(len(vocabulary), bool)
    is_text[:NUM_RESERVED] = False
    is_text[UNKNOWN] = True
    is_text[special_word_ids(vocabulary)] = False
    keep = is_text[sentences.values]
    if not keep.all():
        log.warning("%d tokens are spelled <s>, </s> or <unk> or are reserved ids: left out of the LM", (~keep).sum())
    kept = np.concatenate([[0], np.cumsum(keep)])
    lengths = np.diff(kept[sentences.offsets])
    starts = np.cumsum(lengths + 2) - (lengths + 2)
    tokens = np.full(int((lengths + 2).sum()), -1, np.int32)
    tokens[starts] = SENTENCE_START
    tokens[starts + lengths + 1] = SENTENCE_END
    inside = np.ones(len(tokens), bool)
    inside[starts] = inside[starts + lengths + 1] = False
    tokens[inside] = sentences.values[keep]
    _, distance = numbered_runs(lengths + 2)
    return tokens, distance.astype(np.int32)


def count_ngrams(
    sentences: Ragged, vocabulary: Vocabulary, order: int, memory_budget_gb: float, tasks: TaskRunner | None = None
) -> list[CountedLevel]:
    """All n-grams of orders 1 to `order` with <s> as left context and </s> as last word.

    tasks: who counts shards of a large text; None: this process.
    """
    tokens, distance = sentence_stream(sentences, vocabulary)
    num_words = len(vocabulary)
    zeros = np.zeros(num_words, np.int32)
    words = np.arange(num_words, dtype=np.int32)
    levels = [CountedLevel(zeros, words, zeros, np.bincount(tokens, minlength=num_words), words == SENTENCE_START)]
    if tasks is not None and order > 1 and len(tokens) >= TOKENS_FOR_TASKS:
        return levels + list(_counted_by_tasks(tasks, tokens, distance, levels[0], order, memory_budget_gb))
    numbers = tokens  # [T]: the number of the k-gram that ends here
    for k in track(range(2, order + 1), "counting n-grams"):
        ends = np.flatnonzero(distance >= k - 1)
        chunk = _chunk_size(len(tokens), levels, memory_budget_gb, k)
        keys, count, suffix, numbers = _count_order(tokens, numbers, ends, num_words, chunk)
        levels.append(_level(keys, count, suffix, levels[-1], num_words))
    return levels


def _counted_by_tasks(
    tasks: TaskRunner, tokens: np.ndarray, distance: np.ndarray, unigrams: CountedLevel, order: int, budget_gb: float
) -> Iterator[CountedLevel]:
    """The levels from 2 to `order`."""
    levels, num_words = [unigrams], len(unigrams.word)
    with tasks.scratch("ngrams") as folder:
        text = NgramShards(tasks, folder, tokens, distance, num_words)
        for k in range(2, order + 1):
            _chunk_size(text.largest_shard, levels, budget_gb, k)  # says where not even the tables fit
            levels.append(_level(*text.count_order(k, is_last=k == order), levels[-1], num_words))
            yield levels[-1]


def _level(
    keys: np.ndarray, count: np.ndarray, suffix: np.ndarray, below: CountedLevel, num_words: int
) -> CountedLevel:
    prefix, word = np.divmod(keys, num_words)
    prefix = prefix.astype(np.int32)
    return CountedLevel(prefix, word.astype(np.int32), suffix, count, below.starts[prefix])


def _chunk_size(num_tokens: int, levels: list[CountedLevel], budget_gb: float, order: int) -> int:
    """How many positions to sort at once so that the budget holds."""
    tables = _BYTES_PER_NGRAM * sum(len(level.word) for level in levels) + _BYTES_PER_TOKEN * num_tokens
    chunk = int((budget_gb * 1e9 - tables) / (_BYTES_PER_SORTED_KEY + _BYTES_PER_NGRAM))
    if chunk < min(_SMALLEST_CHUNK, num_tokens):
        raise UserError(
            f"the {order}-grams of {num_tokens} tokens need more than memory_budget_gb={budget_gb} "
            f"({tables / 1e9:.2f} GB are taken by the orders below): raise it, or lower the order"
        )
    return max(chunk, _SMALLEST_CHUNK)


def _count_order(
    tokens: np.ndarray, numbers: np.ndarray, ends: np.ndarray, num_words: int, chunk: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """One order: distinct keys [G] ascending, their counts and suffixes [G], and the positions' new numbers [T]."""

    def keys_at(positions: np.ndarray) -> np.ndarray:
        return numbers[positions - 1].astype(np.int64) * num_words + tokens[positions]

    chunks = [ends[at : at + chunk] for at in range(0, len(ends), chunk)]
    distinct = np.zeros(0, np.int64)
    if len(chunks) > 1:
        for positions in chunks:
            distinct = sorted_distinct(np.concatenate([distinct, keys_at(positions)]))
    count, suffix = np.zeros(len(distinct), np.int64), np.zeros(len(distinct), np.int32)
    new_numbers = np.full(len(tokens), -1, np.int32)
    for positions in chunks:
        part, number, part_count = number_keys(keys_at(positions))
        if len(chunks) == 1:
            distinct, count, suffix = part, part_count, np.zeros(len(part), np.int32)
        else:
            place = np.searchsorted(distinct, part)
            count[place] += part_count
            number = place[number]
        new_numbers[positions] = number
        suffix[number] = numbers[positions]  # the same value from every occurrence
    return distinct, count, suffix, new_numbers
