"""Words that are spelt alike, and what they are worth to the aligner."""

import numpy as np
import pytest
from scipy.special import digamma

from jaxsmt.align import likeness as likeness_module
from jaxsmt.align.cells import WordPairs
from jaxsmt.align.lexicon import LexiconCounts, m_step
from jaxsmt.align.likeness import likeness, likeness_prior
from jaxsmt.align.model import AlignConfig
from jaxsmt.align.training import train_and_align
from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.common.sizes import padded_rows
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.spelling import spellings
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary


def numbered(source: list[str], target: list[str]) -> tuple[WordPairs, np.ndarray, np.ndarray]:
    """All pairs of the words, and a pair of reserved and one of missing ids."""
    sides = Vocabulary(tuple(source)), Vocabulary(tuple(target))
    first, second = np.meshgrid(*(np.arange(NUM_RESERVED, len(side)) for side in sides), indexing="ij")
    words = [np.concatenate([part.reshape(-1), [0, 10**6]]).astype(np.int32) for part in (first, second)]
    none = np.full(1, -1, np.int32)
    return WordPairs(*words, np.ones(len(words[0]), bool), none, none), *(spellings(side) for side in sides)


def slow_likeness(first: str, second: str) -> float:
    shared = max(size for size in range(min(len(first), len(second)) + 1) if first[:size] == second[:size])
    longer = max(len(first), len(second))
    return shared / longer if shared / longer >= 0.6 and (shared >= 4 or shared == longer) else 0.0


def test_likeness_by_hand():
    pairs, *sides = numbered(["Unité", "popularité", "1,122", "chat", "é", "internationales"],
                             ["unity", "popularity", "1,122", "chair", "E", "internationally"])  # fmt: skip
    found = likeness(pairs, *sides)[:-2].reshape(6, 6)
    expected = np.diag([0.8, 0.9, 1.0, 0.0, 1.0, 1.0])  # of the last two only twelve letters count
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("at_once", [1, 7, 10**6])
def test_likeness_equals_slow_reference(monkeypatch, at_once):
    monkeypatch.setattr(likeness_module, "_PAIRS_AT_ONCE", at_once)
    random = np.random.default_rng(0)
    source, target = (
        list(dict.fromkeys("".join(random.choice(list("aab"), random.integers(1, 8))) for _ in range(30)))
        for _ in range(2)
    )
    pairs, *sides = numbered(source, target)
    found = likeness(pairs, *sides)
    expected = [slow_likeness(first, second) for first in source for second in target]
    assert len(set(expected)) > 3
    np.testing.assert_allclose(found[:-2], expected, rtol=1e-6)
    assert np.all(found[-2:] == 0)  # NULL, and words without a spelling
    assert len(likeness(WordPairs(*[np.zeros(0, np.int32)] * 5), *sides)) == 0


def test_words_that_occur_once_are_linked_by_their_spelling():
    """In every pair two names change their places: no count tells which is which, and order tells it wrong."""
    random = np.random.default_rng(1)
    names = [f"{letter}{number}name" for number in range(30) for letter in "xy"]
    vocabulary = Vocabulary((*(chr(code) for code in range(97, 107)), *names))
    source, target, places = [], [], random.integers(0, 6, 30)
    for number, place in enumerate(places):
        words = random.permutation(np.arange(NUM_RESERVED, NUM_RESERVED + 10))[:5]
        pair = [vocabulary.id_of[name] for name in names[2 * number : 2 * number + 2]]
        source.append(np.insert(words, place, pair))
        target.append(np.insert(words, place, pair[::-1]))
    bitext = Bitext(ragged_from_rows(source), ragged_from_rows(target))
    known = spellings(vocabulary), spellings(vocabulary)
    linked = []
    for weight in (0.0, 1.0):
        config = AlignConfig(alike_alpha=weight, max_shapes=1)
        prior_fn = likeness_prior(*known, weight)
        _, links = train_and_align(bitext, len(vocabulary), len(vocabulary), config, prior_fn=prior_fn)
        linked.append(sum([place, place + 1] in links[row].tolist() for row, place in enumerate(places)))
    assert linked[0] < 10
    assert linked[1] > 25


def test_m_step_with_a_prior_of_its_own_for_every_pair():
    random = np.random.default_rng(3)
    words = [random.integers(0, 4, 12).astype(np.int32), random.integers(0, 5, 12).astype(np.int32)]
    none = np.full(8, -1, np.int32)
    pairs = WordPairs(*words, np.arange(12) != 5, none, none)
    count, extra = random.random((12, 2)).astype(np.float32), random.random(12).astype(np.float32)
    count[5] = 0
    hot, null = np.zeros((0, 2), np.float32), np.ones(8, np.float32)
    for alpha in (0.0, 0.05):
        lexicon = m_step(LexiconCounts(padded_rows(count), hot, hot, null, null), pairs, alpha, extra)
        prior = (alpha + extra) * pairs.is_seen
        for side, word in enumerate(words):
            total = np.bincount(word, count[:, side] + prior)[word]
            with np.errstate(divide="ignore", invalid="ignore"):
                expected = np.exp(digamma(count[:, side] + prior) - digamma(total)) if alpha else (
                    (count[:, side] + prior) / total)  # fmt: skip
            got = np.asarray(lexicon.pair)[:12, side]
            np.testing.assert_allclose(got[pairs.is_seen], expected[pairs.is_seen], rtol=1e-3)


def test_links_of_other_text_decide_where_this_one_says_nothing():
    vocabulary = Vocabulary(("a", "b"))
    rows = [vocabulary.encode(["a", "b"])] * 4
    bitext = Bitext(ragged_from_rows(rows), ragged_from_rows(rows))

    def crossed(pairs: WordPairs) -> np.ndarray:
        return np.where(pairs.source_word != pairs.target_word, 50, 0).astype(np.float32)

    config = AlignConfig(ibm1_iterations=3, diagonal_iterations=0, hmm_iterations=0)
    sizes = len(vocabulary), len(vocabulary)
    _, links = train_and_align(bitext, *sizes, config, prior_fn=crossed)
    assert links[0].tolist() == [[0, 1], [1, 0]]
    _, links = train_and_align(bitext, *sizes, config, prior_fn=lambda pairs: 50 - crossed(pairs))
    assert links[0].tolist() == [[0, 0], [1, 1]]


def test_negative_priors_are_named():
    for name in ("alpha", "alike_alpha", "tension"):
        with pytest.raises(UserError, match=rf"align\.{name} is -1\.0: give a number from 0 to"):
            AlignConfig(**{name: -1.0})
