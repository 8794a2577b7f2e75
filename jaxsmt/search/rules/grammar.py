"""The rules as the search sees them: source sides to match, targets as runs of words and gaps."""

from collections.abc import Iterator
from dataclasses import dataclass

import jax
import numpy as np

from jaxsmt.common.grouping import sorted_distinct
from jaxsmt.common.ragged import offsets_of, ranks_in_runs
from jaxsmt.common.sizes import rounded_size
from jaxsmt.search.chart.rows import SearchLm, columns_of, empty_row, score_runs
from jaxsmt.search.chart.structure import FIRST_GAP, MAX_PARTS, SECOND_GAP
from jaxsmt.search.plan.matching import TrieLevel, build_trie
from jaxsmt.text.vocabulary import NONTERMINALS, PAD, Vocabulary
from jaxsmt.tm.features import LOG_FLOOR
from jaxsmt.tm.scored import ScoredTable
from jaxsmt.tm.union import UnionView
from jaxsmt.tm.weights import FEATURE_NAMES

_CHUNK_SIZES = (64, 1024, 16384)  # runs that are scored at once
_RUN_WIDTH = 8  # words of a run, at least: one shape for nearly all


@dataclass(frozen=True)
class Grammar:
    """P rules of Ps source sides and Pt target sides."""

    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    trie: list[TrieLevel]
    source_sides: np.ndarray  # [Ps, Ls] int32
    first_pair: np.ndarray  # [Ps + 1] int64: the pairs of side s are first_pair[s]..first_pair[s + 1] - 1
    target_index: np.ndarray  # [P] int32
    target_sides: np.ndarray  # [Pt, Lt] int32
    links_by_target: np.ndarray  # [P, Lt] uint16
    feature_names: tuple[str, ...]

    @property
    def num_pairs(self) -> int:
        return len(self.target_index)


def _grammar(
    table: UnionView | ScoredTable, source_index: np.ndarray, target_index: np.ndarray, names: tuple[str, ...]
) -> Grammar:
    counts = np.bincount(source_index, minlength=len(table.source_sides))
    return Grammar(
        table.source_vocabulary,
        table.target_vocabulary,
        build_trie(table.source_sides),
        table.source_sides,
        offsets_of(counts),
        target_index,
        table.target_sides,
        table.links_by_target,
        names,
    )


def grammar_of_union(union: UnionView) -> Grammar:
    """The rules of D components; features come from `jaxsmt.tm.features.application_features`."""
    return _grammar(union, union.statistics.source_index, union.statistics.target_index, FEATURE_NAMES)


def grammar_of_table(table: ScoredTable) -> tuple[Grammar, np.ndarray]:
    """The rules of a table with fixed scores, and their logarithms [P, F] float32."""
    scores = np.asarray(table.scores, np.float64)
    logs = np.full(scores.shape, LOG_FLOOR, np.float32)
    np.log(scores, out=logs, where=scores > 0, casting="same_kind")
    logs = np.maximum(logs, LOG_FLOOR)
    num = len(logs[0]) if len(logs) else len(FEATURE_NAMES)
    names = FEATURE_NAMES if num == len(FEATURE_NAMES) else tuple(f"score {n + 1}" for n in range(num))
    return _grammar(table, table.source_index, table.target_index, names), logs


@dataclass(frozen=True)
class Programs:
    """Target sides cut into runs of words and gaps, with the runs scored by the language model.

    rows: [S, width] int32, one for each distinct run; row 0 is the empty run.
    program: [Pt, MAX_PARTS] int32: rows of runs, FIRST_GAP or SECOND_GAP, then 0.
    estimate: [Pt, F] float32: Σ log p of the words, each run on its own, open words by their rest costs.
    log_p: [Pt, F] float32: the same by their plain log p.
    num_words: [Pt] int32.
    """

    rows: np.ndarray
    program: np.ndarray
    estimate: np.ndarray
    log_p: np.ndarray
    num_words: np.ndarray


def compile_targets(lm: SearchLm, sides: np.ndarray, lm_mixture: np.ndarray | None = None) -> Programs:
    """Compiles target sides [Pt, Lt] int32 (ids of the language model's vocabulary) for one mixture [D] of models."""
    runs, program = _cut(sides)
    rows = np.zeros((len(runs), columns_of(lm).width), np.int32)
    rows[0] = empty_row(lm)
    log_p = np.zeros((2, lm.num_features, len(runs)), np.float32)  # estimated, plain
    for index, size in _chunks((runs != PAD).sum(1)):
        words = np.zeros((size, rounded_size(runs.shape[1], _RUN_WIDTH)), np.int32)
        words[: len(index), : runs.shape[1]] = runs[index]
        mixture = None if lm_mixture is None else np.broadcast_to(lm_mixture, (size, len(lm_mixture)))
        longest = np.int32((runs[index[-1]] != PAD).sum())
        found_rows, *found = jax.device_get(score_runs(lm, words, longest, mixture))
        rows[index], log_p[:, :, index] = found_rows[: len(index)], np.stack(found)[:, :, : len(index)]
    is_word = (sides != PAD) & (sides != NONTERMINALS[0]) & (sides != NONTERMINALS[1])
    totals = np.where(program > 0, log_p[:, :, np.maximum(program, 0)], 0).sum(3, dtype=np.float32)
    estimate, plain = (np.ascontiguousarray(part.T) for part in totals)
    return Programs(rows, program, estimate, plain, is_word.sum(1).astype(np.int32))


def _chunks(lengths: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Runs by rising length, without empty ones, in chunks of few sizes: indexes and the size of their arrays."""
    order = np.argsort(lengths, kind="stable")
    order = order[np.count_nonzero(lengths == 0) :]
    size = next((size for size in _CHUNK_SIZES if len(order) <= 4 * size), _CHUNK_SIZES[-1])
    for start in range(0, len(order), size):
        yield order[start : start + size], size


def compile_by_mixture(lm: SearchLm, sides: np.ndarray, mixture_index: np.ndarray, lm_mixture: np.ndarray) -> Programs:
    """`compile_targets` where side n is scored by row mixture_index[n] of the mixtures [U, D]."""
    if not len(sides):
        return compile_targets(lm, sides, lm_mixture[0])
    order, parts, num_rows = [], [], 0
    for number, mixture in enumerate(lm_mixture):
        index = np.flatnonzero(mixture_index == number)
        if len(index):
            part = compile_targets(lm, sides[index], mixture)
            shifted = np.where(part.program > 0, part.program + num_rows, part.program)
            parts.append(Programs(part.rows, shifted, part.estimate, part.log_p, part.num_words))
            order.append(index)
            num_rows += len(part.rows)
    back = np.argsort(np.concatenate(order))
    columns = {field: np.concatenate([getattr(part, field) for part in parts]) for field in vars(parts[0])}
    return Programs(**{field: values if field == "rows" else values[back] for field, values in columns.items()})


def _cut(sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct runs of words [S, Lt], the empty one first, and programs [Pt, MAX_PARTS]."""
    num_sides, width = sides.shape
    is_gap = (sides == NONTERMINALS[0]) | (sides == NONTERMINALS[1])
    is_word = (sides != PAD) & ~is_gap
    before = np.zeros_like(is_word)
    before[:, 1:] = is_word[:, :-1]
    begins = is_gap | (is_word & ~before)  # a part begins here
    part = np.cumsum(begins, 1) - 1  # [Pt, Lt]
    row, column = np.nonzero(is_word)
    key = row * MAX_PARTS + part[row, column]
    run_of = np.zeros(num_sides * MAX_PARTS, np.int64)
    filled = sorted_distinct(key)
    words = np.zeros((len(filled) + 1, max(width, 1)), np.int32)
    place = np.searchsorted(filled, key)
    words[place + 1, ranks_in_runs(key)] = sides[row, column]
    runs, run = np.unique(words, axis=0, return_inverse=True)
    run_of[filled] = run.reshape(-1)[1:]
    program = run_of.reshape(num_sides, MAX_PARTS).astype(np.int32)
    row, column = np.nonzero(is_gap)
    program[row, part[row, column]] = np.where(sides[row, column] == NONTERMINALS[0], FIRST_GAP, SECOND_GAP)
    return runs, program
