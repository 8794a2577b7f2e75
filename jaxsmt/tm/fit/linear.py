"""Linear mixture: weights λ on the simplex of the components' own features, by EM (Foster & Kuhn 2007).

    p(x|y) = Σ_m λ_m p_m(x|y), Σ_m λ_m = 1; one λ for each of the four features
A component that lacks a pair gives it probability 0. In the normalised variant only the components that know the
conditioning phrase y take part, and their weights are scaled to sum to 1.
"""

import numpy as np

from jaxsmt.common.devices.spreading import placed
from jaxsmt.common.errors import UserError
from jaxsmt.tm.component_table import ComponentTable
from jaxsmt.tm.features import component_features
from jaxsmt.tm.fit.config import LinearConfig
from jaxsmt.tm.fit.development import DevelopmentPairs
from jaxsmt.tm.fit.linear_em import EmProblem, EmState, build_em, log_of, run_em
from jaxsmt.tm.fit.results import FeatureFit, MixtureFit, check_development, fit_pieces, join_features
from jaxsmt.tm.weights import FEATURE_NAMES, check_feature_weights


def fit_linear(
    development: DevelopmentPairs,
    config: LinearConfig | None = None,
    table: ComponentTable | None = None,
    prior_weights: object = None,
) -> MixtureFit:
    """Weights λ [S, 4, D] of the linear mixture that give the development pairs the greatest likelihood.

    Args:
      development: from `development_pairs`.
      config: when to stop, and the variant.
      table: each component with features of its own, made from the same union; without it lexical weights use the
        alignment that the union has for the pair.
      prior_weights: [4, D] or [S, 4, D] to which the prior counts are proportional; equal if None.
    """
    config = config or LinearConfig()
    check_development(development)
    if table is None:
        features = component_features(development.statistics, np.arange(len(development)))
    else:
        features = own_features(table, development.pair_index)
    is_known = known_phrases(development) if config.normalised else None
    return fit_linear_features(development, features, is_known, config, prior_weights)


def fit_linear_features(
    development: DevelopmentPairs,
    log_features: np.ndarray,
    is_known: np.ndarray | None = None,
    config: LinearConfig | None = None,
    prior_weights: object = None,
) -> MixtureFit:
    """`fit_linear` for given component features.

    log_features: [A, D, 4] of the development pairs, LOG_FLOOR or less for 0.
    is_known: [A, D, 4] bool, whether the component knows the conditioning phrase; None: not normalised.
    """
    config = config or LinearConfig()
    if prior_weights is not None and not config.prior:
        raise UserError("prior weights were given without prior counts: say with `prior` how much they are to count")
    names = development.component_names
    shape = (len(development.set_names), len(FEATURE_NAMES), len(names))
    centre = np.ones(shape) if prior_weights is None else np.ones(shape) * check_feature_weights(prior_weights, names)
    prior = config.prior * centre * len(names) / centre.sum(-1, keepdims=True)

    def begin(number: int, feature: int, rows: slice) -> tuple[EmProblem, np.ndarray, np.ndarray, EmState]:
        known = None if is_known is None else np.ascontiguousarray(is_known[..., feature].T)
        values = np.ascontiguousarray(log_features[..., feature].T)
        problem, constant, used = build_em(values, development.counts[rows], known, prior[rows, feature])
        return problem, constant, used, run_em(placed(problem, number), config.tolerance, config.max_iterations)

    return join_features(development, fit_pieces(shape[0], shape[1], begin, _feature_fit))


def own_features(table: ComponentTable, pair_index: np.ndarray) -> np.ndarray:
    """[A, D, 4] log features of pairs [A] in each component under its own alignment, −∞ where it lacks the pair."""
    rows, first = table.rows_of(pair_index)
    values = np.full((len(pair_index), table.num_components, 4), -np.inf, np.float32)
    place = np.repeat(np.arange(len(pair_index)), np.diff(np.append(first, len(rows))))
    values[place, table.component[rows]] = table.features[rows]
    return values


def known_phrases(development: DevelopmentPairs) -> np.ndarray:
    """[A, D, 4] bool: whether the component knows the phrase that the feature is conditioned on."""
    statistics = development.statistics
    target = (np.asarray(statistics.target_counts) > 0).T[statistics.target_index]
    source = (np.asarray(statistics.source_counts) > 0).T[statistics.source_index]
    return np.stack([target, target, source, source], -1)


def _feature_fit(begun: tuple[EmProblem, np.ndarray, np.ndarray, EmState]) -> FeatureFit:
    problem, constant, used, result = begun
    prior = np.asarray(problem.prior, np.float64)
    weights = np.asarray(result.weights, np.float64)
    history = np.asarray(result.history, np.float64)
    iterations = np.asarray(result.iterations)
    last = history[np.arange(len(history)), iterations] - (prior * np.asarray(log_of(weights))).sum(-1)
    first = history[:, 0] + prior.sum(-1) * np.log(weights.shape[1])
    return FeatureFit(
        weights=weights / weights.sum(-1, keepdims=True),
        cross_entropy=-(constant + last) / np.log(2),
        start_cross_entropy=-(constant + first) / np.log(2),
        iterations=iterations,
        is_converged=np.asarray(result.is_converged),
        used=used,
    )
