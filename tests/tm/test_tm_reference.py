"""Against Moses' own tables."""

import gzip
from collections import Counter

import numpy as np
import pytest

from jaxsmt.extract.counts import LexicalCounts
from jaxsmt.text.vocabulary import PAD
from jaxsmt.tm.features import union_features
from jaxsmt.tm.moses import tables as moses
from jaxsmt.tm.moses.lexical import LexicalPaths, write_lexical_tables
from jaxsmt.tm.reordering import application_orientations
from jaxsmt.tm.scored import component_of_table, score_component
from jaxsmt.tm.union import build_union
from tests.tm.small_models import pairs_of


def read_component(reference, name):
    folder = reference / "phrase"
    lexical = LexicalPaths(folder / f"{name}.lex.counts.f2e.gz", folder / f"{name}.lex.counts.e2f.gz")
    return moses.read_component(folder / f"{name}.phrase-table.gz", lexical, name)


@pytest.fixture(scope="module")
def components(reference):
    return {name: read_component(reference, name) for name in ("A1k", "B1k")}


def compare(union, table, tied_lexical_share, order):
    """Features of a union at λ = 1 against a table's scores; lex where both use the same alignment.

    order: the place in the union of each pair of the table.
    """
    np.testing.assert_array_equal(np.sort(order), np.arange(len(union)))
    values = np.exp(np.asarray(union_features(union, np.ones((4, len(union.names)))), np.float64))[order]
    np.testing.assert_allclose(values[:, [0, 2]], table.scores[:, [0, 2]], rtol=1e-4)
    same_links = (union.links_by_target[order] == table.links_by_target).all(1)
    assert same_links.mean() > 1 - tied_lexical_share
    np.testing.assert_allclose(values[same_links, 3], table.scores[same_links, 3], rtol=2e-3)
    # the table shows one alignment; Moses may have used another of the same frequency for lex(f|e)
    agrees = np.isclose(values[:, 1], table.scores[:, 1], rtol=2e-3)
    assert agrees.mean() > 1 - tied_lexical_share
    return values


def same_order(union, table):
    """The identity, where table and union have the same ids."""
    np.testing.assert_array_equal(union.source_sides, table.source_sides)
    np.testing.assert_array_equal(union.target_sides, table.target_sides)
    np.testing.assert_array_equal(union.statistics.source_index, table.source_index)
    np.testing.assert_array_equal(union.statistics.target_index, table.target_index)
    return np.arange(len(table))


def test_one_component_has_the_scores_of_its_table(reference, components):
    table = moses.read_scored_table(reference / "phrase" / "A1k.phrase-table.gz")
    union = build_union([components["A1k"]])
    compare(union, table, 125 / 62683, same_order(union, table))


def test_two_components_at_equal_weights_are_the_concatenation(reference, components):
    table = moses.read_scored_table(reference / "phrase" / "AB1k.phrase-table.gz")
    union = build_union([components["A1k"], components["B1k"]])
    place = {pair: p for p, pair in enumerate(pairs_of(union))}
    compare(union, table, 0.005, np.array([place[pair] for pair in pairs_of(table)]))


def test_written_phrase_tables_are_the_bytes_of_moses(reference, components, tmp_path):
    path = reference / "phrase" / "A1k.phrase-table.gz"
    expected = gzip.decompress(path.read_bytes())
    moses.write_table(tmp_path / "table", moses.read_scored_table(path))
    assert (tmp_path / "table").read_bytes() == expected
    moses.write_component(tmp_path / "component", components["A1k"])
    pairs = list(zip((tmp_path / "component").read_bytes().split(b"\n"), expected.split(b"\n"), strict=True))
    different = [(ours.split(), theirs.split()) for ours, theirs in pairs if ours != theirs]
    assert len(different) < 125  # ties between alignments
    for ours, theirs in different:
        score = [place for place, token in enumerate(theirs) if token == b"|||"][1] + 2
        assert [a == b for a, b in zip(ours, theirs, strict=True)] == [place != score for place in range(len(ours))]


def test_written_word_tables_are_the_bytes_of_moses(reference, components, tmp_path):
    write_lexical_tables(components["B1k"], tmp_path / "lex")
    for name in ("f2e", "e2f", "counts.f2e", "counts.e2f"):
        expected = gzip.decompress((reference / "phrase" / f"B1k.lex.{name}.gz").read_bytes())
        assert (tmp_path / f"lex.{name}").read_bytes() == expected


def test_written_reordering_tables_are_the_bytes_of_moses(reference, components, tmp_path):
    path = reference / "phrase" / "A1k.reordering-table.wbe-msd-bidirectional-fe.gz"
    component = moses.with_reordering(components["A1k"], path)
    counts = component.rules.orientation_counts
    np.testing.assert_array_equal(counts[:, :3].sum(1), component.rules.joint_counts)
    np.testing.assert_array_equal(counts[:, 3:].sum(1), component.rules.joint_counts)
    moses.write_component_reordering(tmp_path / "table", component)
    assert (tmp_path / "table").read_bytes() == gzip.decompress(path.read_bytes())


def test_orientations_are_those_of_moses(reference, components):
    path = reference / "phrase" / "A1k.reordering-table.wbe-msd-bidirectional-fe.gz"
    table = moses.read_scored_table(reference / "phrase" / "A1k.phrase-table.gz")
    union = build_union([moses.with_reordering(components["A1k"], path), components["B1k"]])  # B1k has no orientations
    place = {pair: p for p, pair in enumerate(pairs_of(union))}
    pairs = np.array([place[pair] for pair in pairs_of(table)])
    expected = moses.read_reordering_table(path, table)
    for weights in ([1.0, 1.0], [0.01, 5.0], [3.0, 0.0]):
        found = application_orientations(
            union.orientation_counts, np.array([weights]), pairs, np.zeros(len(pairs), int)
        )
        np.testing.assert_allclose(np.exp(found), expected, rtol=1e-5)


def count_words(reference, table, num_sentences):
    """Word counts of the first sentences of A by their alignment."""
    lines = [
        gzip.decompress(path.read_bytes()).decode().split("\n")[:num_sentences]
        for path in (
            reference / "text" / "A.fr.gz",
            reference / "text" / "A.en.gz",
            reference / "align" / "A.grow-diag-final-and.gz",
        )
    ]
    counts: Counter = Counter()
    for source_line, target_line, links in zip(*lines, strict=True):
        source, target = source_line.split(" "), target_line.split(" ")
        pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
        counts.update((source[i], target[j]) for i, j in pairs)
        counts.update((word, None) for i, word in enumerate(source) if i not in {i for i, _ in pairs})
        counts.update((None, word) for j, word in enumerate(target) if j not in {j for _, j in pairs})
    source_ids, target_ids = table.source_vocabulary.id_of, table.target_vocabulary.id_of
    rows = sorted(
        (PAD if s is None else source_ids.get(s, -1), PAD if t is None else target_ids.get(t, -1), count)
        for (s, t), count in counts.items()
    )
    rows = np.array([row for row in rows if min(row[:2]) >= 0])  # words of no rule do not matter
    totals = [np.zeros(len(table.source_vocabulary), np.float32), np.zeros(len(table.target_vocabulary), np.float32)]
    for (s, t), count in counts.items():
        if s is None or s in source_ids:
            totals[0][PAD if s is None else source_ids[s]] += count
        if t is None or t in target_ids:
            totals[1][PAD if t is None else target_ids[t]] += count
    return LexicalCounts(rows[:, :2].astype(np.int32), rows[:, 2].astype(np.float32), *totals)


def test_rule_tables(reference, tmp_path):
    path = reference / "hiero-rules" / "A500.rule-table.gz"
    table = moses.read_scored_table(path)
    assert (table.kind, len(table), table.labels) == ("hiero", 187187, ("X",))
    moses.write_table(tmp_path / "table", table)
    assert (tmp_path / "table").read_bytes() == gzip.decompress(path.read_bytes())
    component = component_of_table(table, count_words(reference, table, 500))
    union = build_union([component])
    values = compare(union, table, 0.001, same_order(union, table))
    np.testing.assert_allclose(np.log(score_component(component).scores), np.log(values), atol=1e-5)


def test_tables_of_the_decoders(reference):
    folder = reference / "decode"
    phrases = moses.read_scored_table(folder / "phrase-table.test100.gz")
    assert (phrases.kind, len(phrases), phrases.scores.shape[1]) == ("phrase", 12545, 4)
    reordering = moses.read_reordering_table(folder / "reordering-table.test100.gz", phrases)
    assert not np.isnan(reordering).any()
    np.testing.assert_allclose(reordering.reshape(-1, 2, 3).sum(-1), 1, atol=1e-5)
    rules = moses.read_scored_table(folder / "rule-table.test100.gz")
    assert (rules.kind, len(rules), rules.counts) == ("hiero", 152642, None)
    glue = moses.read_scored_table(folder / "glue-grammar")
    assert glue.labels == ("X", "S")
    np.testing.assert_allclose(np.sort(glue.scores[:, 0]), [1, 1, 2.718])
