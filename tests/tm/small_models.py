"""Small random models as dictionaries, the slow and obvious way; and as the arrays of a component."""

import math
from dataclasses import dataclass

import numpy as np

from jaxsmt.extract.counts import LexicalCounts, RuleCounts
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD, Vocabulary
from jaxsmt.tm.component import Component

GAPS = {"X1": NONTERMINALS[0], "X2": NONTERMINALS[1]}
Side = tuple[str, ...]


@dataclass(frozen=True)
class Model:
    """Counts by text. A link set holds (source place, target place); None as a word is NULL."""

    joint: dict[tuple[Side, Side], float]
    source: dict[Side, float]
    target: dict[Side, float]  # by text: both gaps are written 'X'
    links_by_target: dict[tuple[Side, Side], set[tuple[int, int]]]
    links_by_source: dict[tuple[Side, Side], set[tuple[int, int]]]
    words: dict[tuple[str | None, str | None], float]
    source_words: dict[str | None, float]
    target_words: dict[str | None, float]


def text_of(side: Side) -> Side:
    return tuple("X" if token in GAPS else token for token in side)


def random_model(
    rng: np.random.Generator, num_pairs: int, kind: str = "phrase", num_words: int = 5, given: tuple = ()
) -> Model:
    """A random model with the pairs `given` and others; some links have no word count, some sides are of no pair."""
    joint: dict[tuple[Side, Side], float] = {pair: float(rng.integers(1, 9)) for pair in given}
    while len(joint) < num_pairs:
        num_gaps = int(rng.integers(0, 3)) if kind == "hiero" else 0
        source = _random_side(rng, "f", num_words, num_gaps)
        target = _random_side(rng, "e", num_words, num_gaps)
        order = list(rng.permutation(num_gaps))
        gap_names = iter([f"X{place + 1}" for place in order])
        target = tuple(next(gap_names) if token in GAPS else token for token in target)
        joint[source, target] = float(rng.integers(1, 9)) / (1 if kind == "phrase" else 7)
    source_totals, target_totals = _totals(rng, joint)
    links = [{pair: _random_links(rng, *pair) for pair in joint} for _ in range(2)]
    words = _random_words(rng, [link for part in links for link in part.items()])
    source_words = {w: sum(c for (s, _), c in words.items() if s == w) for w, _ in words}
    target_words = {w: sum(c for (_, t), c in words.items() if t == w) for _, w in words}
    return Model(joint, source_totals, target_totals, links[0], links[1], words, source_words, target_words)


def _random_side(rng: np.random.Generator, letter: str, num_words: int, num_gaps: int) -> Side:
    length = int(rng.integers(1, 4)) + num_gaps
    side = [f"{letter}{rng.integers(num_words)}" for _ in range(length)]
    for number, place in enumerate(sorted(rng.permutation(length)[:num_gaps])):
        side[place] = f"X{number + 1}"
    return tuple(side)


def _totals(rng: np.random.Generator, joint: dict) -> tuple[dict[Side, float], dict[Side, float]]:
    """Marginals of at least the joint counts: the whole component may have had more pairs."""
    source: dict[Side, float] = {("f0", "f0", "f0", "f0"): 3.0}
    target: dict[Side, float] = {("e1",): 5.0, ("e0", "e0", "e0", "e0"): 2.0}
    for (s, t), count in joint.items():
        source[s] = source.get(s, float(rng.integers(3))) + count
        target[text_of(t)] = target.get(text_of(t), float(rng.integers(3))) + count
    return source, target


def _random_links(rng: np.random.Generator, source: Side, target: Side) -> set[tuple[int, int]]:
    return {
        (i, j)
        for i, f in enumerate(source)
        for j, e in enumerate(target)
        if f not in GAPS and e not in GAPS and rng.random() < 0.35
    }


def _random_words(rng: np.random.Generator, links: list) -> dict[tuple[str | None, str | None], float]:
    words: dict[tuple[str | None, str | None], float] = {(None, "e0"): 4.0, ("f0", None): 2.0, ("f1", "e9"): 1.0}
    for (source, target), link_set in links:
        for i, j in sorted(link_set):
            if rng.random() < 0.9:
                words[source[i], target[j]] = float(rng.integers(1, 20))
        for word in target:
            if rng.random() < 0.3 and word not in GAPS:
                words[None, word] = float(rng.integers(1, 20))
        for word in source:
            if rng.random() < 0.3 and word not in GAPS:
                words[word, None] = float(rng.integers(1, 20))
    return words


def to_component(model: Model, name: str, rng: np.random.Generator, kind: str = "phrase") -> Component:
    """The model as arrays, with vocabularies in random order."""
    pairs = list(model.joint)
    source_vocabulary = _vocabulary([s for s, _ in pairs] + list(model.source), [s for s, _ in model.words], rng)
    target_vocabulary = _vocabulary([t for _, t in pairs] + list(model.target), [t for _, t in model.words], rng)
    source_rows = sorted({_ids(s, source_vocabulary) for s in [*model.source, *(s for s, _ in pairs)]})
    without_pair = [t for t in model.target if "X" not in t]
    target_rows = sorted({_ids(t, target_vocabulary) for t in [*without_pair, *(t for _, t in pairs)]})
    order = sorted(
        (source_rows.index(_ids(s, source_vocabulary)), target_rows.index(_ids(t, target_vocabulary)), (s, t))
        for s, t in pairs
    )
    source_width, target_width = (max(map(len, rows), default=0) for rows in (source_rows, target_rows))
    rules = RuleCounts(
        source_sides=_padded(source_rows, source_width),
        target_sides=_padded(target_rows, target_width),
        source_index=np.array([s for s, _, _ in order], np.int32),
        target_index=np.array([t for _, t, _ in order], np.int32),
        joint_counts=np.array([model.joint[pair] for _, _, pair in order], np.float32),
        source_counts=np.array([model.source[_texts(row, source_vocabulary)] for row in source_rows], np.float32),
        target_counts=np.array(
            [model.target[text_of(_texts(row, target_vocabulary))] for row in target_rows], np.float32
        ),
        links_by_target=_masks([{(j, i) for i, j in model.links_by_target[p]} for _, _, p in order], target_width),
        links_by_source=_masks([model.links_by_source[p] for _, _, p in order], source_width),
        orientation_counts=None,
    )
    return Component(
        name, kind, rules, _lexical(model, source_vocabulary, target_vocabulary), source_vocabulary, target_vocabulary
    )


def _lexical(model: Model, source: Vocabulary, target: Vocabulary) -> LexicalCounts:
    def number(word: str | None, vocabulary: Vocabulary) -> int:
        return PAD if word is None else vocabulary.id_of[word]

    rows = sorted((number(s, source), number(t, target), count) for (s, t), count in model.words.items())
    source_counts, target_counts = np.zeros(len(source), np.float32), np.zeros(len(target), np.float32)
    for word, count in model.source_words.items():
        source_counts[number(word, source)] = count
    for word, count in model.target_words.items():
        target_counts[number(word, target)] = count
    return LexicalCounts(
        np.array([row[:2] for row in rows], np.int32),
        np.array([row[2] for row in rows], np.float32),
        source_counts,
        target_counts,
    )


def _vocabulary(sides: list[Side], words: list[str | None], rng: np.random.Generator) -> Vocabulary:
    known = sorted(
        {w for side in sides for w in side if w not in GAPS and w != "X"} | {w for w in words if w is not None}
    )
    return Vocabulary(tuple(known[i] for i in rng.permutation(len(known))))


def _ids(side: Side, vocabulary: Vocabulary) -> tuple[int, ...]:
    return tuple(GAPS.get(token) or vocabulary.id_of[token] for token in side)


def _texts(row: tuple[int, ...], vocabulary: Vocabulary) -> Side:
    names = {number: name for name, number in GAPS.items()}
    return tuple(names.get(i) or vocabulary.words[i - NUM_RESERVED] for i in row)


def _padded(rows: list[tuple[int, ...]], width: int) -> np.ndarray:
    return np.array([row + (PAD,) * (width - len(row)) for row in rows], np.int32).reshape(len(rows), width)


def _masks(links: list[set[tuple[int, int]]], width: int) -> np.ndarray:
    masks = np.zeros((len(links), width), np.uint16)
    for row, link_set in zip(masks, links, strict=True):
        for place, bit in link_set:
            row[place] |= 1 << bit
    return masks


def pairs_of(view) -> list[tuple[Side, Side]]:
    """The texts of the pairs of a union view or table, in its order."""
    index = getattr(view, "statistics", view)
    return [
        (
            _texts(tuple(i for i in view.source_sides[s].tolist() if i), view.source_vocabulary),
            _texts(tuple(i for i in view.target_sides[t].tolist() if i), view.target_vocabulary),
        )
        for s, t in zip(index.source_index.tolist(), index.target_index.tolist(), strict=True)
    ]


def slow_features(models: list[Model], weights: np.ndarray, pair: tuple[Side, Side]) -> list[float]:
    """The four features of a pair in float64, by the definitions."""
    source, target = pair
    first = next(model for model in models if pair in model.joint)

    def mixed(row: int, values: list[float]) -> float:
        return sum(float(weight) * value for weight, value in zip(weights[row], values, strict=True))

    def ratio(row: int, joint: list[float], total: list[float]) -> float:
        return mixed(row, joint) / mixed(row, total) if mixed(row, total) > 0 else 0.0

    def word(row: int, f: str | None, e: str | None) -> float:
        joint = [model.words.get((f, e), 0.0) for model in models]
        totals = [model.target_words.get(e, 0.0) if row == 1 else model.source_words.get(f, 0.0) for model in models]
        return ratio(row, joint, totals)

    to_source = to_target = 1.0
    for i, f in enumerate(source):
        if f not in GAPS:
            partners = [target[j] for k, j in sorted(first.links_by_source[pair]) if k == i] or [None]
            to_source *= sum(word(1, f, e) for e in partners) / len(partners)
    for j, e in enumerate(target):
        if e not in GAPS:
            partners = [source[i] for i, k in sorted(first.links_by_target[pair]) if k == j] or [None]
            to_target *= sum(word(3, f, e) for f in partners) / len(partners)
    joint = [model.joint.get(pair, 0.0) for model in models]
    values = (
        ratio(0, joint, [model.target.get(text_of(target), 0.0) for model in models]),
        to_source,
        ratio(2, joint, [model.source.get(source, 0.0) for model in models]),
        to_target,
    )
    return [max(math.log(value), -100.0) if value > 0 else -100.0 for value in values]
