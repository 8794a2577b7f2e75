"""Upper envelopes and line searches against brute force."""

from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.tune.lists import TuningLists, bleu_of_sums, list_score, padded_lists, ter_of_sums
from jaxsmt.tune.mert import line_search
from jaxsmt.tune.mert.envelope import BlockLines, block_envelopes, envelope_blocks
from jaxsmt.tune.mert.line_search import best_steps, feasible_steps, search_space


def random_lists(rng, sizes, num_features, is_integer=False):
    total = sum(sizes)
    features = rng.integers(-3, 3, (total, num_features)) if is_integer else rng.normal(size=(total, num_features))
    length = rng.integers(4, 12, total)
    totals = np.maximum(length[:, None] - np.arange(4), 0)
    matches = rng.binomial(totals, 0.6)
    reference = np.repeat(rng.integers(4, 12, len(sizes)), sizes)
    bleu = np.concatenate([length[:, None], reference[:, None], matches, totals], 1).astype(np.int32)
    ter = np.stack([rng.integers(0, 9, total), reference], 1).astype(float)
    return padded_lists(features.astype(float), np.concatenate([[0], np.cumsum(sizes)]), bleu, ter)


def brute_thresholds(slopes, intercepts):
    """Where the highest of a few lines changes: the kinks of their maximum, from all crossings."""
    pairs = [(i, j) for i in range(len(slopes)) for j in range(i) if slopes[i] != slopes[j]]
    crossings = sorted((intercepts[j] - intercepts[i]) / (slopes[i] - slopes[j]) for i, j in pairs)
    kinks = []
    for x in crossings:
        heights = slopes * x + intercepts
        best = np.flatnonzero(heights > heights.max() - 1e-9)
        if slopes[best].max() - slopes[best].min() > 1e-9 and (not kinks or x - kinks[-1] > 1e-9):
            kinks.append(x)
    return kinks


def envelope_of(lists, point, direction):
    (block,) = envelope_blocks(lists)
    lines = BlockLines(0, block, point[None], direction[None])
    return block, block_envelopes(lines, lines.walk())


def line_events(space, points, directions):
    """Of all lines at once."""
    ((_, events),) = line_search.line_events(space, points, directions, len(points))
    return events


def test_envelopes_equal_brute_force():
    rng = np.random.default_rng(0)
    lists = random_lists(rng, [1, 2, 7, 12, 12, 5], 3)
    point, direction = rng.normal(size=3), rng.normal(size=3)
    block, (first, thresholds, following) = envelope_of(lists, point, direction)
    for lane, sentence in enumerate(block.sentences):
        phi = lists.features[sentence][lists.is_real[sentence]]
        slopes, intercepts = phi @ direction, phi @ point
        found = thresholds[0, :, lane]
        found = found[np.isfinite(found)]
        np.testing.assert_allclose(found, brute_thresholds(slopes, intercepts), rtol=1e-4, atol=1e-4)
        edges = np.concatenate([[found.min(initial=0.0) - 2], found, [found.max(initial=0.0) + 2]])
        owners = [first[0, lane], *following[0, : len(found), lane]]
        for owner, middle in zip(owners, (edges[:-1] + edges[1:]) / 2, strict=True):
            heights = slopes * middle + intercepts
            assert heights[owner] >= heights.max() - 1e-4


def test_more_changes_than_the_first_capacity():
    # tangents of a parabola: each of the 40 lines is best somewhere
    slope = np.arange(-20.0, 20.0)
    features = np.stack([slope, -(slope**2)], 1)
    lists = padded_lists(features, np.array([0, 40]), np.ones((40, 10), np.int32))
    _, (first, thresholds, following) = envelope_of(lists, np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert np.isfinite(thresholds).sum() == 39
    assert first[0, 0] == 0
    assert following[0, :39, 0].tolist() == list(range(1, 40))


@pytest.mark.parametrize("metric", ["bleu", "ter"])
@pytest.mark.parametrize("is_integer", [False, True])
def test_line_search_equals_a_fine_grid(metric, is_integer):
    rng = np.random.default_rng(3)
    lists = random_lists(rng, [3, 1, 6, 6, 4], 4, is_integer)
    space = search_space(lists, metric)
    for _ in range(6):
        point, direction = rng.normal(size=4), rng.normal(size=4)
        counts = rng.integers(0, 3, len(lists)).astype(float)
        events = line_events(space, point[None], direction[None])
        best, step = best_steps(space, events, counts[None])
        reached = list_score(lists, point + step[0] * direction, metric, counts)
        grid = [list_score(lists, point + x * direction, metric, counts) for x in np.linspace(-60, 60, 4001)]
        assert reached == pytest.approx(best[0], abs=1e-9)
        assert best[0] >= max(grid) - 1e-9


def test_score_at_every_threshold_equals_brute_force():
    rng = np.random.default_rng(4)
    lists = random_lists(rng, [4, 5, 3], 3)
    point, direction = rng.normal(size=3), rng.normal(size=3)
    events = line_events(search_space(lists, "bleu"), point[None], direction[None])
    edges = np.concatenate([[events.places[1] - 2], events.places[1:], [events.places[-1] + 2]])
    middles = (edges[:-1] + edges[1:]) / 2
    sums = lists.bleu.reshape(-1, 10)[events.first[0]].sum(0)[None] + np.cumsum(events.changes.T, 0)
    expected = [list_score(lists, point + x * direction, "bleu") for x in middles]
    np.testing.assert_allclose(bleu_of_sums(sums), expected, atol=1e-9)


def test_many_lines_equal_single_lines():
    rng = np.random.default_rng(5)
    lists = random_lists(rng, [3, 8, 5, 2], 3)
    space = search_space(lists, "bleu")
    points, directions = rng.normal(size=(9, 3)), rng.normal(size=(9, 3))
    counts = rng.integers(0, 4, (9, 4)).astype(float)
    together = best_steps(space, line_events(space, points, directions), counts)
    for line in range(9):
        alone = best_steps(space, line_events(space, points[line][None], directions[line][None]), counts[line][None])
        assert (together[0][line], together[1][line]) == (alone[0][0], alone[1][0])


def test_multiplicities_equal_repeated_sentences():
    rng = np.random.default_rng(6)
    lists = random_lists(rng, [3, 8, 5, 2, 7, 4], 3)
    counts = np.array([2, 0, 1, 3, 0, 1])
    rows = np.repeat(np.arange(6), counts)
    repeated = TuningLists(lists.features[rows], lists.is_real[rows], lists.bleu[rows], lists.ter[rows], ("a",) * 3)
    points, directions = rng.normal(size=(8, 3)), rng.normal(size=(8, 3))
    for metric in ("bleu", "ter"):
        space, other = search_space(lists, metric), search_space(repeated, metric)
        best, _ = best_steps(space, line_events(space, points, directions), np.tile(counts.astype(float), (8, 1)))
        expected, _ = best_steps(other, line_events(other, points, directions))
        np.testing.assert_allclose(best, expected, atol=1e-12)


def test_one_sentence_one_hypothesis():
    lists = random_lists(np.random.default_rng(0), [1], 2)
    space = search_space(lists, "ter")
    best, step = best_steps(space, line_events(space, np.ones((1, 2)), np.eye(2)[:1]))
    assert step[0] == 0
    assert best[0] == -ter_of_sums(lists.ter[0, 0])


def test_blocks_hold_every_sentence_once():
    lists = random_lists(np.random.default_rng(1), [2] * 150 + [9] * 200 + [0], 2)
    blocks = envelope_blocks(lists)
    assert sorted(np.concatenate([block.sentences for block in blocks]).tolist()) == list(range(350))
    assert len({block.features.shape[2] for block in blocks}) == 1
    assert envelope_blocks(TuningLists(np.zeros((0, 0, 2)), np.zeros((0, 0), bool), None, None, ("a", "b"))) == []


def test_steps_stay_within_limits():
    rng = np.random.default_rng(7)
    lists = random_lists(rng, [6, 9, 4, 8], 3)
    space = replace(search_space(lists, "bleu"), is_nonnegative=np.array([True, False, True]))
    points, directions = space.inside(rng.normal(size=(40, 3))), rng.normal(size=(40, 3))
    points[0], directions[0] = [0.0, 1.0, 0.0], [1.0, 0.0, -1.0]  # no way to go
    limits = feasible_steps(space, points, directions)
    assert (limits[:, 0] <= 0).all()
    assert (limits[:, 1] >= 0).all()
    assert (limits[0] == 0).all()
    scores, steps = best_steps(space, line_events(space, points, directions), None, limits)
    for line in range(1, len(points)):
        here = points[line] + steps[line] * directions[line]
        assert (here[[0, 2]] >= -1e-9).all()
        if limits[line, 0] == limits[line, 1]:
            assert steps[line] == 0
            continue
        assert list_score(lists, here, "bleu") == pytest.approx(scores[line], abs=1e-9)
        tried = np.clip(np.linspace(-8, 8, 500), *limits[line])
        best = max(list_score(lists, points[line] + x * directions[line], "bleu") for x in tried)
        assert scores[line] >= best - 1e-9
