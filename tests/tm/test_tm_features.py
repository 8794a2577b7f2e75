import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.extract.counts import LexicalCounts, RuleCounts
from jaxsmt.text.vocabulary import Vocabulary
from jaxsmt.tm.component import Component
from jaxsmt.tm.features import application_features, batch_features, features, pair_features, union_features
from jaxsmt.tm.union import build_union
from jaxsmt.tm.weights import check_weights
from tests.tm.small_models import pairs_of, random_model, slow_features, to_component


def random_union(seed: int, sizes: list[int], kind: str = "phrase"):
    rng = np.random.default_rng(seed)
    models = [random_model(rng, size, kind) for size in sizes]
    components = [to_component(model, f"m{d}", rng, kind) for d, model in enumerate(models)]
    return models, build_union(components)


def random_weights(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    """Some weights are 0, but never all of a row."""
    rng = np.random.default_rng(seed)
    weights = rng.random(shape) * (rng.random(shape) < 0.8)
    weights[..., 0] += 1e-3
    return weights.astype(np.float32)


def table_one(name: str, zeile: float, reihe: float) -> Component:
    rules = RuleCounts(
        source_sides=np.array([[6]], np.int32),
        target_sides=np.array([[6], [7]], np.int32),
        source_index=np.array([0, 0], np.int32),
        target_index=np.array([0, 1], np.int32),
        joint_counts=np.array([zeile, reihe], np.float32),
        source_counts=np.array([zeile + reihe], np.float32),
        target_counts=np.array([zeile, reihe], np.float32),
        links_by_target=np.ones((2, 1), np.uint16),
        links_by_source=np.ones((2, 1), np.uint16),
        orientation_counts=None,
    )
    lexical = LexicalCounts(
        np.array([[6, 6], [6, 7]], np.int32),
        np.array([zeile, reihe], np.float32),
        np.array([0] * 6 + [zeile + reihe], np.float32),
        np.array([0] * 6 + [zeile, reihe], np.float32),
    )
    return Component(name, "phrase", rules, lexical, Vocabulary(("row",)), Vocabulary(("Zeile", "Reihe")))


@pytest.mark.parametrize(("weights", "zeile", "reihe"), [((1, 1), 0.68, 0.32), ((1, 10), 0.40, 0.60)])
def test_table_one_of_sennrich_schwenk_aransa_2013(weights, zeile, reihe):
    union = build_union([table_one("it", 240, 60), table_one("legal", 20, 60)])
    probabilities = np.exp(union_features(union, [weights] * 4))
    np.testing.assert_allclose(probabilities[:, 2].round(2), [zeile, reihe], atol=1e-6)
    np.testing.assert_allclose(probabilities[:, 3], probabilities[:, 2], rtol=1e-6)  # one word each: lex is the same
    np.testing.assert_allclose(probabilities[:, 0], [1, 1], rtol=1e-6)


@pytest.mark.parametrize("kind", ["phrase", "hiero"])
@pytest.mark.parametrize("sizes", [[0], [1], [12, 0], [10, 20, 30]])
def test_features_equal_the_definitions(sizes, kind):
    models, union = random_union(sum(sizes) + len(sizes), sizes, kind)
    weights = random_weights(3, (4, len(sizes)))
    expected = [slow_features(models, weights, pair) for pair in pairs_of(union)]
    result = features(union.statistics, weights)
    assert result.shape == (len({pair for model in models for pair in model.joint}), 4)
    assert result.dtype == jnp.float32
    np.testing.assert_allclose(result, np.reshape(expected, (-1, 4)), atol=2e-5)


def test_the_floor_is_reached_and_kept():
    models, union = random_union(8, [20, 20])
    weights = np.array([[1, 0]] * 4, np.float32)
    result = np.asarray(features(union.statistics, weights))
    only_second = [place for place, pair in enumerate(pairs_of(union)) if pair not in models[0].joint]
    assert only_second
    np.testing.assert_array_equal(result[only_second][:, [0, 2]], -100)
    assert result.min() == -100


def test_batched_chunked_and_gathered_features_equal_single_ones():
    _, union = random_union(2, [40, 30], "hiero")
    weights = random_weights(4, (5, 4, 2))
    single = np.stack([features(union.statistics, row) for row in weights])
    for pairs_per_chunk in (7, 69):
        batch = batch_features(union.statistics, weights, pairs_per_chunk=pairs_per_chunk)
        np.testing.assert_allclose(batch, single, rtol=1e-6, atol=1e-6)
    rng = np.random.default_rng(0)
    pair_index, sentence_index = rng.integers(0, len(union), 200), rng.integers(0, 5, 200)
    gathered = application_features(union.statistics, weights, pair_index, sentence_index)
    np.testing.assert_allclose(gathered, single[sentence_index, pair_index], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        pair_features(union.statistics, weights[2], pair_index), single[2, pair_index], rtol=1e-6, atol=1e-6
    )
    assert application_features(union.statistics, weights, pair_index[:0], sentence_index[:0]).shape == (0, 4)


def test_scale_of_weights_does_not_matter():
    _, union = random_union(5, [30, 30])
    weights = random_weights(6, (4, 2))
    plain = features(union.statistics, weights)
    for scale in (1e-30, 1e30):
        np.testing.assert_allclose(features(union.statistics, weights * np.float32(scale)), plain, atol=1e-5)


def test_gradients_equal_differences():
    _, union = random_union(7, [30, 30])
    weights = random_weights(7, (4, 2)) + np.float32(0.2)

    @jax.jit
    def total(weights):
        values = batch_features(union.statistics, weights[None])[0]
        return jnp.where(values > -99, values, 0).mean()

    gradient = jax.grad(total)(jnp.asarray(weights))
    assert np.abs(gradient).max() > 1e-3
    for place in np.ndindex(*weights.shape):
        step = np.zeros_like(weights)
        step[place] = 1e-2
        difference = (total(weights + step) - total(weights - step)) / 2e-2
        np.testing.assert_allclose(gradient[place], difference, atol=2e-3)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([[1.0, 2.0]] * 3 + [[1.0, float("nan")]], ["law", "lex(t|s)", "nan"]),
        ([[1.0, 2.0], [-1.0, 1.0], [1, 1], [1, 1]], ["it", "lex(s|t)", "-1"]),
        ([[1.0, 2.0], [1, 1], [1, 1e39], [1, 1]], ["law", "p(t|s)", "1e+39"]),
        ([[1.0, 1.0, 1.0]] * 4, ["3 values", "2 components", "it, law"]),
        ([[1.0, 1.0], [1, 1], [0, 0], [1, 1]], ["all weights", "p(t|s)", "it, law"]),
        ([[1.0, 1.0]], ["[1, 2]", "[4, 2]"]),
        (1.0, ["1 values", "2 components"]),
        ("much", ["much", "numbers"]),
        ([[1.0], [1.0, 2.0]], ["numbers"]),
    ],
)
def test_bad_weights_are_named(weights, words):
    union = build_union([table_one("it", 240, 60), table_one("law", 20, 60)])
    with pytest.raises(UserError) as error:
        union_features(union, weights)
    for word in words:
        assert word in str(error.value)


def test_good_weights_pass():
    np.testing.assert_array_equal(check_weights([0, 2], ["a", "b"]), np.array([0, 2], np.float32))
    union = build_union([table_one("it", 240, 60)])
    assert union_features(union, np.ones((3, 4, 1))).shape == (3, 2, 4)
