"""The n-grams of D models in one table, with D probabilities each: what exact linear mixtures are made from.

An n-gram that a model lacks gets the probability that the model's back-off gives, so that for every context the
longest n-gram of the union decides and each model's own probability comes out exactly.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.grouping import sorted_distinct
from jaxsmt.lm.automaton import Automaton, pack_levels
from jaxsmt.lm.model import Level, Lm
from jaxsmt.text.vocabulary import UNKNOWN, Vocabulary, merge_vocabularies


def build_union_automaton(lms: Sequence[Lm], rest_costs: bool = True) -> tuple[Automaton, Vocabulary]:
    """One automaton that scores Σ_d λ_d p_d for weights given at scoring time, and the vocabulary of its word ids.

    Models with one and the same vocabulary keep their ids; others are merged.
    """
    vocabulary, is_word, levels = union_levels(lms)
    return pack_levels(levels, np.logical_or.reduce(is_word, axis=1), rest_costs), vocabulary


def union_levels(lms: Sequence[Lm]) -> tuple[Vocabulary, np.ndarray, tuple[Level, ...]]:
    """The merged vocabulary, which model knows which word [V, D] bool, and tables with [G, D] probabilities."""
    lms, vocabulary = _with_one_vocabulary(lms)
    is_word = np.stack([lm.is_word for lm in lms], axis=1)
    _check_unknown(lms, is_word)
    levels = [_union_unigrams(lms, is_word)]
    places = [np.arange(len(vocabulary)) for _ in lms]  # per model, [G_d]: where its n-grams stand in the union
    for k in range(1, max(lm.order for lm in lms)):
        level, places = _union_level(lms, places, levels[-1], len(vocabulary), k)
        levels.append(level)
    return vocabulary, is_word, tuple(levels)


def _with_one_vocabulary(lms: Sequence[Lm]) -> tuple[list[Lm], Vocabulary]:
    vocabulary = lms[0].vocabulary
    if all(lm.vocabulary is vocabulary or lm.vocabulary.words == vocabulary.words for lm in lms):
        return list(lms), vocabulary
    merged, maps = merge_vocabularies([lm.vocabulary for lm in lms])
    return [_rename_words(lm, merged, new_ids) for lm, new_ids in zip(lms, maps, strict=True)], merged


def _rename_words(lm: Lm, vocabulary: Vocabulary, new_ids: np.ndarray) -> Lm:
    """The model with the ids of another vocabulary. Orders 2 and up keep their places and so are no longer sorted."""
    unigrams = lm.levels[0]
    is_word = np.zeros(len(vocabulary), bool)
    is_word[new_ids] = lm.is_word
    zeros = np.zeros(len(vocabulary), np.int32)
    columns = []
    for values in (unigrams.log_p, unigrams.log_backoff, unigrams.log_rest):
        column = np.full(len(vocabulary), values[UNKNOWN], np.float32)
        column[new_ids] = values
        columns.append(column)
    levels = [Level(zeros, np.arange(len(vocabulary), dtype=np.int32), zeros, *columns)]
    for k, level in enumerate(lm.levels[1:], 2):
        links = {"prefix": new_ids[level.prefix], "suffix": new_ids[level.suffix]} if k == 2 else {}
        levels.append(replace(level, word=new_ids[level.word], **links))
    return Lm(vocabulary, is_word, tuple(levels))


def _check_unknown(lms: Sequence[Lm], is_word: np.ndarray) -> None:
    """Where <unk> stands in n-grams, words that only other models know would stand there too: one n-gram for each."""
    for d, lm in enumerate(lms):
        has_unknown = any((level.word == UNKNOWN).any() or (k == 1 and (level.prefix == UNKNOWN).any())
                          for k, level in enumerate(lm.levels) if k)  # fmt: skip
        if has_unknown and not is_word[is_word.any(axis=1), d].all():
            raise UserError(
                f"language model {d + 1} of {len(lms)} has n-grams with <unk> and lacks words of the others, "
                "so no table holds their mixture: estimate all models with one vocabulary, or without <unk> in the text"
            )


def _union_unigrams(lms: Sequence[Lm], is_word: np.ndarray) -> Level:
    """To a model that does not know a word, the word is <unk>."""
    num_words = len(is_word)
    zeros = np.zeros(num_words, np.int32)
    own = np.where(is_word, np.arange(num_words)[:, None], UNKNOWN)
    levels = [lm.levels[0] for lm in lms]
    columns = [
        np.stack([getattr(level, name)[own[:, d]] for d, level in enumerate(levels)], axis=1)
        for name in ("log_p", "log_backoff", "log_rest")
    ]
    return Level(zeros, np.arange(num_words, dtype=np.int32), zeros, *columns)


def _union_level(
    lms: Sequence[Lm], places: list[np.ndarray], below: Level, num_words: int, k: int
) -> tuple[Level, list[np.ndarray]]:
    """Order k + 1 of the union, and where each model's n-grams of that order stand in it."""
    tables = [lm.levels[k] if k < lm.order else None for lm in lms]
    keys = [
        np.zeros(0, np.int64) if table is None else place[table.prefix].astype(np.int64) * num_words + table.word
        for table, place in zip(tables, places, strict=True)
    ]
    all_keys = sorted_distinct(np.concatenate(keys))
    new_places = [np.searchsorted(all_keys, model_keys) for model_keys in keys]
    prefix, word = np.divmod(all_keys, num_words)
    suffix = np.zeros(len(all_keys), np.int32)
    for table, place, new_place in zip(tables, places, new_places, strict=True):
        if table is not None:
            suffix[new_place] = place[table.suffix]
    log_p = below.log_backoff[prefix] + below.log_p[suffix]  # [G, D], for the models that lack the n-gram
    log_backoff, log_rest = np.zeros_like(log_p), log_p.copy()
    for d, (table, new_place) in enumerate(zip(tables, new_places, strict=True)):
        if table is not None:
            log_p[new_place, d], log_rest[new_place, d] = table.log_p, table.log_rest
            log_backoff[new_place, d] = table.log_backoff
    level = Level(prefix.astype(np.int32), word.astype(np.int32), suffix, log_p, log_backoff, log_rest)
    return level, new_places
