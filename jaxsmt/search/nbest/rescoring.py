"""Exact feature vectors: derivations scored from scratch, without the chart."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.search.chart.rows import LINEAR, LOG_LINEAR, SearchLm
from jaxsmt.search.decoder import Decoder, Request, complete_request
from jaxsmt.search.nbest.derivation import GLUE, RULE, START, SWAP, UNKNOWN_WORD, Derivation
from jaxsmt.search.rules.model import RuleModel, num_orientations
from jaxsmt.search.stack.features import Phrases, reordering_features
from jaxsmt.search.stack.operations.programs import operation_features
from jaxsmt.search.weights import GLUE_STEP, UNKNOWN_STEP
from jaxsmt.text.vocabulary import NUM_RESERVED


@dataclass(frozen=True)
class FeatureVectors:
    """Features h of H derivations; their scores are w·h. Definitions as in `SearchWeights`.

    names: of the rule features; lm_names: of the M features of language models.
    word_penalty, phrase_penalty, glue, swap, unknown, distortion: [H] float64.
    lm: [H, M] float64; rule: [H, F]; reordering: [H, O].
    score: [H] float64.
    """

    names: tuple[str, ...]
    lm_names: tuple[str, ...]
    lm: np.ndarray
    word_penalty: np.ndarray
    phrase_penalty: np.ndarray
    rule: np.ndarray
    glue: np.ndarray
    swap: np.ndarray
    unknown: np.ndarray
    score: np.ndarray
    distortion: np.ndarray
    reordering: np.ndarray


@dataclass(frozen=True)
class DerivationCounts:
    """What the rules of H derivations add up to.

    rule: [H, F] float64, sums of the rules' features.
    num_rules, num_glue, num_swaps, num_unknown: [H], all rule applications (S → <s> too), those of glue, swapped
      blocks, unknown words.
    distortion, reordering: [H] and [H, O] float64, 0 from a chart.
    operations: [H, 1] float64, log p of operations, if there is a model of them, or [H, 0].
    """

    rule: np.ndarray
    num_rules: np.ndarray
    num_glue: np.ndarray
    num_swaps: np.ndarray
    num_unknown: np.ndarray
    distortion: np.ndarray
    reordering: np.ndarray
    operations: np.ndarray


def rescore(
    decoder: Decoder, request: Request, derivations: Sequence[Derivation], rows: Sequence[int] | None = None
) -> FeatureVectors:
    """The features of derivations of sentences `rows` (one for each sentence unless given)."""
    request = complete_request(request, decoder.rules, decoder.lms)
    of = np.arange(len(derivations)) if rows is None else np.asarray(rows, np.int64)
    tokens = ragged_from_rows([derivation.tokens for derivation in derivations])
    counts_fn = _chain_counts if decoder.makes_chains else _tree_counts
    return feature_vectors(decoder, request, of, tokens, counts_fn(decoder, request, of, derivations))


def feature_vectors(
    decoder: Decoder, request: Request, of: np.ndarray, tokens: Ragged, counts: DerivationCounts
) -> FeatureVectors:
    """The features of derivations of sentences `of` [H] with output `tokens`; the request is complete."""
    weights = {name: value[of].astype(np.float64) for name, value in vars(request.weights).items()}
    columns = {
        "word_penalty": -(tokens.lengths + float(decoder.end_words)),
        "phrase_penalty": counts.num_rules.astype(np.float64),
        "glue": counts.num_glue * GLUE_STEP,
        "swap": counts.num_swaps.astype(np.float64),
        "unknown": counts.num_unknown * UNKNOWN_STEP,
        "distortion": counts.distortion,
    }
    vectors = {
        "rule": counts.rule,
        "lm": np.concatenate([lm_features(decoder, request, of, tokens), counts.operations], 1),
        "reordering": counts.reordering,
    }
    score = sum((weights[name] * value).sum(1) for name, value in vectors.items())
    score = score + sum(weights[name] * value for name, value in columns.items())
    return FeatureVectors(decoder.rules.grammar.feature_names, decoder.lm_names, score=score, **vectors, **columns)


def features_at(features: FeatureVectors, rows: np.ndarray) -> FeatureVectors:
    """The features of some derivations."""
    columns = {name: value for name, value in vars(features).items() if name not in ("names", "lm_names")}
    return replace(features, **{name: value[rows] for name, value in columns.items()})


def no_reordering(rules: RuleModel, num: int) -> tuple[np.ndarray, np.ndarray]:
    """Distortion [num] and orientations [num, O] of derivations from a chart."""
    return np.zeros(num), np.zeros((num, num_orientations(rules)))


def lm_features(decoder: Decoder, request: Request, of: np.ndarray, tokens: Ragged) -> np.ndarray:
    """[H, M] float64: log p of the outputs of sentences `of` [H], with </s>, under each language model."""
    words = lm_word_features(decoder, request, of, tokens)
    return np.add.reduceat(words.values, words.offsets[:-1]) if len(of) else words.values  # a row has </s> at least


def lm_word_features(decoder: Decoder, request: Request, of: np.ndarray, tokens: Ragged) -> Ragged:
    """[T + H, M] float64: the same of each word, and of </s> at the end of each row."""
    parts = []
    for number, own in enumerate(decoder.targets):
        log_p = word_log_probs(own.lm.automaton, lm_words(number, own.lm_ids, request, of, tokens))
        parts.append(_lm_values(own.lm, log_p, None if (given := request.lm_mixture[number]) is None else given[of]))
    return Ragged(np.concatenate(parts, 1), log_p.offsets)


def _lm_values(lm: SearchLm, log_p: Ragged, lm_mixture: np.ndarray | None) -> np.ndarray:
    """[T, F] float64: the features of words, from log p [T, D] and mixtures of the rows."""
    values = log_p.values.astype(np.float64)
    if lm.combination == LOG_LINEAR:
        return values
    mixed = values[:, :1]
    if lm_mixture is not None:
        with np.errstate(divide="ignore"):
            weights = np.log(lm_mixture.astype(np.float64))
        mixed = np.logaddexp.reduce(values + weights[log_p.row_index], axis=1, keepdims=True)
    return mixed if lm.combination == LINEAR else np.concatenate([mixed, values], 1)


def lm_words(number: int, lm_ids: np.ndarray, request: Request, of: np.ndarray, tokens: Ragged) -> Ragged:
    """The outputs in the ids of language model `number`."""
    assert request.copy_ids is not None
    first = np.repeat(request.sentences.offsets[:-1][of], tokens.lengths)
    is_copied = tokens.values < NUM_RESERVED  # -1 - n: source word n
    words = lm_ids[np.maximum(tokens.values, 0)]
    words[is_copied] = request.copy_ids[(first - 1 - tokens.values)[is_copied], number]
    return Ragged(words, tokens.offsets)


def _tree_counts(
    decoder: Decoder, request: Request, of: np.ndarray, derivations: Sequence[Derivation]
) -> DerivationCounts:
    """Of derivations of the chart search."""
    kinds = [[node.kind for node in derivation.nodes] for derivation in derivations]
    columns = [(len(own), own.count(GLUE), own.count(SWAP), own.count(UNKNOWN_WORD)) for own in kinds]
    num_rules, num_glue, num_swaps, num_unknown = np.array(columns, np.int64).reshape(-1, 4).T
    return DerivationCounts(
        _rule_sums(decoder, request, of, derivations),
        num_rules,
        num_glue,
        num_swaps,
        num_unknown,
        *no_reordering(decoder.rules, len(derivations)),
        np.zeros((len(derivations), 0)),
    )


def _chain_counts(
    decoder: Decoder, request: Request, of: np.ndarray, derivations: Sequence[Derivation]
) -> DerivationCounts:
    """Of derivations of the stack search, which are chains of phrases."""
    chains = [[node for node in reversed(derivation.nodes) if node.kind != START] for derivation in derivations]
    columns = [
        (owner, node.pair, node.start, node.end, node.kind) for owner, chain in enumerate(chains) for node in chain
    ]
    owner, pair, start, end, kind = np.array(columns, np.int64).reshape(-1, 5).T
    num, none = len(derivations), np.zeros(len(derivations), np.int64)
    phrases = Phrases(owner, pair, start, end)
    size = np.array([len(node.target.tokens) - 1 for chain in chains for node in chain], np.int64)  # without X1
    return DerivationCounts(
        _rule_sums(decoder, request, of, derivations),
        np.bincount(owner, minlength=num),
        none,
        none,
        np.bincount(owner[kind == UNKNOWN_WORD], minlength=num),
        *reordering_features(decoder.rules, phrases, of, request.mixture),
        operation_features(decoder.operations, phrases, size > 0, _last_mixture(request, of), num),
    )


def _last_mixture(request: Request, of: np.ndarray) -> np.ndarray | None:
    """[H, D] of the last model, that of operations if there is one."""
    mixture = request.lm_mixture[-1]
    return None if mixture is None else mixture[of]


def _rule_sums(decoder: Decoder, request: Request, of: np.ndarray, derivations: Sequence[Derivation]) -> np.ndarray:
    """[H, F] float64."""
    pairs = [[node.pair for node in derivation.nodes if node.kind == RULE] for derivation in derivations]
    owner = np.repeat(np.arange(len(pairs)), [len(part) for part in pairs])
    flat = np.array([pair for part in pairs for pair in part], np.int64)
    values = decoder.rules.features(flat, of[owner], request.mixture).astype(np.float64)
    sums = np.zeros((len(derivations), len(decoder.rules.grammar.feature_names)))
    np.add.at(sums, owner, values)
    return sums
