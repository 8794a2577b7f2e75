"""How quick mixtures of many components are: fitting their weights beside tmcombine's algorithm, and decoding.

Prints a table; the last line is one JSON object. Times are CPU seconds of this process after compilation, and the
fit's include everything from looked-up development pairs to weights.

tmcombine's algorithm is scipy's L-BFGS-B with numerical gradients from λ = 1, first weight fixed, one feature after the
other. Here its objective is written in numpy over the same arrays (tmcombine itself loops over pairs in Python).
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from measure import Measurement, measured, print_figures
from mixture_decoding import measure_decoding
from scipy.optimize import fmin_l_bfgs_b

from jaxsmt.common.device import setup_device
from jaxsmt.tm.features import component_features
from jaxsmt.tm.fit.development import DevelopmentPairs
from jaxsmt.tm.fit.linear import LinearConfig, fit_linear_features
from jaxsmt.tm.fit.perplexity import fit_instance_weights
from jaxsmt.tm.union import Statistics
from jaxsmt.tm.weights import FEATURE_NAMES

NUM_CLUSTERS = 8
HOME = 3  # the component that the development set resembles


@dataclass(frozen=True)
class Sizes:
    """Of the synthetic development pairs."""

    pairs: int = 1_000_000
    components: int = 12
    sides: int = 300_000
    words: int = 50_000
    word_pairs: int = 300_000
    means: int = 60_000  # words with several links
    length: int = 7


def report(what: str, measurement: Measurement, remark: str = "") -> None:
    print(f"{what:<62} {measurement.cpu_seconds:9.3f} s {measurement.peak_gb:6.2f} GB  {remark}", flush=True)


def sparse_counts(rng: np.random.Generator, sizes: np.ndarray, num_items: int) -> np.ndarray:
    """[D, N] float32 whole counts: few frequent items, many rare ones, most at home in one component."""
    num_components = len(sizes)
    popularity = np.exp(rng.normal(-1.0, 2.5, num_items))
    # development pairs are mostly those of one domain
    home = np.where(rng.random(num_items) < 0.5, HOME, rng.integers(0, num_components, num_items))
    counts = np.empty((num_components, num_items), np.float32)
    for d, size in enumerate(sizes):
        affinity = np.where(home == d, 1.0, rng.random(num_items) ** 6)
        counts[d] = rng.poisson(popularity * size * affinity)
    missing = counts.sum(0) == 0
    counts[home[missing], np.nonzero(missing)[0]] = 1
    return counts


def marginals(rng: np.random.Generator, counts: np.ndarray, index: np.ndarray, num_sides: int) -> np.ndarray:
    """[D, R] float32: sums of the pairs' counts, and more of pairs that are not in the development set."""
    table = np.stack([np.bincount(index, row, minlength=num_sides) for row in counts])
    return (table + rng.poisson(0.5 * table + 0.05)).astype(np.float32)


def lexical_factors(rng: np.random.Generator, sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
    """Factor ids [P, length] of words with one or several links, and the links [C, 4] of the latter."""
    frequent = (sizes.word_pairs * rng.random((sizes.pairs, sizes.length)) ** 3).astype(np.int32)
    several = (sizes.means * rng.random((sizes.pairs, sizes.length)) ** 2).astype(np.int32) + sizes.word_pairs + 2
    factors = np.where(rng.random(frequent.shape) < 0.12, several, frequent)
    lengths = rng.integers(1, sizes.length + 1, sizes.pairs)
    factors[np.arange(sizes.length)[None] >= lengths[:, None]] = sizes.word_pairs + 1
    links = rng.integers(0, sizes.word_pairs, (sizes.means, 4)).astype(np.int32)
    links[np.arange(4)[None] >= rng.choice([2, 3, 4], (sizes.means, 1), p=[0.75, 0.2, 0.05])] = sizes.word_pairs + 1
    return factors, links


def synthetic_development(sizes: Sizes, num_sets: int = 1) -> DevelopmentPairs:
    """Random sparse counts of D components of unequal sizes, and frequencies that favour one of them."""
    rng = np.random.default_rng(0)
    component_sizes = np.geomspace(1.0, 0.05, sizes.components)
    joint = sparse_counts(rng, component_sizes, sizes.pairs)
    source_index, target_index = ((sizes.sides * rng.random(sizes.pairs) ** 2).astype(np.int32) for _ in range(2))
    word_joint = sparse_counts(rng, component_sizes * 5, sizes.word_pairs)
    word_pairs = np.stack([(sizes.words * rng.random(sizes.word_pairs) ** 2).astype(np.int32) for _ in range(2)], 1)
    target_factors, target_links = lexical_factors(rng, sizes)
    source_factors, source_links = lexical_factors(rng, sizes)
    statistics = Statistics(
        source_index=source_index,
        target_index=target_index,
        joint_counts=joint,
        source_counts=marginals(rng, joint, source_index, sizes.sides),
        target_counts=marginals(rng, joint, target_index, sizes.sides),
        word_pairs=word_pairs,
        word_joint_counts=word_joint,
        source_word_counts=marginals(rng, word_joint, word_pairs[:, 0], sizes.words),
        target_word_counts=marginals(rng, word_joint, word_pairs[:, 1], sizes.words),
        target_factors=target_factors,
        target_factor_links=target_links,
        source_factors=source_factors,
        source_factor_links=source_links,
    )
    favoured = [1 + rng.poisson(0.3 * joint[(HOME + s) % len(joint)]) for s in range(num_sets)]
    return DevelopmentPairs(
        set_names=tuple(f"set {s + 1}" for s in range(num_sets)),
        component_names=tuple(f"component {d + 1}" for d in range(sizes.components)),
        pair_index=np.arange(sizes.pairs),
        counts=np.array(favoured, np.float32),
        statistics=statistics,
        num_skipped=np.zeros(num_sets, np.int64),
        skipped=np.zeros(num_sets),
    )


def numpy_objective(development: DevelopmentPairs, feature: int) -> Callable[[np.ndarray], float]:
    """−Σ f log2 p(x|y; λ) of λ [D], as in `jaxsmt.tm.features`, in float64."""
    statistics, counts = development.statistics, development.counts[0].astype(np.float64)
    by_target = feature < 2
    if feature in (0, 2):
        joint = np.ascontiguousarray(statistics.joint_counts.T, np.float64)
        index = statistics.target_index if by_target else statistics.source_index
        table = statistics.target_counts if by_target else statistics.source_counts
        totals = np.ascontiguousarray(table.T, np.float64)
        return lambda weights: -counts @ np.log2((joint @ weights) / (totals @ weights)[index])
    factors = statistics.source_factors if by_target else statistics.target_factors
    links = statistics.source_factor_links if by_target else statistics.target_factor_links
    joint = np.ascontiguousarray(statistics.word_joint_counts.T, np.float64)
    table = statistics.target_word_counts if by_target else statistics.source_word_counts
    totals = np.ascontiguousarray(table.T, np.float64)
    word = statistics.word_pairs[:, 1 if by_target else 0]
    num_links = (links <= len(joint)).sum(1)

    def objective(weights: np.ndarray) -> float:
        ratios = (joint @ weights) / (totals @ weights)[word]
        means = np.append(ratios, [0.0, 0.0])[links].sum(1) / num_links
        logs = np.log2(np.concatenate([ratios, [1e-300, 1.0], means]))
        return -counts @ logs[factors].sum(1)

    return objective


def tmcombine_fit(development: DevelopmentPairs, feature: int) -> tuple[float, int]:
    """Bits per occurrence at the weights found, and the number of evaluations."""
    objective, count = numpy_objective(development, feature), [0]

    def counted(weights: np.ndarray) -> float:
        count[0] += 1
        return objective(np.concatenate([[1.0], weights]))

    start = np.ones(len(development.component_names) - 1)
    _, value, _ = fmin_l_bfgs_b(counted, start, approx_grad=True, bounds=[(1e-9, None)] * len(start))
    return float(value / development.found[0]), count[0]


def measure_fit(sizes: Sizes, clusters: int) -> float:
    """tmcombine's seconds over ours for the four features of one development set."""
    development = synthetic_development(sizes)
    fit_instance_weights(development)
    with measured() as ours:
        fit = fit_instance_weights(development)
    what = f"λ fit, {sizes.pairs:,} pairs × {sizes.components} components, 4 features"
    report(what, ours, "bits " + " ".join(f"{bits:.6f}" for bits in fit.cross_entropy[0]))
    theirs = 0.0
    for feature, name in enumerate(FEATURE_NAMES):
        with measured() as one:
            bits, count = tmcombine_fit(development, feature)
        theirs += one.cpu_seconds
        gain = bits - fit.cross_entropy[0, feature]
        report(f"  scipy L-BFGS-B, numerical gradients, {name}", one, f"{count} evaluations, {gain:+.1e} bits")
    report("  all four", Measurement(cpu_seconds=theirs), f"{theirs / ours.cpu_seconds:.0f} times ours")
    measure_clusters(sizes, clusters, ours.cpu_seconds)
    measure_em(development)
    return theirs / ours.cpu_seconds


def measure_clusters(sizes: Sizes, clusters: int, single: float) -> None:
    development = synthetic_development(sizes, clusters)
    fit_instance_weights(development)
    with measured() as together:
        fit_instance_weights(development)
    report(f"λ fit of {clusters} clusters at once", together, f"{together.cpu_seconds / single:.1f} times one")


def measure_em(development: DevelopmentPairs) -> None:
    every = np.arange(len(development))
    component_features(development.statistics, every)
    with measured() as gathered:
        features = component_features(development.statistics, every)
    report("features of the components alone", gathered)
    for config in (LinearConfig(), LinearConfig(tolerance=1e-6, max_iterations=1000)):
        fit_linear_features(development, features, None, config)
        with measured() as em:
            fit = fit_linear_features(development, features, None, config)
        iterations = " ".join(map(str, fit.iterations[0]))
        report(f"linear mixture by EM, tolerance {config.tolerance:g}, 4 features", em, f"{iterations} iterations")


def main() -> None:
    setup_device()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=Sizes.pairs, help="development pairs of the fit")
    options = parser.parse_args()
    figures = {"fit_ratio": measure_fit(Sizes(pairs=options.pairs), NUM_CLUSTERS), **measure_decoding()}
    print_figures(figures, digits=3)


if __name__ == "__main__":
    main()
