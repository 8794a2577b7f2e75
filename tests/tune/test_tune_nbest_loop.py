"""n-best files, merging, the outer loop with a toy decoder, and the command on lists."""

import json
from dataclasses import replace

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.tune.commands import tune_nbest_lists
from jaxsmt.tune.config import MertConfig, MiraConfig
from jaxsmt.tune.loop import LoopConfig, table, tune
from jaxsmt.tune.nbest import merge_nbest, nbest_from_rows, read_nbest, write_nbest
from jaxsmt.tune.scoring import score_lists
from jaxsmt.tune.tuner import make_tuner

MOSES = """0 ||| the house ||| LM0= -2.5 TM0= 0.5 -1 WT_a~b= 1 ||| -3.25 ||| 0-0 1-1
0 ||| a  house  ||| LM0= -3 TM0= 0.25 -2 ||| -4 ||| 0-0 1-1
2 ||| ||| LM0= 0 TM0= 0 0 WT_c~d= 2 ||| 0 |||
"""


def test_moses_format(tmp_path):
    (tmp_path / "nbest").write_text(MOSES, encoding="utf-8")
    lists = read_nbest(tmp_path / "nbest")
    assert lists.feature_names == ("LM0_0", "TM0_0", "TM0_1", "WT_a~b", "WT_c~d")
    assert lists.num_dense == 3
    assert lists.texts == ("the house", "a house", "")
    assert lists.offsets.tolist() == [0, 2, 2, 3]
    assert lists.features.tolist() == [[-2.5, 0.5, -1, 1, 0], [-3, 0.25, -2, 0, 0], [0, 0, 0, 0, 2]]
    assert lists.extras == (("0-0 1-1",), ("0-0 1-1",), ("",))
    write_nbest(tmp_path / "again", lists)
    again = read_nbest(tmp_path / "again")
    assert again.texts == lists.texts
    assert again.extras == lists.extras
    assert again.feature_names == lists.feature_names
    np.testing.assert_array_equal(again.features, lists.features)
    np.testing.assert_array_equal(again.scores, lists.scores)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 ||| a ||| LM0= -1\n", "line 1"),
        ("x ||| a ||| LM0= -1 ||| 0\n", "line 1"),
        ("0 ||| a ||| LM0= -1 ||| 0\n0 ||| b ||| LM0= huge ||| 0\n", "line 2: 'huge'"),
        ("0 ||| a ||| LM0= -1 ||| 0\n0 ||| b ||| TM0= -1 ||| 0\n", "line 2 has the features TM0_0"),
        ("7 ||| a ||| LM0= -1 ||| 0\n", "sentence 7"),
    ],
)
def test_mistakes_in_files_are_named(tmp_path, text, message):
    (tmp_path / "nbest").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_nbest(tmp_path / "nbest", num_sentences=3)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match="nowhere"):
        read_nbest(tmp_path / "nowhere")


def test_merging_drops_equals_and_matches_sparse_names():
    first = nbest_from_rows(["a", "b"], [[1.0, 5.0], [2.0, 0.0]], np.array([1, 0]), 2, ["LM0_0", "S_x"])
    second = nbest_from_rows(["a", "a"], [[1.0, 0.0], [1.0, 9.0]], np.array([1, 1]), 2, ["LM0_0", "S_y"])
    first, second = replace(first, num_dense=1), replace(second, num_dense=1)
    merged = merge_nbest([first, second, first])
    assert merged.feature_names == ("LM0_0", "S_x", "S_y")
    assert merged.texts == ("b", "a", "a", "a")
    assert merged.features.tolist() == [[2, 0, 0], [1, 5, 0], [1, 0, 0], [1, 0, 9]]
    assert merged.offsets.tolist() == [0, 1, 4]
    other = nbest_from_rows(["a"], [[1.0]], np.array([0]), 2, ["TM0_0"])
    with pytest.raises(UserError, match="merged"):
        merge_nbest([first, other])


def test_lists_are_scored_against_all_references():
    lists = nbest_from_rows(["a b c d", "x", "x"], np.zeros((3, 1)), np.array([0, 0, 1]), 2, ["LM0_0"])
    scored = score_lists(lists, [["a b", "a b c d"], ["x y"]], with_ter=True)
    assert scored.bleu[0, 0].tolist() == [4, 4, 4, 3, 2, 1, 4, 3, 2, 1]
    assert scored.bleu[1, 0].tolist() == [1, 2, 1, 0, 0, 0, 1, 0, 0, 0]
    assert scored.ter[:, 0].tolist() == [[0, 3], [1, 2]]
    assert scored.is_real.tolist() == [[True, True], [True, False]]
    with pytest.raises(UserError, match="at least one reference"):
        score_lists(lists, [["a"]])


class ToyDecoder:
    """A fixed pool of hypotheses for each sentence; gives the n best under the weights."""

    def __init__(self, num_sentences=12, pool=60, size=8, seed=0):
        rng = np.random.default_rng(seed)
        self.references = [[" ".join(f"w{i}" for i in rng.integers(0, 20, 10))] for _ in range(num_sentences)]
        self.texts, self.features, self.size, self.calls = [], [], size, 0
        for (reference,) in self.references:
            errors = rng.integers(0, 9, pool)
            words = np.array(reference.split())
            self.texts.append([" ".join(np.where(rng.random(10) > e / 10, words, "x")) for e in errors])
            noise = rng.normal(size=(pool, 2))
            self.features.append(np.column_stack([errors + noise[:, 0], noise[:, 1], rng.normal(size=pool)]))

    def __call__(self, weights):
        self.calls += 1
        texts, features, sentences, scores = [], [], [], []
        for sentence, phi in enumerate(self.features):
            best = np.argsort(-(phi @ weights), kind="stable")[: self.size]
            texts += [self.texts[sentence][k] for k in best]
            features.append(phi[best])
            scores.append(phi[best] @ weights)
            sentences += [sentence] * len(best)
        return nbest_from_rows(
            texts, np.concatenate(features), np.array(sentences), len(self.features), ["E0_0", "N0_0", "R0_0"],
            np.concatenate(scores),
        )  # fmt: skip


SMALL_MERT = MertConfig(restarts=4, perturbation_rounds=0)


@pytest.mark.parametrize("config", [SMALL_MERT, MiraConfig(iterations=10)], ids=["mert", "mira"])
def test_loop_improves_the_decoder(config):
    decoder = ToyDecoder()
    start, loop = np.array([0.2, 0.4, 0.4]), LoopConfig(6, with_ter=True)
    result = tune(decoder, decoder.references, start, make_tuner(config), loop)
    rows = result.iterations
    assert max(row.bleu for row in rows) > rows[0].bleu + 0.1
    assert min(row.ter for row in rows) < rows[0].ter
    assert [row.num_hypotheses for row in rows] == sorted(row.num_hypotheses for row in rows)
    best = max(rows, key=lambda row: row.bleu)
    np.testing.assert_array_equal(result.weights, best.weights)
    assert len(table(result).splitlines()) == 1 + len(rows) + 1 + 3


def test_loop_stops_when_weights_stay():
    decoder = ToyDecoder(pool=8, size=8)  # every run gives all there is
    result = tune(decoder, decoder.references, np.array([-1.0, 0.0, 0.0]), lambda_tuner(), LoopConfig(10))
    assert result.has_converged
    assert len(result.iterations) == 2


@pytest.mark.parametrize("patience", [1, 2])
def test_loop_stops_when_nothing_is_gained(patience):
    """The weights never stay, but no run is better than the first by as much as it takes."""

    class Restless:
        metric = "bleu"

        def __call__(self, lists, start):
            return start + np.array([0.0, 0.0, 0.1 * np.abs(start).sum()]), None

    decoder = ToyDecoder(pool=8, size=8)
    start, config = np.array([-1.0, 0.0, 0.0]), LoopConfig(20, min_gain=1.0, patience=patience)
    result = tune(decoder, decoder.references, start, Restless(), config)
    assert len(result.iterations) == 1 + patience


def lambda_tuner():
    class Fixed:
        metric = "bleu"

        def __call__(self, lists, start):
            return np.array([-0.9, 0.05, 0.05]), None

    return Fixed()


class Interruption(Exception):
    pass


def test_interrupted_run_goes_on_where_it_stopped(tmp_path):
    start, config = np.array([0.2, 0.4, 0.4]), LoopConfig(4, min_change=0.0)
    whole = ToyDecoder()
    expected = tune(whole, whole.references, start, make_tuner(SMALL_MERT), config, tmp_path / "whole")

    class Dying(ToyDecoder):
        def __call__(self, weights):
            if self.calls == 2:
                raise Interruption
            return super().__call__(weights)

    dying = Dying()
    with pytest.raises(Interruption):
        tune(dying, dying.references, start, make_tuner(SMALL_MERT), config, tmp_path / "run")
    record = json.loads((tmp_path / "run" / "tuning.json").read_text())
    assert len(record["iterations"]) == 2
    again = ToyDecoder()
    result = tune(again, again.references, start, make_tuner(SMALL_MERT), config, tmp_path / "run")
    assert again.calls == whole.calls - 2
    assert result.iterations == expected.iterations
    np.testing.assert_array_equal(result.weights, expected.weights)
    finished = ToyDecoder()
    tune(finished, finished.references, start, make_tuner(SMALL_MERT), config, tmp_path / "run")
    assert finished.calls == 0


def test_broken_record_is_named(tmp_path):
    (tmp_path / "tuning.json").write_text("{}")
    decoder = ToyDecoder(num_sentences=1)
    with pytest.raises(UserError, match=r"tuning\.json"):
        tune(decoder, decoder.references, np.ones(3), make_tuner(SMALL_MERT), None, tmp_path)


def test_command_tunes_files(tmp_path):
    decoder = ToyDecoder()
    write_nbest(tmp_path / "a", decoder(np.array([0.2, 0.4, 0.4])))
    write_nbest(tmp_path / "b", decoder(np.array([0.0, 0.0, 1.0])))
    (tmp_path / "ref").write_text("".join(text + "\n" for (text,) in decoder.references))
    start = {"E0_0": 0.2, "N0_0": 0.4, "R0_0": 0.4}
    found = tune_nbest_lists([tmp_path / "a", tmp_path / "b"], [tmp_path / "ref"], start, SMALL_MERT, tmp_path / "out")
    assert found.before < found.after <= found.oracle + 0.02
    written = dict(line.split() for line in (tmp_path / "out").read_text().splitlines())
    assert {name: float(value) for name, value in written.items()} == pytest.approx(found.weights)
    with pytest.raises(UserError, match="'Nope'"):
        tune_nbest_lists([tmp_path / "a"], [tmp_path / "ref"], {"Nope": 1.0}, SMALL_MERT)
    with pytest.raises(UserError, match="missing"):
        tune_nbest_lists([tmp_path / "a"], [tmp_path / "missing"], start, SMALL_MERT)
