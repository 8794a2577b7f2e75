"""n-best lists as arrays against the same lists as trees, rescored from scratch."""

import dataclasses

import numpy as np
import pytest

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.search.chart.structure import IMPOSSIBLE, NUM_GROUPS
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.arrays import nbest, nbest_arrays
from jaxsmt.search.nbest.moses import output_texts, output_words
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.rules.model import fixed_rules
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN
from tests.search.search_oracle import TARGET, WEIGHTS, random_lm, random_sentences, random_table
from tests.search.test_search_nbest import WIDE

U, V = NUM_RESERVED, NUM_RESERVED + 1
OTHER = SearchWeights(rule=(1.0, 0.0, 0.5, 0.3), lm=1e-6, word_penalty=0.5, phrase_penalty=0.4, glue=0.3, unknown=0.1)


@pytest.fixture(scope="module")
def decoders():
    """With and without swaps and copies; all share one compiled program."""
    random = np.random.default_rng(4)
    table, automaton = random_table(random, 12, 2), random_lm(random, 3)
    configs = (SearchConfig(WIDE, max_span=3), SearchConfig(WIDE, max_span=3, swap_span=3, drop_unknown=True))
    return [make_decoder(fixed_rules(table), [LmFeatures(automaton)], config) for config in configs]


def request_of(lengths, **more):
    sentences = random_sentences(np.random.default_rng(11), lengths)
    copies = np.where(np.arange(len(sentences.values)) % 2, U, UNKNOWN).astype(np.int32)
    return Request(sentences, copies, **{"weights": WEIGHTS, **more})


def check_equal_to_trees(decoder, request, size, distinct):
    lists = nbest_arrays(decoder, request, size, distinct, keep_trees=True, keep_links=True)
    trees = nbest(decoder, request, size, distinct)
    flat = [(row, item) for row, found in enumerate(trees) for item in found]
    assert lists.sentence.tolist() == [row for row, _ in flat]
    assert lists.score.tolist() == [item.score for _, item in flat]
    assert np.diff(lists.offsets).tolist() == [len(found) for found in trees]
    for number, (_, item) in enumerate(flat):
        assert tuple(lists.tokens[number].tolist()) == item.tokens
        assert lists.derivation(number).root == item.root
        assert list(map(tuple, lists.links[number].tolist())) == item.alignment
    expected = rescore(decoder, request, [item for _, item in flat], [row for row, _ in flat])
    for name, values in vars(expected).items():
        if name not in ("names", "lm_names"):
            np.testing.assert_allclose(getattr(lists.features, name), values, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(lists.score, lists.features.score, atol=1e-4)
    return lists


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("which", [0, 1])
def test_arrays_and_trees_say_the_same(decoders, which, distinct):
    forced = {(3, 1, 2): [V, U], (5, 0, 2): []}
    lists = check_equal_to_trees(decoders[which], request_of([0, 1, 3, 3, 4, 4], forced=forced), 25, distinct)
    assert (lists.tokens.values < 0).any() == (which == 0)
    assert lists.features.unknown.any()


def test_words_of_outputs(decoders):
    request = Request(ragged_from_rows([[UNKNOWN, NUM_RESERVED], []]), weights=WEIGHTS)
    source = [["α", "β"], []]
    lists = nbest_arrays(decoders[0], request, 5)
    flat = [(row, item) for row, found in enumerate(nbest(decoders[0], request, 5)) for item in found]
    texts = output_texts(lists, source, TARGET)
    assert texts == [" ".join(output_words(item, source[row], TARGET)) for row, item in flat]
    assert all(text.count("α") == 1 for text in texts[:-1])
    assert texts[-1] == ""


def test_rows_with_weights_of_their_own_are_as_if_alone(decoders):
    """A sentence that comes twice with other weights has two lists; a weight near 0 leaves the features exact."""
    one = request_of([3, 4])
    twice = np.array([0, 1, 0, 1])
    weights = SearchWeights(
        **{
            name: np.stack([value, value, vars(OTHER)[name], vars(OTHER)[name]])
            for name, value in vars(WEIGHTS).items()
        }
    )
    sentences = one.sentences.take(twice)
    both = nbest_arrays(decoders[0], Request(sentences, np.tile(one.copy_ids, 2), weights), 30)
    for member, own in enumerate((WEIGHTS, OTHER)):
        alone = nbest_arrays(decoders[0], dataclasses.replace(one, weights=own), 30)
        part = slice(both.offsets[2 * member], both.offsets[2 * member + 2])
        assert both.score[part].tolist() == alone.score.tolist()
        assert both.tokens.take(np.arange(part.start, part.stop)).values.tolist() == alone.tokens.values.tolist()
        np.testing.assert_allclose(both.features.rule[part], alone.features.rule, rtol=1e-6)
        np.testing.assert_allclose(both.features.lm[part], alone.features.lm, rtol=1e-6)


def test_nothing_asked_nothing_listed(decoders):
    lists = nbest_arrays(decoders[0], request_of([]), 5, keep_links=True)
    assert lists.links.offsets.tolist() == [0]
    assert lists.offsets.tolist() == [0]
    assert lists.features.rule.shape == (0, 4)
    assert len(lists.tokens) == len(lists.features.lm) == 0
    assert nbest(decoders[0], request_of([]), 5) == []


def test_the_search_counts_what_it_does(decoders):
    """The candidates of a wide beam are the edges, where none was too many to keep."""
    request, before = request_of([0, 1, 2, 2]), decoders[0].statistics.total()
    (batch,) = decoders[0].batches(request, keep_edges=True)
    after = decoders[0].statistics.total()
    own = type(after)(*(late - early for late, early in zip(after, before, strict=True)))
    is_scored = np.asarray(batch.chart.edges.score) > IMPOSSIBLE / 2
    assert own.candidates == is_scored.sum() > 0
    assert (own.sentences, own.words) == (4, 5)
    assert own.cells == is_scored.any(1).sum() == 4 + 5 + 5 + 2  # ends, S[e], X of one word and of two
    assert own.groups == batch.plan.forest.cell_groups[:, NUM_GROUPS].sum()
    assert f"{own.candidates / 5:.0f} scored candidates a word" in own.per_word()
