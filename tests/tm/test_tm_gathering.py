"""What a text needs of tables on the disk: the same as from whole tables, found without reading them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.text.vocabulary import NONTERMINALS
from jaxsmt.tm.component import load_component, save_component
from jaxsmt.tm.component_table import component_table
from jaxsmt.tm.features import features
from jaxsmt.tm.gathering.components import RuleTables
from jaxsmt.tm.gathering.matching import matching_sides
from jaxsmt.tm.gathering.sorted_rows import find_rows
from jaxsmt.tm.merged_words import NOT_THERE
from jaxsmt.tm.restrict import prune_component
from jaxsmt.tm.union import build_union
from tests.tm.small_models import GAPS, pairs_of, random_model, to_component


def random_components(seed, sizes, kinds):
    rng = np.random.default_rng(seed)
    models = [random_model(rng, size, kind) for size, kind in zip(sizes, kinds, strict=True)]
    return [to_component(m, f"m{d}", rng, k) for d, (m, k) in enumerate(zip(models, kinds, strict=True))]


def restricted_components(components, sentences):
    return RuleTables(components, None).for_sentences(sentences)


def occurs(side, sentence):
    """Whether symbols are found in order in a sentence, words one after the other, gaps over one word or more."""

    def from_here(symbols, position):
        if not symbols:
            return True
        if symbols[0] in GAPS:
            return any(from_here(symbols[1:], end) for end in range(position + 1, len(sentence) + 1))
        return position < len(sentence) and sentence[position] == symbols[0] and from_here(symbols[1:], position + 1)

    return any(from_here(side, start) for start in range(len(sentence)))


def random_sentences(rng, num):
    return [[f"f{rng.integers(5)}" for _ in range(rng.integers(0, 8))] + ["zzz"] * (n % 2) for n in range(num)]


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (30, 3), (60, 4)])
def test_rows_are_found_where_they_are(shape):
    rng = np.random.default_rng(shape[0])
    table = np.unique(rng.integers(0, 4, shape), axis=0).astype(np.int32)
    for width in (1, shape[1], shape[1] + 1):
        wanted = rng.integers(-1, 5, (50, width)).astype(np.int32)
        places = {tuple(row): place for place, row in enumerate(table.tolist())}
        size = max(width, shape[1])
        expected = [places.get(tuple([*row, *[0] * (size - width)][: shape[1]]), NOT_THERE)
                    if not any(row[shape[1]:]) else NOT_THERE for row in wanted.tolist()]  # fmt: skip
        assert find_rows(table, wanted).tolist() == expected


@pytest.mark.parametrize("seed", range(4))
def test_sides_that_occur_are_found(seed):
    rng = np.random.default_rng(seed)
    x1, x2 = NONTERMINALS
    symbols = (6, 7, 8, x1, x2)
    sides = [side for size in (1, 2, 3, 4) for side in itertools.product(symbols, repeat=size)]
    sides = [s for s in sides if [symbol for symbol in s if symbol in (x1, x2)] in ([], [x1], [x1, x2])]
    chosen = sorted(sides[i] for i in rng.permutation(len(sides))[:150])
    table = np.array([[*side, *[0] * (4 - len(side))] for side in chosen], np.int32)
    sentences = [rng.integers(-1, 9, rng.integers(0, 6)).tolist() for _ in range(3)]
    sentences = [[word if word >= 6 else -1 for word in sentence] for sentence in sentences]
    names = {x1: "X1", x2: "X2"}
    expected = [
        place for place, side in enumerate(chosen)
        if any(occurs([names.get(symbol, symbol) for symbol in side], sentence) for sentence in sentences)
    ]  # fmt: skip
    assert matching_sides(table, ragged_from_rows(sentences)).tolist() == expected
    assert seed > 0 or expected


@pytest.mark.parametrize("kinds", [["phrase"], ["phrase", "phrase"], ["hiero", "phrase"], ["hiero", "hiero", "hiero"]])
@pytest.mark.parametrize("num_sentences", [0, 1, 5])
def test_pairs_and_features_are_those_of_the_whole_union(kinds, num_sentences, tmp_path):
    components = random_components(11, [60] * len(kinds), kinds)
    for component in components:
        save_component(component, tmp_path / component.name)
    components = [load_component(tmp_path / component.name) for component in components]
    rng = np.random.default_rng(num_sentences)
    sentences = random_sentences(rng, num_sentences)
    whole, part = build_union(components), build_union(restricted_components(components, sentences))
    place = {pair: p for p, pair in enumerate(pairs_of(whole))}
    expected = [pair for pair in place if any(occurs(pair[0], sentence) for sentence in sentences)]
    assert sorted(pairs_of(part)) == sorted(expected)
    assert num_sentences < 5 or 0 < len(expected) < len(whole)
    rows = [place[pair] for pair in pairs_of(part)]
    for _ in range(3):
        weights = rng.random((4, len(kinds))).astype(np.float32)
        of_whole = np.asarray(features(whole.statistics, weights))[rows].reshape(-1, 4)
        np.testing.assert_array_equal(features(part.statistics, weights), of_whole)
    width = part.links_by_target.shape[1]
    np.testing.assert_array_equal(part.links_by_target, whole.links_by_target[rows][:, :width])


@pytest.mark.parametrize("kinds", [["phrase", "phrase"], ["hiero", "hiero"]])
def test_each_components_own_features_are_those_it_has_whole(kinds):
    components = [prune_component(part, 2) for part in random_components(12, [60, 60], kinds)]
    few = restricted_components(components, [["f0", "f1", "f2", "f1"], ["f3"]])
    whole, part = build_union(components), build_union(few)
    of_whole, of_part = component_table(whole, components), component_table(part, few)
    place = {pair: p for p, pair in enumerate(pairs_of(whole))}
    assert len(of_part)
    for row in range(len(of_part)):
        same = place[pairs_of(part)[of_part.pair[row]]]
        first = of_whole.first_row[same]
        other = first + of_whole.component[first : of_whole.first_row[same + 1]].tolist().index(of_part.component[row])
        np.testing.assert_array_equal(of_part.features[row], of_whole.features[other])


def test_orientations_come_along():
    component = random_components(13, [40], ["phrase"])[0]
    counts = np.arange(240, dtype=np.float32).reshape(40, 6)
    component = replace(component, rules=replace(component.rules, orientation_counts=counts))
    (few,) = RuleTables([component]).for_sentences([["f0"], ["f1"]])
    whole, part = build_union([component]), build_union([few])
    rows = [pairs_of(whole).index(pair) for pair in pairs_of(part)]
    assert rows
    np.testing.assert_array_equal(part.orientation_counts[0], whole.orientation_counts[0][rows])


def test_nothing_is_taken_for_words_that_nobody_knows():
    components = random_components(14, [20, 0], ["phrase", "phrase"])
    for sentences in ([], [[]], [["zzz", "yyy"]]):
        assert [len(part) for part in restricted_components(components, sentences)] == [0, 0]


def test_of_long_lists_the_most_frequent_pairs_are_taken():
    components = random_components(15, [80, 80], ["phrase", "hiero"])
    sentences = [["f0", "f1"], ["f2", "f3", "f0", "f4"]]
    whole = restricted_components(components, sentences)
    for most in (1, 2):
        few = RuleTables(components, most).for_sentences(sentences)
        for all_of_it, part in zip(whole, few, strict=True):
            rules, expected = all_of_it.rules, []
            for side in range(len(rules.source_sides)):
                rows = np.flatnonzero(rules.source_index == side).tolist()
                expected += sorted(sorted(rows, key=lambda row: (-rules.joint_counts[row], row))[:most])
            assert 0 < len(expected) < len(rules)
            np.testing.assert_array_equal(part.rules.joint_counts, rules.joint_counts[expected])
            np.testing.assert_array_equal(part.rules.source_counts, rules.source_counts)
            sides = [item.rules.target_sides[item.rules.target_index] for item in (all_of_it, part)]
            np.testing.assert_array_equal(sides[1], sides[0][expected])


@pytest.mark.parametrize("kinds", [["phrase", "phrase"], ["hiero", "hiero", "phrase"]])
def test_pairs_that_are_named_are_found_with_the_features_of_the_whole_union(kinds):
    components = random_components(16, [60] * len(kinds), kinds)
    others = random_components(17, [50, 50], ["hiero", "phrase"])  # other counts, some pairs of which are known
    whole = build_union(components)
    for parts in (others, others[:1], [components[0]], [components[-1], others[0]]):
        words = parts[0].source_vocabulary, parts[0].target_vocabulary
        same = [part.rules for part in parts if (part.source_vocabulary, part.target_vocabulary) == words]
        part = build_union(RuleTables(components).for_pairs(same, *words))
        asked = {pair for counts in same for pair in pairs_of(build_union([replace(parts[0], rules=counts)]))}
        place = {pair: p for p, pair in enumerate(pairs_of(whole))}
        assert sorted(pairs_of(part)) == sorted(asked & set(place))
        rows = [place[pair] for pair in pairs_of(part)]
        weights = np.random.default_rng(1).random((4, len(kinds))).astype(np.float32)
        of_whole = np.asarray(features(whole.statistics, weights))[rows].reshape(-1, 4)
        np.testing.assert_array_equal(features(part.statistics, weights), of_whole)
    assert len(RuleTables(components).for_pairs([], *words)[0]) == 0
