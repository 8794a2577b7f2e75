"""From text and alignment to features: equal to the tables of an established tool."""

import gzip

import numpy as np
import pytest

from jaxsmt.align.links import read_links
from jaxsmt.common.ragged import concatenate
from jaxsmt.extract import ExtractConfig, count_words, extract_counts
from jaxsmt.text.encoding import TextConfig
from jaxsmt.text.preparing import prepare_bitext
from jaxsmt.text.vocabulary import PAD
from jaxsmt.tm.component import Component
from jaxsmt.tm.features import union_features
from jaxsmt.tm.union import build_union

NUM_SENTENCES = 1000


@pytest.fixture(scope="module")
def components(reference):
    return {name: component_of(reference, name) for name in ("A", "B", "AB")}


def first_lines(path):
    return gzip.decompress(path.read_bytes()).decode().split("\n")[:NUM_SENTENCES]


def component_of(reference, names):
    """The first 1000 sentence pairs of each text, tokenised and aligned as the tool had them."""
    lines = [
        [line for name in names for line in first_lines(reference / "text" / f"{name}.{language}.gz")]
        for language in ("fr", "en")
    ]
    config = TextConfig(tokenise=False, case="none", clean=False)
    text = prepare_bitext(zip(*lines, strict=True), config, ("fr", "en"), name=names)
    aligned = [read_links(reference / "align" / f"{name}.grow-diag-final-and.gz") for name in names]
    links = concatenate([part.take(np.arange(NUM_SENTENCES)) for part in aligned])
    sizes = len(text.source.vocabulary), len(text.target.vocabulary)
    rules, words = extract_counts(text.bitext, links, ExtractConfig()), count_words(text.bitext, links, *sizes)
    return Component(names, "phrase", rules, words, text.source.vocabulary, text.target.vocabulary)


def features_of(union):
    """(source, target) → four probabilities, all weights 1."""
    values = np.exp(np.asarray(union_features(union, np.ones((4, len(union.names)), np.float32)), np.float64))
    sides = [
        [" ".join(words.decode(side[side != PAD])) for side in rows]
        for words, rows in (
            (union.source_vocabulary, union.source_sides),
            (union.target_vocabulary, union.target_sides),
        )
    ]
    index = zip(union.statistics.source_index, union.statistics.target_index, strict=True)
    return {(sides[0][s], sides[1][t]): row for (s, t), row in zip(index, values, strict=True)}


def read_table(path):
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        lines = [line.split(" ||| ") for line in stream]
    return {(line[0], line[1]): np.array(line[2].split(), float) for line in lines}


@pytest.mark.parametrize("name", ["A", "B", "AB"])
def test_features_from_text_equal_the_table(reference, components, name):
    ours = features_of(build_union([components[name]]))
    theirs = read_table(reference / "phrase" / f"{name}1k.phrase-table.gz")
    assert ours.keys() == theirs.keys()
    error = np.abs(np.array([ours[pair] / theirs[pair] for pair in theirs]) - 1)  # [P, 4]
    assert error[:, [0, 2]].max() < 1e-4
    assert error[:, [1, 3]].max() < 2e-3  # the tool rounds word probabilities


def test_two_components_with_weight_1_equal_the_concatenation(components):
    """Phrase probabilities everywhere, lexical weights where the alignment is the same.

    A pair of both components has the alignment of the first; in the concatenation it has the most frequent one.
    """
    union, whole = build_union([components["A"], components["B"]]), build_union([components["AB"]])
    ours, theirs = features_of(union), features_of(whole)
    assert ours.keys() == theirs.keys()
    error = np.abs(np.array([ours[pair] / theirs[pair] for pair in theirs]) - 1)
    assert error[:, [0, 2]].max() < 1e-5
    links = [links_of(view, theirs) for view in (union, whole)]
    is_same = [(links[0][side] == links[1][side]).all(1) for side in (0, 1)]
    assert is_same[0].mean() > 0.999
    assert error[is_same[0], 1].max() < 1e-5
    assert error[is_same[1], 3].max() < 1e-5


def links_of(union, pairs):
    """Links by source word and by target word, in the order of `pairs`."""
    order = {pair: p for p, pair in enumerate(features_of(union))}
    index = [order[pair] for pair in pairs]
    return union.links_by_source[index], union.links_by_target[index]
