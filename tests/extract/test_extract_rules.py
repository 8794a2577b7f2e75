"""Hierarchical rules: a sentence worked out by hand, and every rule by brute force."""

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest

from jaxsmt.extract import ExtractConfig, extract_counts, extraction
from jaxsmt.extract.keeping import keep_pairs
from jaxsmt.text.vocabulary import NONTERMINALS, UNKNOWN

X1, X2 = NONTERMINALS


def joint_by_text(corpus, config, as_table, as_text):
    table = as_table(extract_counts(corpus.bitext, corpus.links, config))
    return {
        (as_text(s, corpus.source_words), as_text(t, corpus.target_words)): entry["counts"][0]
        for (s, t), entry in table.items()
    }


def test_a_sentence_by_hand(make_word_corpus, as_table, as_text):
    corpus = make_word_corpus("la maison bleue", "the blue house", "0-0 1-2 2-1")
    # every initial phrase pair has one count, which its rules share; a gap stands for two source words
    expected = {
        ("la", "the"): 1,
        ("maison", "house"): 1,
        ("bleue", "blue"): 1,
        ("maison bleue", "blue house"): 1,
        ("la maison bleue", "the blue house"): 1 / 2,
        ("la X1", "the X1"): 1 / 2,
    }
    assert joint_by_text(corpus, ExtractConfig(kind="hiero"), as_table, as_text) == expected


def test_gaps_of_one_word_by_hand(make_word_corpus, as_table, as_text):
    corpus = make_word_corpus("la maison bleue", "the blue house", "0-0 1-2 2-1")
    found = joint_by_text(corpus, ExtractConfig(kind="hiero", min_gap=1), as_table, as_text)
    expected = {
        ("la", "the"): 1,
        ("maison", "house"): 1,
        ("bleue", "blue"): 1,
        ("maison bleue", "blue house"): 1 / 3,
        ("X1 bleue", "blue X1"): 1 / 3,
        ("maison X1", "X1 house"): 1 / 3,
        ("la maison bleue", "the blue house"): 1 / 6,
        ("X1 maison bleue", "X1 blue house"): 1 / 6,
        ("la X1 bleue", "the blue X1"): 1 / 6,
        ("la maison X1", "the X1 house"): 1 / 6,
        ("la X1", "the X1"): 1 / 6,
        ("X1 maison X2", "X1 X2 house"): 1 / 6,
    }
    assert found == pytest.approx(expected, rel=1e-6)
    whole = ExtractConfig(kind="hiero", min_gap=1, fractional=False)
    assert joint_by_text(corpus, whole, as_table, as_text) == dict.fromkeys(expected, 1)


def test_crossed_gaps_share_the_marginal_of_the_target_side(make_word_corpus, as_table, as_text):
    corpus = make_word_corpus("a x b / a x b", "a' y b' / b' y a'", "0-0 1-1 2-2 / 0-2 1-1 2-0")
    table = as_table(extract_counts(corpus.bitext, corpus.links, ExtractConfig(kind="hiero", min_gap=1)))
    marginals = {
        as_text(t, corpus.target_words): entry["counts"][2]
        for (s, t), entry in table.items()
        if as_text(s, corpus.source_words) == "X1 x X2"
    }
    # each sentence gives the rule a share; which gap is which does not matter to the marginal
    joint = table[next(pair for pair in table if as_text(pair[1], corpus.target_words) == "X1 y X2")]["counts"][0]
    assert marginals == pytest.approx({"X1 y X2": 2 * joint, "X2 y X1": 2 * joint})


def boxes_by_definition(num_source, num_target, links, max_span):
    """All consistent boxes as (first source, source end, first target, target end)."""
    for i in range(num_source):
        for i_end in range(i + 1, min(num_source, i + max_span) + 1):
            for j in range(num_target):
                for j_end in range(j + 1, min(num_target, j + max_span) + 1):
                    inside = [i <= s < i_end and j <= t < j_end for s, t in links]
                    touching = [i <= s < i_end or j <= t < j_end for s, t in links]
                    if any(inside) and inside == touching:
                        yield i, i_end, j, j_end


def symbols(begin, end, gaps):
    """Words of a span and gaps (first, end, name) in it, as positions and names in order."""
    place, side = begin, []
    while place < end:
        gap = next((gap for gap in gaps if gap[0] == place), None)
        side.append((None, gap[2]) if gap else (place, None))
        place = gap[1] if gap else place + 1
    return side


def rule_of(box, gaps, source, target, links, config):
    """The rule of a box with gaps (source order), or None if it breaks a rule for rules."""
    if any(a[1] >= b[0] for a, b in pairwise(gaps)):  # they overlap or touch on the source side
        return None
    names = NONTERMINALS[: len(gaps)]
    if any(gap[1] - gap[0] < config.min_gap for gap in gaps):
        return None
    if any(not (box[2] <= g[2] and g[3] <= box[3]) for g in gaps):
        return None
    if any(a[2] < b[3] and b[2] < a[3] for a, b in combinations(gaps, 2)):
        return None
    source_side = symbols(box[0], box[1], [(g[0], g[1], x) for g, x in zip(gaps, names, strict=True)])
    target_side = symbols(box[2], box[3], [(g[2], g[3], x) for g, x in zip(gaps, names, strict=True)])
    kept = frozenset(
        (a, b) for a, (s, _) in enumerate(source_side) for b, (t, _) in enumerate(target_side) if (s, t) in links
    )
    if len(source_side) > config.max_source_symbols or not kept:
        return None
    as_ids = lambda side, text: tuple(name or text[place] for place, name in side)  # noqa: E731
    return as_ids(source_side, source), as_ids(target_side, target), kept


def rules_by_definition(rows, config, choose):
    joint, alignments = Counter(), defaultdict(Counter)
    for source, target, links in rows:
        boxes = list(boxes_by_definition(len(source), len(target), links, config.max_span))
        for box in boxes:
            within = sorted(gap for gap in boxes if box[0] <= gap[0] and gap[1] <= box[1] and gap != box)
            choices = [gaps for count in range(config.max_nonterminals + 1) for gaps in combinations(within, count)]
            rules = [rule_of(box, gaps, source, target, set(links), config) for gaps in choices]
            rules = [rule for rule in rules if rule]
            for source_side, target_side, kept in rules:
                share = Fraction(1, len(rules) if config.fractional else 1)
                joint[source_side, target_side] += share
                alignments[source_side, target_side][kept] += share
    source_total, target_total = Counter(), Counter()
    unnamed = lambda side: tuple(X1 if symbol == X2 else symbol for symbol in side)  # noqa: E731
    for (source_side, target_side), count in joint.items():
        source_total[source_side] += count
        target_total[unnamed(target_side)] += count
    totals = {(s, t): (joint[s, t], source_total[s], target_total[unnamed(t)]) for s, t in joint}
    return {
        (s, t): {
            "counts": pytest.approx([float(total) for total in totals[s, t]], rel=1e-6),
            "by_target": choose(alignments[s, t], 10, 1),
            "by_source": choose(alignments[s, t], 10, 0),
        }
        for s, t in joint
    }


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"min_gap": 1},
        {"fractional": False, "max_span": 6},
        {"max_nonterminals": 1, "min_gap": 1, "max_source_symbols": 3},
        {"max_nonterminals": 0},
        {"max_span": 8, "max_source_symbols": 8, "min_gap": 1},
    ],
)
def test_random_sentences(changes, make_rows, make_corpus, as_table, choose_alignment):
    config = ExtractConfig(kind="hiero", **changes)
    rows = make_rows(11, 36, 9, num_words=2)
    expected = rules_by_definition(rows, config, choose_alignment)
    assert len(expected) > 30
    assert as_table(extract_counts(*make_corpus(rows), config)) == expected


def test_unknown_words_sort_before_gaps(make_rows, make_corpus, as_table, choose_alignment):
    rows = [
        ([UNKNOWN if word == 6 else word for word in s], [UNKNOWN if word == 6 else word for word in t], links)
        for s, t, links in make_rows(12, 20, 8, num_words=2)
    ]
    config = ExtractConfig(kind="hiero", min_gap=1)
    assert as_table(extract_counts(*make_corpus(rows), config)) == rules_by_definition(rows, config, choose_alignment)


@pytest.mark.parametrize("rows", [[], [([], [], [])], [([6], [], [])], [([6, 7], [8], [])]])
def test_nothing_to_extract(rows, make_corpus):
    counts = extract_counts(*make_corpus(rows), ExtractConfig(kind="hiero"))
    assert len(counts) == 0
    assert counts.source_sides.shape == (0, 5)
    assert counts.target_sides.shape == (0, 10)
    assert counts.orientation_counts is None


def seen_by_definition(rows, config):
    """How often each rule was seen, and in how many places of the text each source side that has rules stands."""
    seen, places = Counter(), defaultdict(set)
    for number, (source, target, links) in enumerate(rows):
        boxes = list(boxes_by_definition(len(source), len(target), links, config.max_span))
        for box in boxes:
            for count in range(config.max_nonterminals + 1):
                for gaps in combinations(sorted(boxes), count):
                    inside = all(box[0] <= gap[0] and gap[1] <= box[1] for gap in gaps) and box not in gaps
                    rule = rule_of(box, gaps, source, target, set(links), config) if inside else None
                    if rule:
                        seen[rule[:2]] += 1
                        places[rule[0]].add((number, box[:2], tuple(gap[:2] for gap in gaps)))
    return seen, {side: len(where) for side, where in places.items()}


@pytest.mark.parametrize(
    "changes", [{"min_count": 2}, {"min_source_count": 2}, {"min_count": 3, "min_source_count": 5, "fractional": False}]
)
@pytest.mark.parametrize("in_files", [False, True])
def test_rare_rules_with_gaps_are_left_out(changes, in_files, make_rows, make_corpus, as_table, monkeypatch):
    config = ExtractConfig(kind="hiero", min_gap=1, **changes)
    rows = make_rows(11, 30, 8, num_words=2)
    whole = replace(config, min_count=1, min_source_count=1)
    everything = as_table(extract_counts(*make_corpus(rows), whole))
    seen, places = seen_by_definition(rows, config)
    assert set(seen) == set(everything)
    expected = {
        (s, t): entry  # marginals count what is left out
        for (s, t), entry in everything.items()
        if not {X1, X2} & set(s) or (seen[s, t] >= config.min_count and places[s] >= config.min_source_count)
    }
    assert 10 < len(expected) < len(everything) - 10
    monkeypatch.setattr(extraction, "RULE_CELLS", 1 << 12)
    budget = {"memory_budget_gb": 1e-4} if in_files else {}
    counts = extract_counts(*make_corpus(rows), replace(config, **budget))
    assert as_table(counts) == expected
    assert set(counts.source_index.tolist()) == set(range(len(counts.source_sides)))  # no side without a rule
    assert set(counts.target_index.tolist()) == set(range(len(counts.target_sides)))


@pytest.mark.parametrize("kind", ["phrase", "hiero"])
@pytest.mark.parametrize("unknown", [UNKNOWN, 6])
def test_the_most_frequent_are_chosen_while_counting(kind, unknown, make_rows, make_corpus, check_same):
    rows = [
        ([unknown if word == 6 else word for word in s], [unknown if word == 6 else word for word in t], links)
        for s, t, links in make_rows(13, 60, 9, num_words=2)
    ]
    config = ExtractConfig(kind=kind, min_gap=1)
    counts = extract_counts(*make_corpus(rows), config)
    ranked = sorted(range(len(counts)), key=lambda p: (counts.source_index[p], -counts.joint_counts[p], p))
    kept = [
        pair
        for place, pair in enumerate(ranked)
        if place < 2 or len({*counts.source_index[ranked[place - 2 : place + 1]]}) > 1
    ]
    assert len(kept) < len(counts) - 50
    best = extract_counts(*make_corpus(rows), config, pairs_per_source=2)
    check_same(best, keep_pairs(counts, np.sort(kept)))
    tight = replace(config, memory_budget_gb=1e-4)
    check_same(extract_counts(*make_corpus(rows), tight, pairs_per_source=2), best)


def test_pairs_without_gaps_and_small_texts_keep_what_is_rare(make_rows, make_corpus, check_same):
    corpus = make_corpus(make_rows(14, 12, 6))
    rare = {"min_count": 5, "min_source_count": 5}
    check_same(extract_counts(*corpus, ExtractConfig(**rare)), extract_counts(*corpus, ExtractConfig()))
    assert ExtractConfig(kind="hiero", min_gap=1, **rare).with_rare_rules == ExtractConfig(kind="hiero", min_gap=1)
