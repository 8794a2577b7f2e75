import numpy as np
import pytest

from jaxsmt.tm import component_table as tables
from jaxsmt.tm import features as kernels
from jaxsmt.tm.component_table import component_table
from jaxsmt.tm.features import application_features, component_features
from jaxsmt.tm.union import build_union
from tests.tm.small_models import pairs_of, random_model, slow_features, to_component


def models_that_share(seed, sizes, kinds):
    rng = np.random.default_rng(seed)
    models = [random_model(rng, sizes[0], kinds[0], num_words=3)]
    for size, kind in zip(sizes[1:], kinds[1:], strict=True):
        plain = [pair for pair in models[0].joint if kind == "hiero" or "X1" not in pair[0]]
        models.append(random_model(rng, size, kind, num_words=3, given=tuple(plain[: size // 2])))
    parts = zip(models, kinds, strict=True)
    return models, [to_component(model, f"m{d}", rng, kind) for d, (model, kind) in enumerate(parts)]


@pytest.mark.parametrize(
    ("sizes", "kinds"),
    [
        ((20, 14, 16), ("hiero", "phrase", "hiero")),
        ((6, 6), ("phrase", "phrase")),
        ((0, 3), ("phrase", "phrase")),
        ((1,), ("hiero",)),
        ((0,), ("phrase",)),
    ],
)
def test_every_component_keeps_the_features_it_has_alone(sizes, kinds, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_PER_CHUNK", 16)
    models, components = models_that_share(4, sizes, kinds)
    union = build_union(components)
    table, pairs = component_table(union, components), pairs_of(union)
    rows = [(pairs[p], d) for p, d in zip(table.pair.tolist(), table.component.tolist(), strict=True)]
    assert rows == [(pair, d) for pair in pairs for d, model in enumerate(models) if pair in model.joint]
    expected = [slow_features([models[d]], np.ones((4, 1)), pair) for pair, d in rows]
    np.testing.assert_allclose(table.features, np.reshape(expected, (-1, 4)), atol=2e-5)
    for row, (pair, d) in enumerate(rows):
        links = {
            (i, j) for j, mask in enumerate(table.links_by_target[row].tolist()) for i in range(16) if mask >> i & 1
        }
        assert links == models[d].links_by_target[pair]
    if len(sizes) == 3:  # alignments of shared pairs differ, and features with them
        of_union = component_features(union.statistics, table.pair)[np.arange(len(rows)), table.component]
        differs = np.abs(of_union - table.features).max(1) > 1e-3
        assert 3 < differs.sum() < len(rows) / 2
        assert not np.abs(of_union - table.features)[:, [0, 2]].max() > 1e-4


def test_rows_of_pairs_are_found():
    _, components = models_that_share(4, (20, 14, 16), ("hiero", "phrase", "hiero"))
    union = build_union(components)
    table = component_table(union, components)
    pairs = np.array([3, 0, 3, len(union) - 1, 7])
    rows, begin = table.rows_of(pairs)
    for place, part in enumerate(np.split(rows, begin[1:])):
        np.testing.assert_array_equal(part, np.flatnonzero(table.pair == pairs[place]))
    assert [len(part) for part in table.rows_of(pairs[:0])] == [0, 0]
    spread = table.spread(table.features[:, 0], -np.inf)
    assert spread.shape == (len(union), 3)
    np.testing.assert_array_equal(spread > -np.inf, union.statistics.joint_counts.T > 0)
    np.testing.assert_array_equal(spread[table.pair, table.component], table.features[:, 0])
    with pytest.raises(AssertionError, match="other components"):
        component_table(union, components[:2])


def test_components_alone_are_all_weight_on_one():
    _, components = models_that_share(4, (20, 14, 16), ("hiero", "phrase", "hiero"))
    union = build_union(components)
    pairs = np.random.default_rng(0).integers(0, len(union), 50)
    found = component_features(union.statistics, pairs)
    for d in range(3):
        weights = np.repeat(np.eye(3, dtype=np.float32)[None, d : d + 1], 4, 1)
        single = application_features(union.statistics, weights, pairs, np.zeros(50, int))
        has = union.statistics.joint_counts[d, pairs] > 0
        np.testing.assert_allclose(found[has, d], single[has], rtol=1e-6, atol=1e-6)
        assert (found[~has, d] == -np.inf).all()
        assert 5 < has.sum() < 50
    assert component_features(union.statistics, pairs[:0]).shape == (0, 3, 4)


def test_many_sentences_are_worked_on_in_parts(monkeypatch):
    _, components = models_that_share(4, (20, 14, 16), ("hiero", "phrase", "hiero"))
    union = build_union(components)
    rng = np.random.default_rng(2)
    weights = rng.uniform(0.1, 1, (5, 4, 3)).astype(np.float32)
    pairs, sentence = rng.integers(0, len(union), 300), rng.choice([0, 2, 3, 4], 300)
    whole = application_features(union.statistics, weights, pairs, sentence)
    monkeypatch.setattr(kernels, "SENTENCES_PER_CALL", 2)
    np.testing.assert_allclose(application_features(union.statistics, weights, pairs, sentence), whole, rtol=1e-6)
    for row in (0, 150, 299):
        single = application_features(union.statistics, weights[[sentence[row]]], pairs[[row]], np.zeros(1, int))
        np.testing.assert_allclose(single[0], whole[row], rtol=1e-6)
