"""Phrase pairs: a sentence worked out by hand, and every box by brute force."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.extract import ExtractConfig, extract_counts, extraction
from jaxsmt.text.buckets import make_batches

MONO, SWAP, OTHER = 0, 1, 2


def test_a_sentence_by_hand(make_word_corpus, as_table, as_text):
    corpus = make_word_corpus("la maison bleue", "the blue house", "0-0 1-2 2-1")
    table = as_table(extract_counts(corpus.bitext, corpus.links, ExtractConfig()))
    found = {
        (as_text(s, corpus.source_words), as_text(t, corpus.target_words)): entry for (s, t), entry in table.items()
    }
    # previous: mono swap other, next: mono swap other
    expected = {
        ("la", "the"): [1, 0, 0, 0, 0, 1],
        ("maison", "house"): [0, 1, 0, 0, 0, 1],
        ("bleue", "blue"): [0, 0, 1, 0, 1, 0],
        ("maison bleue", "blue house"): [1, 0, 0, 1, 0, 0],
        ("la maison bleue", "the blue house"): [1, 0, 0, 1, 0, 0],
    }
    assert {pair: entry["orientations"] for pair, entry in found.items()} == expected
    assert all(entry["counts"] == (1, 1, 1) for entry in found.values())
    assert found["maison bleue", "blue house"]["by_target"] == {(0, 1), (1, 0)}
    assert found["la maison bleue", "the blue house"]["by_source"] == {(0, 0), (1, 2), (2, 1)}


def test_unaligned_words_belong_and_do_not(make_word_corpus, as_table, as_text):
    corpus = make_word_corpus("il ne dort", "he sleeps now", "0-0 2-1")
    table = as_table(extract_counts(corpus.bitext, corpus.links, ExtractConfig()))
    found = {(as_text(s, corpus.source_words), as_text(t, corpus.target_words)) for s, t in table}
    assert found == {
        ("il", "he"), ("il ne", "he"), ("ne dort", "sleeps"), ("dort", "sleeps"), ("ne dort", "sleeps now"),
        ("dort", "sleeps now"), ("il ne dort", "he sleeps"), ("il ne dort", "he sleeps now"),
    }  # fmt: skip


def boxes_by_definition(num_source, num_target, links, max_length):
    """All consistent boxes as (first source, last source, first target, last target)."""
    for i in range(num_source):
        for i_end in range(i, min(num_source, i + max_length)):
            for j in range(num_target):
                for j_end in range(j, min(num_target, j + max_length)):
                    inside = [i <= s <= i_end and j <= t <= j_end for s, t in links]
                    touching = [i <= s <= i_end or j <= t <= j_end for s, t in links]
                    if any(inside) and inside == touching:
                        yield i, i_end, j, j_end


def orientation_by_definition(straight, crossed, links, num_source, num_target):
    linked = {*links, (-1, -1), (num_source, num_target)}
    if (straight in linked) == (crossed in linked):
        return OTHER
    return MONO if straight in linked else SWAP


def phrases_by_definition(rows, max_length, choose):
    joint, source_total, target_total = Counter(), Counter(), Counter()
    alignments, orientations = defaultdict(Counter), defaultdict(lambda: [0] * 6)
    for source, target, links in rows:
        ends = links, len(source), len(target)
        for i, i_end, j, j_end in boxes_by_definition(len(source), len(target), links, max_length):
            pair = tuple(source[i : i_end + 1]), tuple(target[j : j_end + 1])
            joint[pair] += 1
            source_total[pair[0]] += 1
            target_total[pair[1]] += 1
            alignments[pair][frozenset((s - i, t - j) for s, t in links if i <= s <= i_end)] += 1
            orientations[pair][orientation_by_definition((i - 1, j - 1), (i_end + 1, j - 1), *ends)] += 1
            orientations[pair][3 + orientation_by_definition((i_end + 1, j_end + 1), (i - 1, j_end + 1), *ends)] += 1
    return {
        pair: {
            "counts": (joint[pair], source_total[pair[0]], target_total[pair[1]]),
            "by_target": choose(alignments[pair], max_length, 1),
            "by_source": choose(alignments[pair], max_length, 0),
            "orientations": orientations[pair],
        }
        for pair in joint
    }


@pytest.mark.parametrize(
    ("seed", "num_rows", "longest", "max_length"), [(0, 60, 9, 7), (1, 60, 6, 3), (2, 40, 10, 8), (3, 30, 3, 1)]
)
def test_random_sentences(seed, num_rows, longest, max_length, make_rows, make_corpus, as_table, choose_alignment):
    rows = make_rows(seed, num_rows, longest, num_words=2)
    counts = extract_counts(*make_corpus(rows), ExtractConfig(max_phrase_length=max_length))
    expected = phrases_by_definition(rows, max_length, choose_alignment)
    assert len(expected) > 3
    assert as_table(counts) == expected


@pytest.mark.parametrize("rows", [[], [([], [], [])], [([6], [], [])], [([6, 7], [8], [])]])
def test_nothing_to_extract(rows, make_corpus):
    counts = extract_counts(*make_corpus(rows), ExtractConfig())
    assert len(counts) == 0
    assert counts.source_sides.shape == (0, 7)
    assert counts.target_sides.shape == (0, 7)
    assert counts.links_by_target.shape == (0, 7)
    assert counts.orientation_counts.shape == (0, 6)
    assert counts.joint_counts.dtype == np.float32


def test_one_word_a_side(make_corpus, as_table):
    table = as_table(extract_counts(*make_corpus([([6], [9], [(0, 0)])]), ExtractConfig()))
    entry = {"counts": (1, 1, 1), "by_target": {(0, 0)}, "by_source": {(0, 0)}, "orientations": [1, 0, 0, 1, 0, 0]}
    assert table == {((6,), (9,)): entry}


def test_without_orientations_the_rest_is_the_same(make_rows, make_corpus, as_table):
    corpus = make_corpus(make_rows(5, 30, 8))
    table = as_table(extract_counts(*corpus, ExtractConfig()))
    bare = extract_counts(*corpus, ExtractConfig(orientations=False))
    assert bare.orientation_counts is None
    for entry in table.values():
        del entry["orientations"]
    assert as_table(bare) == table


@pytest.mark.parametrize("kind", ["phrase", "hiero"])
def test_batches_and_order_of_sentences_change_nothing(kind, make_rows, make_corpus, monkeypatch, check_same):
    rows = make_rows(6, 80, 20, num_words=3)
    config = ExtractConfig(kind=kind)
    counts = extract_counts(*make_corpus(rows), config)
    one_by_one = lambda bitext, config: make_batches(  # noqa: E731
        bitext.source.lengths, bitext.target.lengths, step=32, max_rows=8
    )
    monkeypatch.setattr(extraction, "corpus_batches", one_by_one)
    check_same(extract_counts(*make_corpus(rows), config), counts)
    check_same(extract_counts(*make_corpus(rows[::-1]), config), counts)


def test_several_alignments_count_each_box_once(make_rows, make_corpus, as_table, choose_alignment):
    rows = make_rows(7, 40, 7)
    twins = [(s, t, [(i, j) for i, j in links if (i + j) % 3]) for s, t, links in rows]
    bitext, links = make_corpus(rows)
    _, other = make_corpus(twins)
    config = ExtractConfig()
    same_twice = extract_counts(bitext, links, config, more_links=[links])
    assert as_table(same_twice) == as_table(extract_counts(bitext, links, config))

    joint = Counter()
    for (source, target, first), (_, _, second) in zip(rows, twins, strict=True):
        boxes = {box for way in (first, second) for box in boxes_by_definition(len(source), len(target), way, 7)}
        joint.update((tuple(source[i : i_end + 1]), tuple(target[j : j_end + 1])) for i, i_end, j, j_end in boxes)
    union = as_table(extract_counts(bitext, links, config, more_links=[other]))
    assert {pair: entry["counts"][0] for pair, entry in union.items()} == joint


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "syntax"}, "'syntax'"),
        ({"max_phrase_length": 0}, "max_phrase_length is 0"),
        ({"max_nonterminals": 3}, "max_nonterminals is 3"),
        ({"kind": "hiero", "max_span": 16}, "product"),
        ({"memory_budget_gb": 0.0}, "memory_budget_gb"),
    ],
)
def test_bad_settings_are_named(changes, words):
    with pytest.raises(UserError, match=words):
        ExtractConfig(**changes)


def test_an_alignment_of_other_text_is_refused(make_rows, make_corpus):
    bitext, _ = make_corpus(make_rows(0, 4, 5))
    _, links = make_corpus(make_rows(0, 5, 5))
    with pytest.raises(UserError, match="5 lines for 4"):
        extract_counts(bitext, links, ExtractConfig())


def test_a_link_outside_the_sentence_is_refused(make_corpus):
    with pytest.raises(UserError, match="line 2: link 0-3"):
        extract_counts(*make_corpus([([6], [7], [(0, 0)]), ([6, 6], [7, 7, 7], [(0, 3)])]), ExtractConfig())


def test_several_alignments_for_rules_are_refused(make_rows, make_corpus):
    bitext, links = make_corpus(make_rows(0, 4, 5))
    with pytest.raises(UserError, match="2 alignments"):
        extract_counts(bitext, links, ExtractConfig(kind="hiero"), more_links=[links])
