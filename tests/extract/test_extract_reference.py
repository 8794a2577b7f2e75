"""Extraction against the tables of Moses, where they are there."""

import gzip
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from jaxsmt.align.links import read_links
from jaxsmt.common.ragged import Ragged, concatenate, ragged_from_rows
from jaxsmt.extract import ExtractConfig, RuleCounts, count_words, extract_counts
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import NONTERMINALS, PAD, Vocabulary, build_vocabulary

X1, X2 = NONTERMINALS


class Corpus:
    """The first sentences of the texts named, aligned by grow-diag-final-and."""

    def __init__(self, reference: Path, names: str, num_lines: int):
        source, target, links = [], [], []
        for name in names:
            source += [line.split() for line in read_lines(reference / "text" / f"{name}.fr.gz")[:num_lines]]
            target += [line.split() for line in read_lines(reference / "text" / f"{name}.en.gz")[:num_lines]]
            aligned = read_links(reference / "align" / f"{name}.grow-diag-final-and.gz")
            links.append(Ragged(aligned.values[: aligned.offsets[num_lines]], aligned.offsets[: num_lines + 1]))
        self.source_words = build_vocabulary(Counter(word for line in source for word in line))
        self.target_words = build_vocabulary(Counter(word for line in target for word in line))
        self.links = concatenate(links)
        self.bitext = Bitext(
            ragged_from_rows([self.source_words.encode(line) for line in source]),
            ragged_from_rows([self.target_words.encode(line) for line in target]),
        )

    def sides(self, counts: RuleCounts) -> tuple[list[str], list[str]]:
        return texts(counts.source_sides, self.source_words), texts(counts.target_sides, self.target_words)


@cache
def extracted(reference: Path, names: str, num_lines: int, kind: str = "phrase") -> tuple[Corpus, RuleCounts]:
    corpus = Corpus(reference, names, num_lines)
    return corpus, extract_counts(corpus.bitext, corpus.links, ExtractConfig(kind=kind))


def read_lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        return stream.read().split("\n")[:-1]


def read_table(path: Path) -> list[list[str]]:
    return [[field.strip() for field in line.split("|||")] for line in read_lines(path)]


def texts(sides: np.ndarray, words: Vocabulary) -> list[str]:
    name = ["", "", "", "", "[X][X]", "[X][X]", *words.words]
    return [" ".join(name[i] for i in side if i != PAD) for side in sides.tolist()]


def pharaoh(text: str) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in (link.split("-") for link in text.split())}


def links_of(masks: list[int]) -> set[tuple[int, int]]:
    return {(i, j) for j, mask in enumerate(masks) for i in range(16) if mask >> i & 1}


@pytest.mark.parametrize("names", ["A", "B", "AB"])
def test_phrase_table(names, reference):
    corpus, counts = extracted(reference, names, 1000)
    source, target = corpus.sides(counts)
    table = {(row[0], row[1]): row for row in read_table(reference / "phrase" / f"{names}1k.phrase-table.gz")}
    assert len(counts) == len(table)
    joint, masks = counts.joint_counts.tolist(), counts.links_by_target.tolist()
    for pair, (s, t) in enumerate(zip(counts.source_index.tolist(), counts.target_index.tolist(), strict=True)):
        row = table[source[s], target[t]]
        target_count, source_count = float(counts.target_counts[t]), float(counts.source_counts[s])
        assert [float(value) for value in row[4].split()] == [target_count, source_count, joint[pair]]
        assert links_of(masks[pair]) == pharaoh(row[3])
        backward, _, forward, _ = (float(value) for value in row[2].split())
        assert abs(joint[pair] / target_count - backward) <= 1e-4 * backward
        assert abs(joint[pair] / source_count - forward) <= 1e-4 * forward


@pytest.mark.parametrize("name", ["A", "B"])
def test_sizes_of_the_tables_of_4000_sentences(name, reference):
    sizes = (reference / "phrase" / "SHA256.full.txt").read_text(encoding="utf-8").splitlines()
    expected = {line.split()[2]: int(line.split()[1]) for line in sizes}
    _, counts = extracted(reference, name, 4000)
    assert len(counts) == expected[f"{name}.phrase-table"]
    assert counts.joint_counts.sum(dtype=np.float64) == expected[f"{name}.extract.sorted"]


def test_counts_of_two_corpora_add_up(reference):
    sums, table = Counter(), Counter()
    for names, store in (("A", sums), ("B", sums), ("AB", table)):
        corpus, counts = extracted(reference, names, 1000)
        source, target = corpus.sides(counts)
        for s, t, count in zip(counts.source_index, counts.target_index, counts.joint_counts.tolist(), strict=True):
            store[source[s], target[t]] += count
    assert sums == table


@pytest.mark.parametrize("names", ["A", "B", "AB"])
def test_word_counts(names, reference):
    corpus, _ = extracted(reference, names, 1000)
    words = count_words(corpus.bitext, corpus.links, len(corpus.source_words), len(corpus.target_words))
    source = ["NULL", *[""] * 5, *corpus.source_words.words]
    target = ["NULL", *[""] * 5, *corpus.target_words.words]
    forward, backward = set(), set()
    for (s, t), count in zip(words.word_pairs.tolist(), words.joint_counts.tolist(), strict=True):
        forward.add((target[t], source[s], int(count), int(words.source_counts[s])))
        backward.add((source[s], target[t], int(count), int(words.target_counts[t])))
    for found, name in ((forward, "f2e"), (backward, "e2f")):
        lines = read_lines(reference / "phrase" / f"{names}1k.lex.counts.{name}.gz")
        assert found == {(a, b, int(c), int(n)) for a, b, c, n in (line.split(" ") for line in lines)}


def test_reordering_table(reference):
    corpus, counts = extracted(reference, "A", 1000)
    source, target = corpus.sides(counts)
    assert counts.orientation_counts is not None
    smoothed = counts.orientation_counts.reshape(-1, 2, 3) + 0.5
    probability = (smoothed / smoothed.sum(axis=2, keepdims=True)).reshape(-1, 6)
    rows = read_table(reference / "phrase" / "A1k.reordering-table.wbe-msd-bidirectional-fe.gz")
    table = {(row[0], row[1]): [float(value) for value in row[2].split()] for row in rows}
    pairs = [(source[s], target[t]) for s, t in zip(counts.source_index, counts.target_index, strict=True)]
    assert len(table) == len(pairs)
    np.testing.assert_allclose(probability, [table[pair] for pair in pairs], rtol=1e-5)


def test_extracted_phrases_and_orientations(reference):
    corpus, counts = extracted(reference, "A", 100)
    source, target = corpus.sides(counts)
    joint = Counter((row[0], row[1]) for row in read_table(reference / "phrase" / "A100.extract.sorted.gz"))
    orientations = defaultdict(lambda: [0.0] * 6)
    names = ("mono", "swap", "other")
    for row in read_table(reference / "phrase" / "A100.extract.o.sorted.gz"):
        before, after = row[2].split()
        orientations[row[0], row[1]][names.index(before)] += 1
        orientations[row[0], row[1]][3 + names.index(after)] += 1
    pairs = [(source[s], target[t]) for s, t in zip(counts.source_index, counts.target_index, strict=True)]
    assert dict(zip(pairs, counts.joint_counts.tolist(), strict=True)) == joint
    assert counts.orientation_counts is not None
    assert dict(zip(pairs, counts.orientation_counts.tolist(), strict=True)) == orientations


def rule_key(source: str, target: str, alignment: str) -> tuple[str, str, bool]:
    """The sides without the left-hand side, and whether the gaps are crossed."""
    symbols = target.split()[:-1]
    gaps = [i for i, j in sorted(pharaoh(alignment), key=lambda link: link[1]) if symbols[j] == "[X][X]"]
    return source.removesuffix(" [X]"), " ".join(symbols), gaps != sorted(gaps)


def our_rules(reference: Path, num_lines: int) -> tuple[RuleCounts, list[tuple[str, str, bool]]]:
    corpus, counts = extracted(reference, "A", num_lines, "hiero")
    source, target = corpus.sides(counts)
    crossed = [X1 in side and X2 in side and side.index(X2) < side.index(X1) for side in counts.target_sides.tolist()]
    keys = [(source[s], target[t], crossed[t]) for s, t in zip(counts.source_index, counts.target_index, strict=True)]
    return counts, keys


def test_extracted_rules(reference):
    counts, keys = our_rules(reference, 100)
    expected = Counter()
    for row in read_table(reference / "hiero-rules" / "A100.extract.sorted.gz"):
        expected[rule_key(row[0], row[1], row[2])] += float(row[3])
    assert set(keys) == set(expected)
    assert len(keys) == len(expected)
    np.testing.assert_allclose(counts.joint_counts, [expected[key] for key in keys], rtol=1e-5)


def test_rule_table(reference):
    counts, keys = our_rules(reference, 500)
    lines = read_table(reference / "hiero-rules" / "A500.rule-table.gz")
    table = {rule_key(row[0], row[1], row[3]): row for row in lines}
    assert set(keys) == set(table)
    assert len(keys) == len(table)
    rows = [table[key] for key in keys]
    expected = np.array([[float(value) for value in row[4].split()] for row in rows])
    target_counts = counts.target_counts[counts.target_index]
    source_counts = counts.source_counts[counts.source_index]
    np.testing.assert_allclose(np.stack([target_counts, source_counts], 1), expected[:, :2], rtol=1e-4)

    # where X1 … X2 and X2 … X1 both go with one source side, Moses joins the halves of its table by the words
    # alone and may give the one the count of the other: those are compared in ascending order
    twin_of = {key: place for place, key in enumerate(keys)}
    twins = np.array([twin_of.get((s, t, not crossed), place) for place, (s, t, crossed) in enumerate(keys)])
    single = twins == np.arange(len(keys))
    assert 0 < (~single).sum() < 200
    joint = np.asarray(counts.joint_counts, np.float64)
    np.testing.assert_allclose(joint[single], expected[single, 2], rtol=1e-4)
    both = [np.sort(np.stack([values, values[twins]]), axis=0) for values in (joint, expected[:, 2])]
    np.testing.assert_allclose(both[0], both[1], rtol=1e-4)
    probabilities = np.array([[float(value) for value in row[2].split()] for row in rows])
    np.testing.assert_allclose((joint / target_counts)[single], probabilities[single, 0], rtol=1e-4)
    np.testing.assert_allclose((joint / source_counts)[single], probabilities[single, 2], rtol=1e-4)
    for key, row, masks in zip(keys, rows, counts.links_by_target.tolist(), strict=True):
        symbols = key[1].split()
        assert links_of(masks) == {(i, j) for i, j in pharaoh(row[3]) if symbols[j] != "[X][X]"}
