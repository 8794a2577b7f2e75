"""Perplexities of text under language models of any kind: ARPA files, KenLM's binaries, folders of ours."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.lm.arpa import read_arpa
from jaxsmt.lm.automaton import Automaton, load_automaton, to_device
from jaxsmt.lm.kenlm_model import is_kenlm_binary, kenlm_word_log_probs, load_kenlm
from jaxsmt.lm.model import SPECIAL_WORDS, Lm, load_lm
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.lm.union import build_union_automaton
from jaxsmt.pipeline.stages.lms import AUTOMATON, TABLES, VOCABULARY, WEIGHTS
from jaxsmt.text.encoding import TextSide, load_side
from jaxsmt.text.vocabulary import UNKNOWN, load_vocabulary


@dataclass(frozen=True)
class WordScores:
    """log_p: natural log p of the M models for all words and ends of sentences [T, M]; is_known: [T] to any model."""

    log_p: np.ndarray
    is_known: np.ndarray
    num_sentences: int


@dataclass(frozen=True)
class ScoredLm:
    """names: of M models or mixtures of models; score: of lines of raw text."""

    names: tuple[str, ...]
    score: Callable[[Iterable[str]], WordScores]


def opened_lm(path: str, side: TextSide) -> ScoredLm:
    """A model from a file or folder; side: how its text is prepared, unless its folder knows."""
    folder = Path(path)
    if (folder / "lm" / WEIGHTS).is_file():
        return _of_model_folder(folder)
    if (folder / TABLES).is_file():
        return scored({folder.name: load_lm(folder / TABLES, load_vocabulary(folder / VOCABULARY))}, side)
    if side.config.case == "true":
        raise UserError("text.case=true takes its cases from a text, and this model has none: give text cased as it is")
    if folder.is_dir():
        raise UserError(f"'{path}' holds no language model: give an ARPA file, a KenLM binary or a folder of a model")
    if is_kenlm_binary(path):
        model = load_kenlm(path)
        return ScoredLm((folder.name,), lambda lines: _kenlm_scores(model, lines, side))
    return scored({folder.name: read_arpa(path)}, side)


def scored(lms: Mapping[str, Lm], side: TextSide) -> ScoredLm:
    """Models in memory, each alone."""
    automaton, vocabulary = build_union_automaton(list(lms.values()))
    side = dataclasses.replace(side, vocabulary=vocabulary)
    return ScoredLm(tuple(lms), lambda lines: _automaton_scores(automaton, lines, side, np.eye(len(lms))))


def _of_model_folder(folder: Path) -> ScoredLm:
    """The models of a trained system, each alone, and their mixtures for each kind of text."""
    mixture = json.loads((folder / "lm" / WEIGHTS).read_text(encoding="utf-8"))
    names = [str(name) for name in mixture["names"].values()]
    weights = np.concatenate([np.eye(len(names)), np.array(list(mixture["weights"].values()))])  # [M, D]
    automaton = load_automaton(folder / "lm" / AUTOMATON)
    side = dataclasses.replace(load_side(folder, "target"), vocabulary=load_vocabulary(folder / "lm" / VOCABULARY))
    titles = (*names, *(f"mixture {label}" for label in mixture["weights"]))
    return ScoredLm(titles, lambda lines: _automaton_scores(automaton, lines, side, weights))


def _automaton_scores(automaton: Automaton, lines: Iterable[str], side: TextSide, weights: np.ndarray) -> WordScores:
    """log Σ_d λ_d p_d of every word under each of M mixtures, weights [M, D]."""
    sentences = side.encode_lines(lines)
    automaton = to_device(automaton)
    words = word_log_probs(automaton, sentences)
    is_known = np.ones(len(words.values), bool)
    knows = np.asarray(automaton.unigrams)[:, 1] != UNKNOWN
    is_known[np.arange(len(sentences.values)) + sentences.row_index] = knows[sentences.values]
    with np.errstate(divide="ignore"):
        log_p = np.log(np.exp(words.values.astype(np.float64)) @ weights.T)
    return WordScores(log_p, is_known, len(sentences))


def _kenlm_scores(model: Any, lines: Iterable[str], side: TextSide) -> WordScores:
    sentences = [side.preprocess(line) for line in lines]
    log_p = [kenlm_word_log_probs(model, tokens) for tokens in sentences]
    is_known = [np.array([*(_knows(model, token) for token in tokens), True], bool) for tokens in sentences]
    return WordScores(np.concatenate([np.zeros(0), *log_p])[:, None], np.concatenate(is_known), len(sentences))


def _knows(model: Any, token: str) -> bool:
    return token not in SPECIAL_WORDS and token in model


def perplexity_table(lm: ScoredLm, lines: Iterable[str]) -> str:
    """Sizes of the text, then for every model the perplexity per word with and without unknown words.

    exp(−1/T Σ_t log p(w_t | …)), </s> being a word.
    """
    found = lm.score(lines)
    num_unknown = int((~found.is_known).sum())
    width = max(len(name) for name in ("model", *lm.names))
    rows = [
        f"{found.num_sentences} sentences, {len(found.is_known) - found.num_sentences} words, {num_unknown} unknown",
        f"{'model':{width}}  perplexity  of known words",
    ]
    everything, known = (np.exp(-found.log_p[rows_].mean(0)) for rows_ in (slice(None), found.is_known))
    for name, *values in zip(lm.names, everything, known, strict=True):
        rows.append(f"{name:{width}}  {values[0]:10.4f}  {values[1]:14.4f}")
    return "\n".join(rows) + "\n"
