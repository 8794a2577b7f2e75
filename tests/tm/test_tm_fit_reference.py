"""Mixture weights against those that Moses' tmcombine found on the same tables and development pairs."""

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from jaxsmt.extract.counts import RuleCounts
from jaxsmt.text.vocabulary import Vocabulary, build_vocabulary
from jaxsmt.tm.fit.development import DevelopmentPairs, development_pairs
from jaxsmt.tm.fit.linear import LinearConfig, fit_linear_features, known_phrases
from jaxsmt.tm.fit.perplexity import cross_entropy, fit_instance_weights
from jaxsmt.tm.moses import tables as moses
from jaxsmt.tm.moses.lexical import LexicalPaths
from jaxsmt.tm.union import Statistics, build_union

# weight of B (that of A is 1), bits
COUNTS_1K = [(0.0770658, 1.474610283), (0.0149054, 1.729319091), (0.0504379, 0.912343887), (0.0259911, 1.156184560)]
COUNTS_4K = {0: (0.0667921, 1.772387988), 2: (0.0357642, 1.140988255)}
# weight of A (that of B is the rest), bits
LINEAR_1K = [(0.9294745, 1.575134578), (0.9326985, 1.891259590), (0.9325744, 1.026564504), (0.9263150, 1.277346390)]
LINEAR_4K = [(0.9511415, 1.842903340), (0.9548905, 2.293656944), (0.9561553, 1.225898011), (0.9505496, 1.546259966)]
NORMALISED_1K, NORMALISED_4K = (0.9105448, 0.920979885), (0.9384514, 1.149410079)  # p(t|s)
TIGHT = LinearConfig(tolerance=1e-7, max_iterations=1000)


def read_lines(path: Path) -> list[list[str]]:
    return [line.split(" ||| ") for line in gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]]


def counted_pairs(counts: Counter) -> tuple[RuleCounts, Vocabulary, Vocabulary]:
    """{(source, target): count} as arrays."""
    vocabularies = [build_vocabulary(Counter(word for pair in counts for word in pair[k].split(" "))) for k in (0, 1)]
    sides, place_of = [], []
    for k, vocabulary in enumerate(vocabularies):
        rows = sorted((vocabulary.encode(text.split(" ")), text) for text in {pair[k] for pair in counts})
        sides.append(np.array([row + [0] * (7 - len(row)) for row, _ in rows], np.int32))
        place_of.append({text: place for place, (_, text) in enumerate(rows)})
    places = sorted((place_of[0][source], place_of[1][target], count) for (source, target), count in counts.items())
    source, target, joint = np.array(places).T
    links = np.zeros((len(places), 7), np.uint16)
    rules = RuleCounts(
        sides[0], sides[1], source.astype(np.int32), target.astype(np.int32), joint.astype(np.float32),
        np.bincount(source, joint).astype(np.float32), np.bincount(target, joint).astype(np.float32),
        links, links, None,
    )  # fmt: skip
    return rules, *vocabularies


@pytest.fixture(scope="module")
def small(reference):
    """The development pairs of the tables of 1,000 sentences, and the two tables' own scores of them [A, 2, 4]."""
    folder = reference / "phrase"
    lines = read_lines(reference / "mixture" / "pydoc-dev.extract.sorted.gz")
    counts = Counter((line[0], line[1]) for line in lines)
    components, scores = [], {}
    for d, name in enumerate(("A1k", "B1k")):
        lexical = LexicalPaths(folder / f"{name}.lex.counts.f2e.gz", folder / f"{name}.lex.counts.e2f.gz")
        components.append(moses.read_component(folder / f"{name}.phrase-table.gz", lexical, name))
        for source, target, values, *_ in read_lines(folder / f"{name}.phrase-table.gz"):
            if (source, target) in counts:
                scores[d, source, target] = [float(value) for value in values.split()]
    union = build_union(components)
    rules, *vocabularies = counted_pairs(counts)
    development = development_pairs(union, [rules], *vocabularies)
    assert (len(development), development.found[0]) == (2822, 14063)
    assert (development.num_skipped[0], development.skipped[0]) == (61628 - 2822, 77064 - 14063)
    own = np.zeros((len(development), 2, 4))
    words = [np.array([""] * 6 + list(v.words)) for v in (union.source_vocabulary, union.target_vocabulary)]
    for a in range(len(development)):
        source = " ".join(filter(None, words[0][union.source_sides[development.statistics.source_index[a]]]))
        target = " ".join(filter(None, words[1][union.target_sides[development.statistics.target_index[a]]]))
        for d in range(2):
            own[a, d] = scores.get((d, source, target), 0)
    return development, own


@pytest.fixture(scope="module")
def large(reference):
    """Likewise for 4,000 sentences, from the file of counts; lexical factors are not in it."""
    lines = read_lines(reference / "mixture" / "4k.scored-pairs.gz")
    source, target = (np.unique([line[k] for line in lines], return_inverse=True)[1] for k in (0, 1))
    counts = np.array(
        [[line[4].split(), line[7].split()] for line in lines], np.float32
    )  # [A, D, (c(e), c(f), c(f,e))]
    totals = [np.zeros((2, index.max() + 1), np.float32) for index in (source, target)]
    for d in range(2):
        totals[0][d, source], totals[1][d, target] = counts[:, d, 1], counts[:, d, 0]
    nothing = np.zeros((2, 1), np.float32)
    unknown = np.zeros((len(lines), 1), np.int32)  # the id of a word pair that no component has
    statistics = Statistics(
        source.astype(np.int32), target.astype(np.int32), np.ascontiguousarray(counts[:, :, 2].T), *totals,
        np.zeros((0, 2), np.int32), nothing[:, :0], nothing, nothing,
        unknown, np.zeros((0, 1), np.int32), unknown, np.zeros((0, 1), np.int32),
    )  # fmt: skip
    frequencies = np.array([[line[2] for line in lines]], np.float32)
    none = np.zeros(1)
    development = DevelopmentPairs(
        ("dev",), ("A4k", "B4k"), np.arange(len(lines)), frequencies, statistics, none.astype(np.int64), none
    )
    own = np.array([[line[3].split(), line[6].split()] for line in lines], np.float64)
    return development, own


def test_counts_of_1k_tables(small):
    development, _ = small
    fit = fit_instance_weights(development)
    assert fit.used.tolist() == [[14063] * 4]
    for feature in (0, 2):
        weight, bits = COUNTS_1K[feature]
        assert fit.weights[0, feature, 1] == pytest.approx(weight, rel=1e-4)
        assert fit.cross_entropy[0, feature] == pytest.approx(bits, abs=1e-6)
    np.testing.assert_allclose(fit.start_cross_entropy[0, [0, 2]], [1.623881, 1.090969], atol=1e-6)
    # In lexical weights tmcombine mixes up the two directions of words that are spelled alike in both languages (one
    # cache for both), and lacks marginals of words of pairs that it filters away. At its weights the cross-entropy
    # of the true lexical weights is above ours.
    theirs = cross_entropy(development, [[1, weight] for weight, _ in COUNTS_1K])
    assert (fit.cross_entropy <= theirs + 1e-6).all()
    assert (fit.cross_entropy[0, [1, 3]] < theirs[0, [1, 3]] - 1e-4).all()


def test_counts_of_4k_tables(large):
    development, _ = large
    fit = fit_instance_weights(development)
    for feature, (weight, bits) in COUNTS_4K.items():
        assert fit.weights[0, feature, 1] == pytest.approx(weight, rel=1e-4)
        assert fit.cross_entropy[0, feature] == pytest.approx(bits, abs=1e-6)
    np.testing.assert_allclose(fit.start_cross_entropy[0, [0, 2]], [1.905349, 1.338075], atol=1e-6)
    assert fit.used.tolist() == [[17555, 0, 17555, 0]]
    np.testing.assert_array_equal(fit.weights[0, [1, 3]], 1)


@pytest.mark.parametrize(
    ("size", "plain", "normalised"), [("small", LINEAR_1K, NORMALISED_1K), ("large", LINEAR_4K, NORMALISED_4K)]
)
def test_linear_weights(size, plain, normalised, request):
    development, own = request.getfixturevalue(size)
    with np.errstate(divide="ignore"):
        features = np.log(own).astype(np.float32)
    fit = fit_linear_features(development, features, config=TIGHT)
    for feature, (weight, bits) in enumerate(plain):
        np.testing.assert_allclose(fit.weights[0, feature], [weight, 1 - weight], atol=2e-5)
        assert fit.cross_entropy[0, feature] == pytest.approx(bits, abs=1e-6)
    default = fit_linear_features(development, features)
    assert np.abs(default.weights - fit.weights).max() < 1e-3
    again = fit_linear_features(development, features, known_phrases(development), TIGHT)
    np.testing.assert_allclose(again.weights[0, 2], [normalised[0], 1 - normalised[0]], atol=2e-5)
    assert again.cross_entropy[0, 2] == pytest.approx(normalised[1], abs=1e-6)
