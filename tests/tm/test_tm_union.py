from dataclasses import fields, replace

import jax
import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.text.vocabulary import NONTERMINALS
from jaxsmt.tm.component import load_component, save_component
from jaxsmt.tm.factors import intern_factors
from jaxsmt.tm.features import features
from jaxsmt.tm.restrict import prune_component
from jaxsmt.tm.union import build_union
from tests.tm.small_models import pairs_of, random_model, slow_features, text_of, to_component


def random_components(seed: int, sizes: list[int], kinds: list[str] | None = None):
    rng = np.random.default_rng(seed)
    kinds = kinds or ["phrase"] * len(sizes)
    models = [random_model(rng, size, kind) for size, kind in zip(sizes, kinds, strict=True)]
    components = [
        to_component(model, f"m{d}", rng, kind) for d, (model, kind) in enumerate(zip(models, kinds, strict=True))
    ]
    return models, components


def assert_equal_views(first, second):
    assert first.names == second.names
    assert first.source_vocabulary == second.source_vocabulary
    for name in ("source_sides", "target_sides", "links_by_target", "links_by_source"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    for field in fields(first.statistics):
        np.testing.assert_array_equal(getattr(first.statistics, field.name), getattr(second.statistics, field.name))


@pytest.mark.parametrize(
    "kinds", [["phrase", "phrase", "phrase"], ["hiero", "hiero", "hiero"], ["phrase", "hiero", "phrase"]]
)
@pytest.mark.parametrize("sizes", [[20, 30, 10], [0, 1, 25], [0, 0, 0]])
def test_counts_and_links_are_those_of_the_models(sizes, kinds):
    models, components = random_components(1, sizes, kinds)
    union = build_union(components)
    pairs = pairs_of(union)
    assert sorted(pairs) == sorted({pair for model in models for pair in model.joint})
    rows = list(zip(union.statistics.source_index.tolist(), union.statistics.target_index.tolist(), strict=True))
    assert rows == sorted(set(rows))
    for d, model in enumerate(models):
        for p, (pair, (s, t)) in enumerate(zip(pairs, rows, strict=True)):
            assert union.statistics.joint_counts[d, p] == np.float32(model.joint.get(pair, 0))
            assert union.statistics.source_counts[d, s] == np.float32(model.source.get(pair[0], 0))
            assert union.statistics.target_counts[d, t] == np.float32(model.target.get(text_of(pair[1]), 0))
    for p, pair in enumerate(pairs):
        first = next(model for model in models if pair in model.joint)
        by_target = {
            (i, j) for j, mask in enumerate(union.links_by_target[p].tolist()) for i in range(16) if mask >> i & 1
        }
        by_source = {
            (i, j) for i, mask in enumerate(union.links_by_source[p].tolist()) for j in range(16) if mask >> j & 1
        }
        assert by_target == first.links_by_target[pair]
        assert by_source == first.links_by_source[pair]


def test_a_marginal_counts_although_the_component_lacks_the_pair():
    models, components = random_components(3, [20, 20])
    union = build_union(components)
    pairs = pairs_of(union)
    lone = [
        p
        for p, pair in enumerate(pairs)
        if pair not in models[1].joint and models[1].target.get(pair[1]) and pair in models[0].joint
    ]
    assert lone
    with_second = np.asarray(features(union.statistics, np.ones((4, 2), np.float32)))[lone, 0]
    alone = np.asarray(features(union.statistics, np.array([[1, 0]] * 4, np.float32)))[lone, 0]
    assert np.all(with_second < alone)


def test_the_marginal_of_a_target_text_holds_for_both_orders_of_its_gaps():
    first, second = NONTERMINALS
    _, (template,) = random_components(1, [1])
    sides = np.array([[6, first, second]], np.int32)
    rules = replace(
        template.rules,
        source_sides=sides,
        target_sides=sides,
        source_index=np.zeros(1, np.int32),
        target_index=np.zeros(1, np.int32),
        joint_counts=np.ones(1, np.float32),
        source_counts=np.full(1, 2, np.float32),
        target_counts=np.full(1, 2, np.float32),
        links_by_target=np.array([[1, 0, 0]], np.uint16),
        links_by_source=np.array([[1, 0, 0]], np.uint16),
    )
    swapped = replace(
        rules, target_sides=np.array([[6, second, first]], np.int32), target_counts=np.full(1, 5, np.float32)
    )
    parts = [replace(template, name="straight", rules=rules), replace(template, name="swapped", rules=swapped)]
    union = build_union(parts)
    assert union.statistics.target_counts.tolist() == [[2, 2], [5, 5]]
    assert union.statistics.joint_counts.tolist() == [[1, 0], [0, 1]]


def test_adding_and_removing_components_is_building_the_view_again(tmp_path):
    _, components = random_components(5, [20, 30, 10], ["phrase", "hiero", "hiero"])
    for component in components:
        save_component(component, tmp_path / component.name)
    at_once = build_union(components)
    names = ["m0", "m1"]
    build_union([load_component(tmp_path / name) for name in names])
    added = build_union([load_component(tmp_path / name) for name in [*names, "m2"]])
    assert_equal_views(added, at_once)
    removed = build_union([load_component(tmp_path / name) for name in names])
    assert_equal_views(removed, build_union(components[:2]))


def test_sides_without_a_pair_are_left_out_and_their_marginals_kept_where_needed():
    models, components = random_components(6, [40, 40])
    pruned = build_union([prune_component(component, 1) for component in components])
    assert set(pruned.statistics.source_index.tolist()) == set(range(len(pruned.source_sides)))
    assert set(pruned.statistics.target_index.tolist()) == set(range(len(pruned.target_sides)))
    # a pair that only one component ever had has lost nothing
    single = [p for p, pair in enumerate(pairs_of(pruned)) if sum(pair in model.joint for model in models) == 1]
    assert len(single) > 3
    weights = np.array([[1, 2]] * 4, np.float32)
    expected = [slow_features(models, weights, pairs_of(pruned)[p]) for p in single]
    np.testing.assert_allclose(np.asarray(features(pruned.statistics, weights))[single], expected, atol=2e-5)


def test_orientations_are_stacked():
    _, components = random_components(7, [10, 10])
    assert build_union(components).orientation_counts is None
    counts = np.arange(60, dtype=np.float32).reshape(10, 6)
    first = replace(components[0], rules=replace(components[0].rules, orientation_counts=counts))
    union = build_union([first, components[1]])
    has_first = union.statistics.joint_counts[0] > 0
    np.testing.assert_array_equal(union.orientation_counts[1], 0)
    assert sorted(map(tuple, union.orientation_counts[0][has_first].tolist())) == sorted(map(tuple, counts.tolist()))


def test_names_must_be_there_and_distinct():
    _, components = random_components(8, [1, 1])
    with pytest.raises(UserError, match="at least one component"):
        build_union([])
    with pytest.raises(UserError, match="'m0'"):
        build_union([components[0], components[0]])


def test_statistics_are_a_pytree():
    _, components = random_components(9, [5])
    statistics = build_union(components).statistics
    leaves, structure = jax.tree.flatten(statistics)
    assert len(leaves) == len(fields(statistics))
    assert jax.tree.unflatten(structure, leaves).word_pairs is statistics.word_pairs


def test_factors_do_not_depend_on_the_chunks():
    _, components = random_components(10, [30])
    rules, lexical = components[0].rules, components[0].lexical
    sides = (rules.target_sides, rules.target_index), (rules.source_sides, rules.source_index)
    whole = intern_factors(*sides, rules.links_by_target, lexical.word_pairs[:, ::-1])
    for size in (1, 7):
        parts = intern_factors(*sides, rules.links_by_target, lexical.word_pairs[:, ::-1], pairs_per_chunk=size)
        np.testing.assert_array_equal(parts.index, whole.index)
        np.testing.assert_array_equal(parts.links, whole.links)
    assert len(whole.links) == len(np.unique(whole.links, axis=0)) > 0
