"""Counted word pairs against a count by hand and a plain loop."""

from collections import Counter

import numpy as np
import pytest

from jaxsmt.extract import count_words
from jaxsmt.text.vocabulary import PAD


def test_two_sentences_by_hand(make_word_corpus):
    corpus = make_word_corpus("la maison bleue / la", "the house / it", "0-0 1-1 / ")
    words = count_words(corpus.bitext, corpus.links, len(corpus.source_words), len(corpus.target_words))
    name = lambda word, vocabulary: "NULL" if word == PAD else vocabulary.decode([word])[0]  # noqa: E731
    found = {
        (name(s, corpus.source_words), name(t, corpus.target_words)): count
        for (s, t), count in zip(words.word_pairs.tolist(), words.joint_counts.tolist(), strict=True)
    }
    expected = {("la", "the"): 1, ("maison", "house"): 1, ("bleue", "NULL"): 1, ("la", "NULL"): 1, ("NULL", "it"): 1}
    assert found == expected
    assert words.source_counts[corpus.source_words.id_of["la"]] == 2
    assert words.source_counts[PAD] == 1
    assert words.target_counts[PAD] == 2


@pytest.mark.parametrize("num_rows", [0, 1, 50])
def test_random_sentences(num_rows, make_rows, make_corpus):
    rows = make_rows(3, num_rows, 8)
    words = count_words(*make_corpus(rows), 12, 15)
    expected = Counter()
    for source, target, links in rows:
        expected.update((source[i], target[j]) for i, j in links)
        expected.update((word, PAD) for i, word in enumerate(source) if i not in {i for i, _ in links})
        expected.update((PAD, word) for j, word in enumerate(target) if j not in {j for _, j in links})
    pairs = [tuple(pair) for pair in words.word_pairs.tolist()]
    assert pairs == sorted(expected)
    assert words.joint_counts.tolist() == [expected[pair] for pair in pairs]
    for side, total in ((0, words.source_counts), (1, words.target_counts)):
        assert total.tolist() == [sum(n for pair, n in expected.items() if pair[side] == w) for w in range(len(total))]
        assert total.dtype == np.float32
