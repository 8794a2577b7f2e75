"""Joined pieces of text against the whole text; rest costs against their definition."""

import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.rest_costs import with_rest_costs
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.automaton import ROOT, build_automaton
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.scoring import score
from jaxsmt.search.chart.joining import join
from jaxsmt.search.chart.rows import prepare_lm, score_runs
from jaxsmt.search.chart.structure import MAX_PARTS
from jaxsmt.search.chart.wide_joining import by_work, join_all, unpacked
from jaxsmt.text.vocabulary import NUM_RESERVED, PAD, SENTENCE_END, SENTENCE_START
from tests.search.search_oracle import TARGET


def text_lm(order, rest_costs=False):
    random = np.random.default_rng(order)
    text = [random.integers(NUM_RESERVED, len(TARGET), random.integers(1, 9)).tolist() for _ in range(50)]
    return estimate_lm(ragged_from_rows(text), TARGET, LmConfig(order=order, rest_costs=rest_costs))


def plain_score(automaton, words, state=ROOT):
    total = 0.0
    for word in words:
        log_p, after = score(automaton, jnp.array([state], jnp.int32), jnp.array([word], jnp.int32))
        total, state = total + float(log_p[0]), int(after[0])
    return total, state


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("rest_costs", [False, True])
def test_joined_pieces_score_what_the_whole_text_scores(order, rest_costs):
    random = np.random.default_rng(order)
    automaton = build_automaton(text_lm(order, rest_costs))
    lm = prepare_lm(automaton)
    runs = random.integers(NUM_RESERVED, len(TARGET), (12, 5)).astype(np.int32)
    runs[np.arange(5)[None] >= random.integers(0, 6, 12)[:, None]] = PAD
    runs[0] = PAD
    rows, estimate, log_p = (np.asarray(part) for part in score_runs(lm, runs, np.int32(runs.shape[1]), None))
    for run, total in zip(runs, log_p[0], strict=True):
        assert total == pytest.approx(plain_score(automaton, run[run != PAD])[0], abs=1e-5)
    parts = random.integers(0, 12, (MAX_PARTS, 16)).astype(np.int32)
    parts[1:, :3] = 0
    is_valid = np.arange(16) != 7
    joined = join(lm, jnp.asarray(rows), jnp.asarray(parts), jnp.asarray(is_valid), None, block=4)
    for lane in np.flatnonzero(is_valid):
        words = np.concatenate([runs[part][runs[part] != PAD] for part in parts[:, lane]])
        place = int(np.flatnonzero(np.asarray(joined.lane) == lane)[0])
        whole = np.zeros((1, 40), np.int32)
        whole[0, : len(words)] = words
        row, whole_estimate, _ = (np.asarray(part)[0] for part in score_runs(lm, whole, np.int32(whole.shape[1]), None))
        total = estimate[0, parts[:, lane]].sum() + float(joined.piece.total[0, place])
        assert total == pytest.approx(whole_estimate[0], abs=1e-4)
        assert int(joined.piece.state[place]) == plain_score(automaton, words)[1]
        assert [int(word) for word in joined.piece.words[:, place]] == row[: len(joined.piece.words)].tolist()


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("rest_costs", [False, True])
def test_candidates_that_are_joined_at_once_become_the_same_pieces(order, rest_costs):
    random = np.random.default_rng(order)
    lm = prepare_lm(build_automaton(text_lm(order, rest_costs)))
    runs = random.integers(NUM_RESERVED, len(TARGET), (20, 5)).astype(np.int32)
    runs[np.arange(5)[None] >= random.integers(0, 6, 20)[:, None]] = PAD
    rows = score_runs(lm, runs, np.int32(5), None)[0]
    parts, is_valid = jnp.asarray(random.integers(0, 20, (MAX_PARTS, 64))), jnp.asarray(random.random(64) < 0.7)
    joined = join(lm, rows, parts, is_valid, None, block=16)
    for least in (1, 3, 64, 1000):
        pieces = unpacked(lm, join_all(lm, rows, parts, is_valid, None, least))
        for one, all_at_once in zip(joined.piece, pieces, strict=True):
            used = np.asarray(is_valid)[np.asarray(joined.lane)]
            expected, found = np.asarray(one)[..., used], np.asarray(all_at_once)[..., np.asarray(joined.lane)[used]]
            assert np.array_equal(found, expected)


def test_candidates_are_put_in_the_order_of_their_words():
    random = np.random.default_rng(0)
    num_words, is_valid = random.integers(0, 6, 50).astype(np.int32), random.random(50) < 0.6
    place, lane, lanes_at = (np.asarray(part) for part in by_work(jnp.asarray(num_words), jnp.asarray(is_valid), 5))
    expected = [row for row in np.argsort(-num_words, kind="stable").tolist() if is_valid[row]]
    assert lane[: len(expected)].tolist() == expected
    assert place[expected].tolist() == list(range(len(expected)))
    assert lanes_at.tolist() == [int((num_words[is_valid] > step).sum()) for step in range(6)]


def test_rest_costs_are_expectations_over_the_word_to_the_left():
    lm = with_rest_costs(text_lm(2))
    automaton = build_automaton(lm, rest_costs=False)
    words = [word for word in np.flatnonzero(lm.is_word).tolist() if word != SENTENCE_START]
    states = {left: plain_score(automaton, [left])[1] for left in words if left != SENTENCE_END}
    p = {
        (left, word): np.exp(plain_score(automaton, [word], states.get(left, int(automaton.start)))[0])
        for left in words
        for word in words
    }
    current = dict.fromkeys(words, 1 / len(words))  # </s> stands for the <s> that follows it
    for _ in range(60):
        following = {word: sum(current[left] * p[left, word] for left in words) for word in words}
        current = {word: value / sum(following.values()) for word, value in following.items()}
    for word in words[2:]:
        joint = {left: current[left] * p[left, word] for left in words}
        expected = sum(value * np.log(p[left, word]) for left, value in joint.items()) / sum(joint.values())
        assert lm.levels[0].log_rest[word] == pytest.approx(expected, abs=1e-3)
    assert all(np.array_equal(one.log_p, two.log_p) for one, two in zip(lm.levels, text_lm(2).levels, strict=True))
