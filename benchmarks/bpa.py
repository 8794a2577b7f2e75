"""How quick Bayesian predictive adaptation is: likelihood and reranking beside plain numpy, chains, online updates.

Prints a table; the last line is one JSON object. The job is that of the paper's largest experiment: an adaptation set
of 2,000 sentences and a test set of 2,000, 500-best lists, 14 features (the paper: 10 to 20 minutes for 1,000 samples).
Seconds are wall seconds after compilation, the least of two runs. CPU seconds stand beside them; the ratio to numpy is
one of CPU seconds, which other work on the machine changes little.
"""

from collections.abc import Callable

import numpy as np
from measure import Measurement, measured, print_figures

from jaxsmt.adapt.bpa.adaptation import adapt
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.bpa.online import online_bpa
from jaxsmt.adapt.bpa.rerank import Votes, rerank
from jaxsmt.common.device import setup_device
from jaxsmt.tune.lists import TuningLists, rows_of

NUM_SENTENCES, LIST_SIZE, NUM_FEATURES = 2000, 500, 14
NUMPY_SENTENCES = 40  # that numpy is timed on
WEIGHTS = np.array([0.3] * 7 + [0.5, -1.0, 0.2] + [0.2] * 4)


def random_lists() -> TuningLists:
    """Lists with features of different scale, and edits that depend on them and on chance."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(NUM_SENTENCES, LIST_SIZE, NUM_FEATURES))
    features *= rng.uniform(0.3, 3.0, NUM_FEATURES)
    edits = np.round(10.0 - features @ rng.normal(size=NUM_FEATURES) + rng.normal(size=features.shape[:2])).clip(0)
    ter = np.stack([edits, np.full_like(edits, 20.0)], 2)
    names = tuple(f"F{i}" for i in range(NUM_FEATURES))
    return TuningLists(features, np.ones(features.shape[:2], bool), None, ter, names)


def least(work_fn: Callable[[], object], repeats: int = 2) -> Measurement:
    """The run of fewest seconds after one that compiles; the highest peak of all."""
    work_fn()
    runs = []
    for _ in range(repeats):
        with measured() as run:
            work_fn()
        runs.append(run)
    best = min(runs, key=lambda run: run.seconds)
    best.peak_gb = max(run.peak_gb for run in runs)
    return best


def report(what: str, run: Measurement, remark: str = "") -> None:
    print(f"{what:<52} {run.seconds:8.2f} s {run.cpu_seconds:8.2f} CPU-s {run.peak_gb:6.2f} GB  {remark}", flush=True)


def log_partition(logits: np.ndarray) -> np.ndarray:
    """log Σ_h exp of [H, S] → [S]."""
    highest = logits.max(0)
    return highest + np.log(np.exp(logits - highest).sum(0))


def numpy_seconds(lists: TuningLists, votes: Votes) -> tuple[Measurement, np.ndarray]:
    """The same by plain numpy in double precision on some of the sentences, and its scores of them."""
    some = rows_of(lists, np.arange(NUMPY_SENTENCES))
    with measured() as run:
        likelihood, scores = np.zeros(len(votes.samples)), []
        for features in some.features:  # once as adaptation set
            logits = features @ votes.samples.T
            likelihood += logits[0] - log_partition(logits)
        for features in some.features:  # and once as test set
            logits = features @ votes.samples.T
            terms = (logits - log_partition(logits)) / votes.delta + votes.log_weights
            highest = terms.max(1, keepdims=True)
            scores.append(highest[:, 0] + np.log(np.exp(terms - highest).sum(1)))
    return run, np.array(scores)


def measure_heuristic(lists: TuningLists, num_samples: int) -> tuple[Measurement, Votes]:
    """Adaptation to all lists and reranking of all lists."""
    config = BpaConfig(num_samples=num_samples)
    votes, _ = adapt(lists, WEIGHTS, config)
    parts = {
        "likelihood": least(lambda: adapt(lists, WEIGHTS, config)),
        "reranking": least(lambda: rerank(lists, votes)),
    }
    for name, run in parts.items():
        report(f"{num_samples} samples, {name} of 2,000 × 500-best", run)
    whole = Measurement(
        sum(run.seconds for run in parts.values()), sum(run.cpu_seconds for run in parts.values()),
        max(run.peak_gb for run in parts.values()),
    )  # fmt: skip
    report(f"{num_samples} samples, both", whole)
    return whole, votes


def measure_chains(lists: TuningLists) -> None:
    few = rows_of(lists, np.arange(100))
    for proposal in ("scaled", "laplace"):
        config = BpaConfig(sampler="mcmc", chains=16, burn_in=500, chain_length=5000, proposal=proposal)
        info = adapt(few, WEIGHTS, config)[1]
        assert info.acceptance is not None
        assert info.r_hat is not None
        remark = f"accepted {info.acceptance.mean():.2f}, R-hat {info.r_hat.max():.3f}, ESS {info.effective_size:.0f}"
        run = least(lambda config=config: adapt(few, WEIGHTS, config), 1)  # type: ignore[misc]
        report(f"16 chains × 5,500 steps, |A| = 100, {proposal} proposals", run, remark)


def measure_online(lists: TuningLists, num_samples: int) -> None:
    state = online_bpa(WEIGHTS, BpaConfig(num_samples=num_samples))
    singles = [rows_of(lists, np.array([sentence])) for sentence in range(20)]
    updates = least(lambda: [state.update(single) for single in singles])
    votes = state.votes()
    rankings = least(lambda: [rerank(single, votes) for single in singles])
    for name, run in (("update", updates), ("reranking", rankings)):
        each = Measurement(run.seconds / 20, run.cpu_seconds / 20, run.peak_gb)
        report(f"online, {num_samples} samples, one sentence: {name}", each, f"{1000 * each.seconds:.1f} ms")


def main() -> None:
    setup_device()
    lists = random_lists()
    small, votes = measure_heuristic(lists, 1000)
    part, scores = numpy_seconds(lists, votes)
    ours = rerank(rows_of(lists, np.arange(NUMPY_SENTENCES)), votes).scores
    np.testing.assert_allclose(ours, scores, rtol=1e-5)
    factor = NUM_SENTENCES / NUMPY_SENTENCES
    scaled = Measurement(part.seconds * factor, part.cpu_seconds * factor, part.peak_gb)
    remark = f"timed on {NUMPY_SENTENCES} sentences and scaled"
    report("1000 samples, both, plain numpy", scaled, remark)
    large, _ = measure_heuristic(lists, 5000)
    measure_online(lists, 5000)
    measure_chains(lists)
    figures = {
        "seconds_1000": small.seconds, "seconds_5000": large.seconds,
        "numpy_ratio": scaled.cpu_seconds / small.cpu_seconds,
        "peak_gb": max(small.peak_gb, large.peak_gb),
    }  # fmt: skip
    print_figures(figures, digits=3)


if __name__ == "__main__":
    main()
