"""Explanations: they add up to the score, and name where rules were seen."""

import json
import re

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.model.explaining.shares import component_shares
from jaxsmt.model.library import load_model
from jaxsmt.model.mixing import MixingConfig
from jaxsmt.pipeline.commands.decode import decode
from jaxsmt.pipeline.commands.train import train
from tests.pipeline.small_corpus import compose_config, train_config, write_corpus

LINES = ["Je voudrais une soupe avec du zxqv.", "", "Où est le wvut ?"]


@pytest.fixture(scope="module", params=["phrase", "hiero"])
def model_dir(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("explaining")
    options = ["align=ibm1", "lm=trigram", "translate=[]", f"extract={request.param}"]
    train(train_config(folder, [*write_corpus(folder / "corpus"), *options]))
    return folder / "model"


@pytest.fixture(scope="module")
def lines(model_dir):
    test = (model_dir.parent / "corpus" / "travel.test.fr").read_text(encoding="utf-8").splitlines()
    return [*LINES, *test]


def decoded(model_dir, lines, *options):
    folder = model_dir.parent
    write_text(folder / "in", "".join(line + "\n" for line in lines))
    files = [f"model_dir={model_dir}", f"input={folder / 'in'}", f"output={folder / 'out'}", "domain=travel"]
    write_text(folder / "terms", "wvut\tblorp machine\n")
    decode(compose_config("decode", [*files, f"glossary={folder / 'terms'}", *options]))
    return (folder / "out").read_text(encoding="utf-8")


def test_pieces_and_parts_add_up_to_the_score(model_dir, lines):
    plain = decoded(model_dir, lines)
    path = model_dir.parent / "told.jsonl"
    assert decoded(model_dir, lines, "explain=true", f"explain_output={path}") == plain
    told = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [item["line"] for item in told] == list(range(len(lines)))
    assert [item["translation"] for item in told] == plain.splitlines()
    assert {item["label"] for item in told} == {"travel"}
    for item in told:
        if not item["tokens"]:
            assert item["pieces"] == []
            continue
        parts, pieces, weights = item["parts"], item["pieces"], item["weights"]
        assert sum(parts.values()) == pytest.approx(item["score"], abs=1e-4)
        assert sum(value for _, value in item["lm_by_word"]) == pytest.approx(parts["lm"], abs=1e-4)
        rules = sum(parts[name] for name in ("p(s|t)", "lex(s|t)", "p(t|s)", "lex(t|s)"))
        words = sum(len(piece["target"]) for piece in pieces)
        assert words == len(item["lm_by_word"]) - 1
        own = rules + parts["unknown"] + len(pieces) * weights["phrase_penalty"] - words * weights["word_penalty"]
        assert sum(piece["score"] for piece in pieces) == pytest.approx(own, abs=1e-4)
        last = item["lm_by_word"][-1][1]
        assert sum(piece["lm"] for piece in pieces) + last == pytest.approx(parts["lm"], abs=1e-4)
        for piece in pieces:
            if piece["kind"] in ("phrase", "rule"):
                assert sum(piece["components"].values()) == pytest.approx(1, abs=1e-4)
                assert set(piece["counts"]) == set(piece["components"])


def test_unknown_words_terms_and_spans_are_told(model_dir, lines):
    text = decoded(model_dir, lines[:3], "explain=true")
    assert re.search("unknown .*zxqv", text)
    assert "the glossary" in text
    path = model_dir.parent / "told.jsonl"
    decoded(model_dir, lines, "explain=true", f"explain_output={path}")
    for line in path.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        covered = []
        for piece in item["pieces"]:
            covered += [word for word in piece["source"] if word not in ("[1]", "[2]")]
            assert piece["start"] < piece["end"] <= len(item["tokens"])
        assert sorted(covered) == sorted(item["tokens"])
    with pytest.raises(UserError, match="add explain=true"):
        decoded(model_dir, lines, f"explain_output={path}")


def test_shares_are_those_of_the_mixture(model_dir):
    union = load_model(model_dir).model.rules.union
    statistics, rng = union.statistics, np.random.default_rng(0)
    pairs = rng.choice(len(union), 20)
    mixture = rng.random((4, 2)) + 0.1
    for operation in ("counts", "linear"):
        found = component_shares(union, pairs, mixture, MixingConfig(operation=operation))
        for pair, row in zip(pairs, found, strict=True):
            shares = []
            for weights, totals in (
                (mixture[2], statistics.source_counts[:, statistics.source_index[pair]]),
                (mixture[0], statistics.target_counts[:, statistics.target_index[pair]]),
            ):
                own = [float(c) / (float(t) or 1.0) if operation == "linear" else float(c)
                       for c, t in zip(statistics.joint_counts[:, pair], totals, strict=True)]  # fmt: skip
                part = [w * c for w, c in zip(weights, own, strict=True)]
                shares.append([value / sum(part) for value in part])
            np.testing.assert_allclose(row, np.mean(shares, 0), atol=1e-6)
    none = component_shares(union, pairs[:0], mixture, MixingConfig())
    assert none.shape == (0, 2)
    first = component_shares(union, pairs, mixture[0], MixingConfig(operation="fillup"))
    has = statistics.joint_counts[:, pairs] > 0
    np.testing.assert_array_equal(first[:, 0], has[0])
    both = component_shares(union, pairs, mixture, MixingConfig(operation="loglinear"))
    np.testing.assert_allclose(both, (has / has.sum(0)).T)
