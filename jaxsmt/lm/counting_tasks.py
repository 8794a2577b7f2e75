"""N-grams of a text counted by tasks: shards of whole sentences, their sorted counts merged in pairs until one is left.

Of every order each shard first counts its own n-grams, and then gives its positions the numbers that these have among
all: what the next order is counted by. All are whole numbers, and so no cut changes a bit.
"""

import itertools
from pathlib import Path

import numpy as np

from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.cluster.tasks import SHARDS_PER_WORKER, TaskRunner

TOKENS_PER_SHARD = 10_000_000  # at most
TEXT = "text"
Shard = tuple[int, int]  # the first token, and the one behind the last


class NgramShards:
    """A text as `sentence_stream` lays it out, in a folder that all tasks see.

    tokens, distance: [T] int32; num_words: V.
    """

    def __init__(self, tasks: TaskRunner, folder: Path, tokens: np.ndarray, distance: np.ndarray, num_words: int):
        self.tasks, self.folder, self.num_words = tasks, folder, num_words
        self.shards = _cut(distance, max(SHARDS_PER_WORKER * tasks.num_workers, len(tokens) // TOKENS_PER_SHARD))
        save_arrays(folder / TEXT, {"tokens": tokens, "distance": distance})

    @property
    def largest_shard(self) -> int:
        """Its tokens."""
        return max(end - start for start, end in self.shards)

    def count_order(self, order: int, is_last: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Distinct keys [G] of the n-grams of one order, ascending, their counts and suffixes [G]; orders ascend."""
        told = [(self.folder, order, shard, self.num_words) for shard in self.shards]
        parts = list(self.tasks.run(count_shard, told, f"counting {order}-grams", len(told)))
        merged = self._merged(parts, order)
        if not is_last:
            told_all = [(*each, merged) for each in told]
            list(self.tasks.run(number_shard, told_all, f"numbering {order}-grams", len(told_all)))
        found = {name: np.array(column) for name, column in open_arrays(merged).items()}
        merged.unlink()
        return found["keys"], found["count"], found["suffix"]

    def _merged(self, parts: list[Path], order: int) -> Path:
        """Merges sorted parts in pairs, round by round."""
        turn = 0
        while len(parts) > 1:
            pairs = list(zip(parts[::2], parts[1::2], strict=False))
            told = [(*pair, self.folder / f"merged-{order}-{turn}-{place}") for place, pair in enumerate(pairs)]
            merged = list(self.tasks.run(merge_parts, told, f"merging {order}-grams", len(told)))
            for path in itertools.chain.from_iterable(pairs):
                path.unlink()
            parts, turn = merged + parts[2 * len(pairs) :], turn + 1
        return parts[0]


def _cut(distance: np.ndarray, num_shards: int) -> list[Shard]:
    """Shards of whole sentences, of about equal size; distance: [T] of each token from its <s>."""
    starts = np.flatnonzero(distance == 0)
    wanted = len(distance) * np.arange(1, num_shards) // num_shards
    inner = starts[np.minimum(np.searchsorted(starts, wanted), len(starts) - 1)]
    edges = np.unique(np.concatenate([[0], inner, [len(distance)]])).tolist()
    return list(itertools.pairwise(edges))


def count_shard(folder: Path, order: int, shard: Shard, num_words: int) -> Path:
    """Counts the n-grams of one order in a shard."""
    keys, numbers, positions = _keys(folder, order, shard, num_words)
    distinct, number, count = number_keys(keys)
    suffix = np.zeros(len(distinct), np.int32)
    suffix[number] = numbers[positions]  # the same value from every occurrence
    path = folder / f"part-{order}-{shard[0]}"
    save_arrays(path, {"keys": distinct, "count": count, "suffix": suffix})
    return path


def merge_parts(first: Path, second: Path, output: Path) -> Path:
    """Adds the counts of two sorted parts."""
    parts = open_arrays(first), open_arrays(second)
    keys, count, suffix = (np.concatenate([part[name] for part in parts]) for name in ("keys", "count", "suffix"))
    order = np.argsort(keys, kind="stable")  # of two sorted runs: one pass
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(keys), 1), bool), keys[1:] != keys[:-1]]))
    total = np.add.reduceat(count[order], starts) if len(starts) else count
    save_arrays(output, {"keys": keys[starts], "count": total, "suffix": suffix[order[starts]]})
    return output


def number_shard(folder: Path, order: int, shard: Shard, num_words: int, merged: Path) -> None:
    """Writes the number of the n-gram that ends at each position of a shard, -1 where none does."""
    keys, numbers, positions = _keys(folder, order, shard, num_words)
    found = np.full(len(numbers), -1, np.int32)
    found[positions] = np.searchsorted(open_arrays(merged)["keys"], keys)
    save_arrays(folder / f"numbers-{order}-{shard[0]}", {"numbers": found})


def _keys(folder: Path, order: int, shard: Shard, num_words: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys of the n-grams in a shard, numbers of those one word shorter by position, and where n-grams end."""
    start, end = shard
    text = {name: column[start:end] for name, column in open_arrays(folder / TEXT).items()}
    tokens, distance = text["tokens"], text["distance"]
    numbers = tokens if order == 2 else open_arrays(folder / f"numbers-{order - 1}-{start}")["numbers"]
    positions = np.flatnonzero(distance >= order - 1)
    return numbers[positions - 1].astype(np.int64) * num_words + tokens[positions], numbers, positions


def number_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct keys ascending [G], the number of each key among them [N], and how often each occurs [G]."""
    by_key = np.argsort(keys)
    ordered = keys[by_key]
    is_first = np.ones(len(keys), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    number = np.empty(len(keys), np.int32)
    number[by_key] = np.cumsum(is_first, dtype=np.int32) - 1
    begins = np.flatnonzero(is_first)
    return ordered[begins], number, np.diff(begins, append=len(keys))
