"""The library's front door, on a model of a few sentences; and what all labellers and translators have in common."""

import json
import re
from collections import Counter

import numpy as np
import pytest

import jaxsmt
from jaxsmt.common.errors import UserError
from jaxsmt.model.labelling.labellers import GivenLabels, SameLabel
from jaxsmt.model.source_text import LINES_PER_BLOCK, SourceText, blocks_of, joined_texts, source_text
from jaxsmt.pipeline.commands.decode import decode
from jaxsmt.pipeline.commands.train import train
from jaxsmt.search.stack.decoder import StackDecoder
from jaxsmt.text import encoding
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import compose_config, train_config, write_corpus

QUICK = ("align=ibm1", "align.ibm1_iterations=2", "lm=trigram", "translate=[test]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trained model, its texts and translations."""
    folder = tmp_path_factory.mktemp("library")
    train(train_config(folder, [*write_corpus(folder / "corpus"), *QUICK]))
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return jaxsmt.load_model(folder / "model")


def source_lines(folder, name):
    return (folder / "corpus" / f"{name}.test.fr").read_text(encoding="utf-8").splitlines()


def translations(folder, name, way):
    return (folder / "translations" / f"test.{name}.{way}.txt").read_text(encoding="utf-8").splitlines()


def test_it_translates_as_the_evaluation_did(model, folder):
    for name in ("kitchen", "travel"):
        lines = source_lines(folder, name)
        assert [line.text for line in model.translate(lines, domain=name)] == translations(folder, name, "own-domain")
        assert list(map(str, model.translate(lines, domain="none"))) == translations(folder, name, "unweighted")


def test_every_line_may_have_a_domain_of_its_own(model, folder):
    lines = [
        line for pair in zip(*(source_lines(folder, n) for n in ("kitchen", "travel")), strict=True) for line in pair
    ]
    labels = ["kitchen", "travel"] * (len(lines) // 2)
    found = [line.text for line in model.translate(lines, labels=labels)]
    assert found[::2] == translations(folder, "kitchen", "own-domain")
    assert found[1::2] == translations(folder, "travel", "own-domain")


def test_lists_begin_with_the_translation(model, folder):
    lines = ["", *source_lines(folder, "travel")]
    lists = model.nbest(lines, 5, domain="travel")
    best = model.translate(lines, domain="travel")
    assert [found[0].text for found in lists] == [line.text for line in best]
    assert lists[0] == [best[0]]
    for found, line in zip(lists[1:], best[1:], strict=True):
        scores = [item.score for item in found]
        assert scores == sorted(scores, reverse=True)
        assert len({item.text for item in found}) == len({" ".join(item.words) for item in found}) == len(found) <= 5
        assert scores[0] == pytest.approx(line.score, abs=1e-3)
        assert found[0].alignment == line.alignment


def test_mistakes_are_named(model, folder):
    assert set(model.domains) == {"kitchen", "travel"}
    assert model.translate([]) == model.nbest([], 3) == []
    for sentence, arguments in {
        "domain 'sea' is not in the model: choose one of kitchen, travel": {"domain": "sea"},
        "exclude each other": {"domain": "travel", "labels": ["travel"]},
        "'labels' has 0 lines and the input more": {"labels": []},
    }.items():
        with pytest.raises(UserError, match=re.escape(sentence)):
            model.translate(["le"], **arguments)
    with pytest.raises(UserError, match="ask for at least 1"):
        model.nbest(["le"], 0)
    with pytest.raises(UserError, match="is not a model folder"):
        jaxsmt.load_model(folder / "nowhere")
    with pytest.raises(AttributeError, match="nothing"):
        jaxsmt.nothing  # noqa: B018


def test_the_example_in_the_readme_runs(folder, capsys):
    example = re.search(r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.S).group(1)
    assert '"runs/demo/model"' in example
    names = {}
    exec(example.replace("runs/demo/model", str(folder / "model")), names)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == names["model"].translate(names["lines"], domain="travel")[0].text
    assert names["features"].shape == (len(names["model"].model.rules.union), 4)


def test_models_of_the_same_rules_share_them(model):
    own = model.model
    text = source_text(own.source, ["le", "la"])
    known = own.for_text(text)
    assert known.unadapted.rules is known.rules
    assert known.unadapted.rules.union is known.rules.union
    assert known.rules.has(text.tokens)
    assert not known.rules.has([["un"]])
    assert own.rules.has([["un"]])
    np.testing.assert_array_equal(known.mixture("travel"), own.mixture("travel"))


def test_a_folder_is_written_once(folder):
    manifest = json.loads((folder / "model" / "manifest.json").read_text())
    newest = max(path.stat().st_mtime_ns for path in (folder / "artefacts").rglob("*"))
    assert (folder / "model" / "model.json").stat().st_mtime_ns >= newest
    assert set(manifest["files"]) | {"manifest.json"} == {
        path.relative_to(folder / "model").as_posix() for path in (folder / "model").rglob("*") if path.is_file()
    }


def test_decoding_does_nothing_twice(folder, monkeypatch, tmp_path):
    """A line is tokenised once and searched once, with n-best lists and labels of its own too."""
    tokenised, searched = Counter(), []
    cutter, batches = encoding.cutter, StackDecoder.batches

    def counting(language, config):
        def cut(text):
            tokenised[text] += 1
            return cutter(language, config)(text)

        return cut

    def observing(decoder, request, *args, **options):
        searched.append(len(request.sentences))
        return batches(decoder, request, *args, **options)

    monkeypatch.setattr(encoding, "cutter", counting)
    monkeypatch.setattr(StackDecoder, "batches", observing)
    lines = source_lines(folder, "travel")
    files = {"output": "out", "nbest_output": "nbest", "alignments": "links", "labels_output": "labels"}
    options = [f"{key}={tmp_path / name}" for key, name in files.items()]
    options += [f"model_dir={folder / 'model'}", f"input={folder / 'corpus' / 'travel.test.fr'}", "domain=travel"]
    decode(compose_config("decode", [*options, "nbest=3"]))
    assert tokenised == Counter(lines)
    assert searched == [len(lines)]
    assert (tmp_path / "out").read_text(encoding="utf-8").splitlines() == translations(folder, "travel", "own-domain")


def test_labels_that_are_given():
    sentences = [["a"], [], ["b"]]
    assert SameLabel("x").labels_of(sentences) == ["x"] * 3
    assert (SameLabel().labels_of(sentences, 7), SameLabel().names) == ([None] * 3, ())
    given = GivenLabels(["x", None, "y", "x"], "file")
    assert (given.labels_of(sentences, 1), given.names) == ([None, "y", "x"], ("x", "y"))
    with pytest.raises(UserError, match="'file' has 4 lines and the input more"):
        given.labels_of(sentences, 2)


def test_texts_are_cut_into_blocks_and_joined(model):
    side = model.model.source
    lines = [f"le {number}" for number in range(LINES_PER_BLOCK + 1)]
    whole = source_text(side, lines)
    for blocks in (list(whole.blocks()), list(blocks_of(side, iter(lines)))):
        assert [len(block) for block in blocks] == [LINES_PER_BLOCK, 1]
        assert joined_texts(blocks) == whole
    assert list(SourceText([], [], []).blocks()) == list(blocks_of(side, [])) == []
