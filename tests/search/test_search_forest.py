"""A cell with more rule applications than the device looks at."""

from itertools import product

import numpy as np
import pytest

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.search.chart.structure import FIRST_ENTRY
from jaxsmt.search.chart.tiles import GROUP_CLASSES
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.plan.matching import match_patterns
from jaxsmt.search.rules.model import fixed_rules
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED
from tests.search.search_oracle import WEIGHTS, table_of
from tests.search.test_search_decoder import NARROW, lm_of

A, B, C, _ = range(NUM_RESERVED, NUM_RESERVED + 4)
U, V, W = range(NUM_RESERVED, NUM_RESERVED + 3)
X1, X2 = NONTERMINALS
MOST = GROUP_CLASSES[-1]


@pytest.fixture(scope="module")
def decoder():
    """Rules b a… X1 a… X2 a… c that all match the whole sentence b a…a c, in many ways each."""
    rules = [((A,), (U,)), ((B,), (V,)), ((C,), (W,)), ((A, X1), (U, X1))]
    for before, between, after in product(range(5), range(1, 6), range(5)):
        if before + between + after <= 5:
            side = (B, *[A] * before, X1, *[A] * between, X2, *[A] * after, C)
            rules += [(side, (V, X1, U, X2, W)), (side, (X2, V, X1))]
    return make_decoder(
        fixed_rules(table_of(rules, np.random.default_rng(5))), [LmFeatures(lm_of(4))], SearchConfig(NARROW, 40)
    )


def test_the_groups_with_the_best_rules_are_kept(decoder):
    request = Request(ragged_from_rows([[B, *[A] * 30, C], [B, *[A] * 12, C]]), weights=WEIGHTS)
    (batch,) = decoder.batches(request)
    plan, matches = batch.plan, match_patterns(decoder.rules.grammar.trie, request.sentences, 40)
    _, list_of_match = np.unique(matches.side, return_inverse=True)
    best = plan.lists.score[plan.lists.first[list_of_match]]  # of each match's rules
    for sentence, length in enumerate(request.sentences.lengths.tolist()):
        here = (matches.sentence == sentence) & (matches.start == 0) & (matches.end == length)
        is_cell = (plan.cell_sentence == sentence) & (plan.cell_start == 0) & (plan.cell_end == length)
        first, count = max(plan.forest.cell_groups[: len(is_cell)][is_cell].tolist(), key=lambda pair: pair[1])
        assert count == min(here.sum(), MOST)
        kept = plan.forest.entry_score[plan.forest.groups[first : first + count, FIRST_ENTRY]]
        assert sorted(kept, reverse=True) == sorted(best[here], reverse=True)[:MOST]
    assert here.sum() < MOST < ((matches.sentence == 0) & (matches.end - matches.start == 32)).sum()


def test_what_is_found_in_such_a_cell_is_scored_exactly(decoder):
    request = Request(ragged_from_rows([[B, *[A] * 30, C]]), weights=WEIGHTS)
    (found,) = decoder.translate(request)
    assert any(len(node.children) == 2 and node.end - node.start == 32 and node.pair >= 0 for node in found.nodes)
    np.testing.assert_allclose(rescore(decoder, request, [found]).score, [found.score], atol=1e-3)
