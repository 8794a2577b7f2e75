"""Exact feature vectors: a derivation scored from scratch, without the chart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.search.decoder import Decoder, Request, complete_request
from jaxsmt.search.derivation import GLUE, RULE, UNKNOWN_WORD, Derivation
from jaxsmt.search.weights import GLUE_STEP, UNKNOWN_STEP
from jaxsmt.text.vocabulary import NUM_RESERVED


@dataclass(frozen=True)
class FeatureVectors:
    """Features h of H derivations; their scores are w·h. Definitions as in `SearchWeights`.

    names: of the rule features.
    lm, word_penalty, phrase_penalty, glue, unknown: [H] float64; rule: [H, F] float64.
    score: [H] float64.
    """

    names: tuple[str, ...]
    lm: np.ndarray
    word_penalty: np.ndarray
    phrase_penalty: np.ndarray
    rule: np.ndarray
    glue: np.ndarray
    unknown: np.ndarray
    score: np.ndarray


def rescore(
    decoder: Decoder, request: Request, derivations: Sequence[Derivation], rows: Sequence[int] | None = None
) -> FeatureVectors:
    """The features of derivations of sentences `rows` (one for each sentence unless given)."""
    request = complete_request(request, decoder.rules)
    of = np.arange(len(derivations)) if rows is None else np.asarray(rows, np.int64)
    counts = np.array([_counts(derivation) for derivation in derivations], np.float64).reshape(-1, 4)
    words = [output_lm_ids(decoder, request, row, item) for row, item in zip(of.tolist(), derivations, strict=True)]
    lm = _lm_scores(decoder, request, of, ragged_from_rows(words))
    rule = _rule_sums(decoder, request, of, derivations)
    num_words, num_rules, num_glue, num_unknown = counts.T
    weights = {name: value[of].astype(np.float64) for name, value in vars(request.weights).items()}
    columns = {
        "lm": lm,
        "word_penalty": -(num_words + 2),
        "phrase_penalty": num_rules,
        "glue": num_glue * GLUE_STEP,
        "unknown": num_unknown * UNKNOWN_STEP,
    }
    score = (weights["rule"] * rule).sum(1) + sum(weights[name] * value for name, value in columns.items())
    return FeatureVectors(decoder.rules.grammar.feature_names, rule=rule, score=score, **columns)


def output_lm_ids(decoder: Decoder, request: Request, row: int, derivation: Derivation) -> list[int]:
    """The output in the language model's ids."""
    assert request.copy_ids is not None
    begin = int(request.sentences.offsets[row])
    return [
        int(request.copy_ids[begin - 1 - token]) if token < NUM_RESERVED else int(decoder.lm_ids[token])
        for token in derivation.tokens
    ]


def _counts(derivation: Derivation) -> tuple[int, int, int, int]:
    kinds = [node.kind for node in derivation.nodes]
    return len(derivation.tokens), len(kinds), kinds.count(GLUE), kinds.count(UNKNOWN_WORD)


def _lm_scores(decoder: Decoder, request: Request, of: np.ndarray, words: Ragged) -> np.ndarray:
    """[H] float64: log p of the sentences with </s>."""
    log_p = word_log_probs(decoder.lm.automaton, words)
    values = log_p.values.astype(np.float64)
    if request.lm_mixture is None:
        mixed = values[:, 0]
    else:
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp.reduce(
                values + np.log(request.lm_mixture[of][log_p.row_index].astype(np.float64)), axis=1
            )
    totals = np.zeros(len(words))
    np.add.at(totals, log_p.row_index, mixed)
    return totals


def _rule_sums(decoder: Decoder, request: Request, of: np.ndarray, derivations: Sequence[Derivation]) -> np.ndarray:
    """[H, F] float64."""
    pairs = [[node.pair for node in derivation.nodes if node.kind == RULE] for derivation in derivations]
    owner = np.repeat(np.arange(len(pairs)), [len(part) for part in pairs])
    flat = np.array([pair for part in pairs for pair in part], np.int64)
    values = decoder.rules.features(flat, of[owner], request.mixture).astype(np.float64)
    sums = np.zeros((len(derivations), len(decoder.rules.grammar.feature_names)))
    np.add.at(sums, owner, values)
    return sums
