"""Every option in conf/ composes and runs."""

import json

import pytest

from jaxsmt.pipeline.decoding import decode
from jaxsmt.pipeline.training import train
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import compose_config, train_config, write_corpus

GROUPS = ("text", "align", "links", "extract", "lm", "tm", "search")
CHOICES = [f"{group}={path.stem}" for group in GROUPS for path in sorted((REPOSITORY / "conf" / group).glob("*.yaml"))]


def test_all_groups_are_covered():
    folders = {path.name for path in (REPOSITORY / "conf").iterdir() if path.is_dir()}
    assert folders == {*GROUPS, "corpus"}
    assert {path.stem for path in (REPOSITORY / "conf" / "corpus").iterdir()} == {"demo", "files"}


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory):
    """One store for all options: what they share is made once."""
    return tmp_path_factory.mktemp("options")


@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_trains_and_translates(work_dir, choice, capsys):
    corpus = write_corpus(work_dir / "corpus")
    default = [] if choice.startswith("align=") else ["align=ibm1"]  # the quickest to compile
    bleu = train(train_config(work_dir, [*corpus, *default, choice]))
    assert 0 <= bleu <= 100
    assert "Monotone translation" in capsys.readouterr().out
    scores = json.loads((work_dir / "scores.json").read_text())["scores"]
    assert {(row["part"], row["domain"], row["weights"]) for row in scores} == {
        (part, domain, weights)
        for part in ("dev", "test")
        for domain in ("kitchen", "travel")
        for weights in ("unweighted", "own domain")
    }


def test_the_demo_is_the_default_corpus():
    config = compose_config("train", [])
    assert config.corpus.demo
    assert config.work_dir == "runs/demo"


@pytest.mark.parametrize(
    "options",
    [[], ["domain=travel"], ["weights=[1,3]", "search.phrase_penalty=-1"], ["search.feature_weights=[1,0,1,0]"]],
)
def test_decode_options(work_dir, options):
    train(train_config(work_dir, [*write_corpus(work_dir / "corpus"), "align=ibm1"]))
    lines = ["", "Zxqv !", *(work_dir / "corpus" / "travel.test.fr").read_text(encoding="utf-8").splitlines()]
    (work_dir / "input").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    files = [f"model_dir={work_dir / 'model'}", f"input={work_dir / 'input'}", f"output={work_dir / 'output'}"]
    decode(compose_config("decode", [*files, *options]))
    output = (work_dir / "output").read_text(encoding="utf-8").split("\n")[:-1]
    assert len(output) == len(lines)
    assert output[0] == ""
    assert "xqv" in output[1]  # nobody knows the word: it is copied
