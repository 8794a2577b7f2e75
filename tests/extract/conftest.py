"""Small corpora for the tests of extraction, and counts as dictionaries to compare them by."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.extract import RuleCounts
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD, Vocabulary, build_vocabulary

Link = tuple[int, int]
Row = tuple[list[int], list[int], list[Link]]


@dataclass(frozen=True)
class Corpus:
    """An aligned text, as ids and as words."""

    bitext: Bitext
    links: Ragged
    source_words: Vocabulary
    target_words: Vocabulary


def corpus_of_rows(rows: list[Row]) -> tuple[Bitext, Ragged]:
    """A corpus of (source ids, target ids, links) rows."""
    source, target = (ragged_from_rows([row[side] for row in rows]) for side in (0, 1))
    return Bitext(source, target), ragged_from_rows([sorted(row[2]) for row in rows], width=2)


def random_rows(seed: int, num_rows: int, max_length: int, num_words: int = 4) -> list[Row]:
    """Random sentences of 0 words and more, with few to many links."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(num_rows):
        num_source, num_target = rng.integers(0, max_length + 1, 2)
        density = rng.choice([0.0, 0.1, 0.25, 0.5])
        linked = rng.random((num_source, num_target)) < density / max(num_source, num_target, 1) * 4
        diagonal = rng.random() < 0.5
        links = {(int(i), int(j)) for i, j in np.argwhere(linked)}
        links |= {(i, i) for i in range(min(num_source, num_target)) if diagonal and rng.random() < 0.7}
        source, target = (rng.integers(0, num_words, size) + NUM_RESERVED for size in (num_source, num_target))
        rows.append((source.tolist(), target.tolist(), sorted(links)))
    return rows


def table_of(counts: RuleCounts) -> dict[tuple[tuple[int, ...], tuple[int, ...]], dict]:
    """What is known of each pair, by the ids of its sides; checks the order and form of the arrays on the way."""
    for sides in (counts.source_sides, counts.target_sides):
        rows = sides.tolist()
        assert rows == sorted(rows)
        assert len(set(map(tuple, rows))) == len(rows)
        assert sides.dtype == np.int32
    places = list(zip(counts.source_index.tolist(), counts.target_index.tolist(), strict=True))
    assert places == sorted(set(places))
    source = [tuple(i for i in side if i != PAD) for side in counts.source_sides.tolist()]
    target = [tuple(i for i in side if i != PAD) for side in counts.target_sides.tolist()]
    table = {}
    for pair, (s, t) in enumerate(places):
        values = counts.joint_counts[pair], counts.source_counts[s], counts.target_counts[t]
        entry = {
            "counts": tuple(float(value) for value in values),
            "by_target": {(i, j) for j, mask in enumerate(counts.links_by_target[pair].tolist()) for i in bits(mask)},
            "by_source": {(i, j) for i, mask in enumerate(counts.links_by_source[pair].tolist()) for j in bits(mask)},
        }
        if counts.orientation_counts is not None:
            entry["orientations"] = counts.orientation_counts[pair].tolist()
        table[source[s], target[t]] = entry
    return table


def bits(mask: int) -> list[int]:
    return [bit for bit in range(16) if mask >> bit & 1]


def choose(alignments: dict[frozenset[Link], float], width: int, place: int) -> set[Link]:
    """The most frequent alignment; ties: the largest list, over the symbols at `place`, of sorted links."""

    def key(links: frozenset[Link]) -> tuple:
        layout = [sorted(link[1 - place] for link in links if link[place] == symbol) for symbol in range(width)]
        return alignments[links], layout

    return set(max(alignments, key=key))


def assert_same(one: RuleCounts, other: RuleCounts) -> None:
    """Both are equal to the last bit."""
    for name, array in vars(one).items():
        twin = vars(other)[name]
        assert (array is None) == (twin is None)
        if array is not None:
            assert array.dtype == twin.dtype, name
            assert array.shape == twin.shape, name
            assert np.array_equal(array, twin), name


@pytest.fixture
def make_corpus() -> Callable[[list[Row]], tuple[Bitext, Ragged]]:
    return corpus_of_rows


@pytest.fixture
def make_rows() -> Callable[..., list[Row]]:
    return random_rows


@pytest.fixture
def as_table() -> Callable[[RuleCounts], dict]:
    return table_of


@pytest.fixture
def choose_alignment() -> Callable[..., set[Link]]:
    return choose


@pytest.fixture
def check_same() -> Callable[[RuleCounts, RuleCounts], None]:
    return assert_same


@pytest.fixture
def make_word_corpus() -> Callable[[str, str, str], Corpus]:
    def make(source: str, target: str, links: str) -> Corpus:
        """A corpus of texts, sentences separated by ' / '."""
        sides = [[line.split() for line in text.split(" / ")] for text in (source, target)]
        vocabularies = [build_vocabulary(Counter(word for line in lines for word in line)) for lines in sides]
        ids = [
            ragged_from_rows([words.encode(line) for line in lines])
            for lines, words in zip(sides, vocabularies, strict=True)
        ]
        rows = [[tuple(map(int, link.split("-"))) for link in line.split()] for line in links.split(" / ")]
        return Corpus(Bitext(*ids), ragged_from_rows(rows, width=2), *vocabularies)

    return make


@pytest.fixture
def as_text() -> Callable[[tuple[int, ...], Vocabulary], str]:
    def text(side: tuple[int, ...], words: Vocabulary) -> str:
        names = dict(zip(NONTERMINALS, ("X1", "X2"), strict=True))
        return " ".join(names[i] if i in names else words.decode([i])[0] for i in side)

    return text
