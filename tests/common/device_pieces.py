"""A program that does every kind of work that goes to several devices, on small inputs, and writes what it finds.

python -m tests.common.device_pieces OUTPUT

The file has an array for everything found, named by its kind of work, and for each compiled function how often it was
compiled.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np

from jaxsmt.adapt.bagging import bootstrap_multiplicities, tune_members
from jaxsmt.adapt.bpa import kernels, sampling
from jaxsmt.adapt.bpa.adaptation import adapt
from jaxsmt.adapt.bpa.blocks import blocked
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.bpa.rerank import best_by_votes, rerank
from jaxsmt.align import em, lanes
from jaxsmt.align.model import AlignConfig
from jaxsmt.align.training import align, train_and_align
from jaxsmt.common.arrays import save_arrays
from jaxsmt.common.device import setup_device
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.search.chart.structure import Beam
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.plan.forest import Sizes
from jaxsmt.search.rules.model import fixed_rules
from jaxsmt.search.stack.config import StackConfig
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import NUM_RESERVED
from jaxsmt.tm.fit import linear_em, perplexity, results
from jaxsmt.tm.fit.linear import fit_linear
from jaxsmt.tm.fit.orientations import fit_orientation_weights
from jaxsmt.tm.fit.perplexity import fit_instance_weights
from jaxsmt.tune.config import MertConfig
from jaxsmt.tune.lists import padded_lists
from jaxsmt.tune.mert import envelope
from jaxsmt.tune.mert.line_search import line_events, search_space
from tests.search.search_oracle import WEIGHTS, random_lm, random_sentences, random_table
from tests.tm.small_fits import random_case
from tests.tm.test_tm_orientation_fit import random_development

FUNCTIONS = {
    "align": [em._e_step, em.find_links],
    "bpa": [kernels.log_partitions, kernels.mixture_sums, sampling._walk],
    "bag": [envelope.upper_envelopes],
    "fits": [perplexity.minimise_mixture, linear_em.run_em],
}
VOCABULARY = NUM_RESERVED + 9
Found = Iterator[tuple[str, np.ndarray]]


def alignments() -> Found:
    """Texts in many lanes and of one pair; and what is aligned with them, no pair too."""
    lanes.CELLS_PER_LANE = 1 << 10
    for model, num in (("hmm", 30), ("ibm1", 1)):
        none = {f"{name}_iterations": 0 for name in ("ibm1", "diagonal", "hmm")}
        config = AlignConfig(**none | {f"{model}_iterations": 2}, max_shapes=1, cells_per_batch=1 << 9)
        aligner, links = train_and_align(random_bitext(num), VOCABULARY, VOCABULARY, config)
        yield f"{model}.links", links.values
        yield from ((f"{model}.{field}", part) for field, part in aligner.lexicon._asdict().items())
        yield from ((f"{model}.{field}", part) for field, part in aligner.positions._asdict().items())
        for number in (0, num):
            yield f"{model}.aligned {number}", align(aligner, random_bitext(number)).values


def random_bitext(num: int) -> Bitext:
    random = np.random.default_rng(num)
    sides = [[random.integers(NUM_RESERVED, VOCABULARY, random.integers(1, 9)) for _ in range(num)] for _ in range(2)]
    return Bitext(*map(ragged_from_rows, sides))


def adaptations() -> Found:
    """Lists in three blocks, of one sentence and of none; and 20 chains, which are three pieces."""
    weights = np.array([0.4, -0.2, 0.3])
    for num in (0, 1, 150):
        lists = random_lists(num)
        votes, _ = adapt(lists, weights, BpaConfig(num_samples=24))
        yield f"weights {num}", votes.log_weights
        yield f"scores {num}", rerank(lists, votes).scores
        yield f"best {num}", best_by_votes(blocked(lists), votes, np.stack([votes.log_weights, -votes.log_weights]))
    for chains in (1, 20):
        config = BpaConfig(sampler="mcmc", chains=chains, burn_in=10, chain_length=20, num_samples=20)
        votes, _ = adapt(random_lists(30), weights, config)
        yield f"samples {chains}", votes.samples


def random_lists(num: int, size: int = 8):
    """Lists in which matches and edits depend on the features and on chance."""
    random = np.random.default_rng(num)
    features = random.normal(size=(num * size, 3))
    quality = features @ [1.0, -0.5, 0.3] + random.normal(size=num * size)
    matches = np.clip((quality[:, None] * 2 + 9 - 2 * np.arange(4)).round(), 0, 17).astype(np.int32)
    totals = np.tile(np.array([20, 19, 18, 17], np.int32), (num * size, 1))
    bleu = np.concatenate([np.full((num * size, 2), 20, np.int32), matches, totals], 1)
    ter = np.stack([np.maximum(10 - quality.round(), 0), np.full(num * size, 20)], 1)
    return padded_lists(features, np.arange(num + 1) * size, bleu, ter)


def members() -> Found:
    """Members of bags, from sentences in four blocks and from one sentence; and searches along no line."""
    envelope.LANES = 8
    config = MertConfig(restarts=40, perturbation_rounds=0, max_iterations=2)
    for num_sentences, num_members in ((1, 1), (1, 3), (30, 1), (30, 3)):
        counts = bootstrap_multiplicities(num_sentences, num_members)
        found = tune_members(random_lists(num_sentences), np.ones(3), counts, config)
        yield f"{num_members} of {num_sentences}", found
    space, nothing = search_space(random_lists(30), "bleu"), np.zeros((0, 3))
    yield "no line", np.array(len(list(line_events(space, nothing, nothing, 128))))


def fits() -> Found:
    """Weights of one development set and of three, each a piece."""
    results.SETS_AT_ONCE = 1
    for num_sets in (1, 3):
        case = random_case(3, num_sets=num_sets)
        for name, fit in (("instances", fit_instance_weights), ("linear", fit_linear)):
            found = fit(case.development)
            yield f"{name} {num_sets}", found.weights
            yield f"{name} {num_sets} bits", found.cross_entropy
    yield "orientations", fit_orientation_weights(random_development(1)).weights


def searches() -> Found:
    """Batches of few sentences in both searches."""
    table, automaton = random_table(np.random.default_rng(8), 25, 0), random_lm(np.random.default_rng(3), 3)
    beam, stack = Beam(kept=6, rules=8, expanded=6, neighbours=8), StackConfig(kept=3, spans=6, scored=8)
    for kind in ("chart", "stack"):
        config = SearchConfig(beam, max_span=5, kind=kind, stack=stack)
        decoder = make_decoder(fixed_rules(table), [LmFeatures(automaton)], config)
        for lengths in ([], [3], [0, 4, 3, 8, 1, 7, 5, 2, 6]):
            request = Request(random_sentences(np.random.default_rng(1), lengths), weights=WEIGHTS)
            sizes = Sizes(sentences=2, cells=512, groups=8192, entries=512, rows=512)
            found = decoder.translate(request, sizes)
            yield f"{kind} {len(lengths)} scores", np.array([item.score for item in found])
            yield f"{kind} {len(lengths)}", np.array([token for item in found for token in item.tokens])


KINDS = {"align": alignments, "bpa": adaptations, "bag": members, "fits": fits, "search": searches}


def main(output: str) -> None:
    setup_device()
    arrays = {"devices": np.array(jax.local_device_count())}
    for kind, work in KINDS.items():
        arrays |= {f"{kind}/{name}": np.asarray(found) for name, found in work()}
        for function in FUNCTIONS.get(kind, []):
            arrays[f"programs/{kind}/{function.__name__}"] = np.array(function._cache_size())
    save_arrays(Path(output), arrays)


if __name__ == "__main__":
    main(sys.argv[1])
