"""Small random development sets, and what the fits of mixture weights minimise, by the definitions."""

from dataclasses import dataclass, replace

import numpy as np

from jaxsmt.tm.component import Component
from jaxsmt.tm.component_table import ComponentTable, component_table
from jaxsmt.tm.fit.development import DevelopmentPairs, development_pairs
from jaxsmt.tm.restrict import keep_pairs
from jaxsmt.tm.union import UnionView, build_union
from tests.tm.small_models import Model, Side, pairs_of, random_model, slow_features, text_of, to_component


@dataclass(frozen=True)
class Case:
    """D models, their union, and S development sets as arrays and as {pair: count}."""

    models: list[Model]
    components: list[Component]
    union: UnionView
    development: DevelopmentPairs
    sets: list[dict[tuple[Side, Side], float]]

    @property
    def table(self) -> ComponentTable:
        return component_table(self.union, self.components)


def random_case(
    seed: int, sizes: tuple[int, ...] = (30, 20, 25), num_sets: int = 2, kind: str = "phrase", favour: int | None = None
) -> Case:
    """Models that share many pairs, and sets with some pairs and words that no model has.

    favour: the model whose pairs the sets are drawn from; all if None.
    """
    rng = np.random.default_rng(seed)
    world = random_model(rng, 50, kind, num_words=3)
    models = [part_of(world, size, rng, kind) for size in sizes]
    components = [to_component(model, f"m{d}", rng, kind) for d, model in enumerate(models)]
    text = random_model(rng, 15, kind, num_words=4)
    for model in models if favour is None else [models[favour]]:
        for name in ("joint", "source", "target", "links_by_target", "links_by_source"):
            getattr(text, name).update(getattr(model, name))
    corpus = to_component(text, "text", rng, kind)
    pairs = pairs_of(build_union([corpus]))  # one component's pairs keep their order
    counts, sets = [], []
    for _ in range(num_sets):
        keep = np.flatnonzero(rng.random(len(pairs)) < 0.7)
        frequency = rng.integers(1, 9, len(keep)).astype(np.float32)
        if favour is not None:
            frequency *= [models[favour].joint.get(pairs[place], 0.1) for place in keep]
        counts.append(replace(keep_pairs(corpus.rules, keep), joint_counts=frequency))
        sets.append({pairs[place]: float(count) for place, count in zip(keep, frequency, strict=True)})
    union = build_union(components)
    names = [f"set {number}" for number in range(num_sets)]
    development = development_pairs(union, counts, corpus.source_vocabulary, corpus.target_vocabulary, names)
    return Case(models, components, union, development, sets)


def part_of(world: Model, size: int, rng: np.random.Generator, kind: str) -> Model:
    """A model with some of the world's pairs and other counts, marginals, links and words."""
    other = random_model(rng, 1, kind, num_words=3)
    chosen = [list(world.joint)[place] for place in rng.permutation(len(world.joint))[:size]]
    joint = {pair: float(rng.integers(1, 9)) for pair in chosen}
    source, target = dict(other.source), dict(other.target)
    for (s, t), count in joint.items():
        source[s] = source.get(s, float(rng.integers(3))) + count
        target[text_of(t)] = target.get(text_of(t), float(rng.integers(3))) + count
    source |= {s: float(rng.integers(1, 5)) for s, _ in world.joint if s not in source and rng.random() < 0.5}
    for pair, count in other.joint.items():
        joint.setdefault(pair, count)
    links = [
        {pair: _links(part, pair, rng) for pair in joint} for part in (world.links_by_target, world.links_by_source)
    ]
    # no model has a count for some words, so that some lexical weights are 0 for every λ
    words = {pair: float(rng.integers(1, 20)) for pair in world.words if pair != ("f1", "e2") and rng.random() < 0.8}
    source_words = {w: sum(c for (s, _), c in words.items() if s == w) for w, _ in words}
    target_words = {w: sum(c for (_, t), c in words.items() if t == w) for _, w in words}
    return Model(joint, source, target, links[0], links[1], words, source_words, target_words)


def _links(links: dict, pair: tuple[Side, Side], rng: np.random.Generator) -> set[tuple[int, int]]:
    """The world's links or, now and then, fewer."""
    return {link for link in sorted(links.get(pair, set())) if rng.random() < 0.9}


def slow_entropy(case: Case, number: int, weights: np.ndarray) -> np.ndarray:
    """[4] bits of a set at λ [4, D], over its pairs that are in a model and whose feature can be above 0."""
    total, used = np.zeros(4), np.zeros(4)
    for pair, count in case.sets[number].items():
        if any(pair in model.joint for model in case.models):
            is_used = np.array(slow_features(case.models, np.ones_like(weights), pair)) > -100
            total -= np.where(is_used, count * np.array(slow_features(case.models, weights, pair)), 0)
            used += count * is_used
    return total / used / np.log(2)


def slow_linear_entropy(case: Case, number: int, weights: np.ndarray, normalised: bool = False) -> np.ndarray:
    """[4] bits of a set under the linear mixture λ [4, D], each model with its own alignment."""
    total, used = np.zeros(4), np.zeros(4)
    for pair, count in case.sets[number].items():
        if any(pair in model.joint for model in case.models):
            values, knows = np.zeros((len(case.models), 4)), np.ones((len(case.models), 4))
            for d, model in enumerate(case.models):
                if normalised:
                    target, source = model.target.get(text_of(pair[1]), 0) > 0, model.source.get(pair[0], 0) > 0
                    knows[d] = [target, target, source, source]
                if pair in model.joint:
                    logs = np.array(slow_features([model], np.ones((4, 1)), pair))
                    values[d] = np.where(logs > -100, np.exp(logs), 0)
            is_used = values.any(0)
            mixed = (weights.T * values).sum(0) / (weights.T * knows).sum(0)
            total -= np.where(is_used, count * np.log2(np.where(is_used, mixed, 1)), 0)
            used += count * is_used
    return total / used
