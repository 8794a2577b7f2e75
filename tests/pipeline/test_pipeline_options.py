"""Every option in conf/ composes and runs."""

import json

import pytest

from jaxsmt.pipeline.comparison import compare
from jaxsmt.pipeline.decoding import decode
from jaxsmt.pipeline.list_tuning import tune_lists
from jaxsmt.pipeline.training import train
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import compose_config, train_config, write_corpus

GROUPS = ("text", "align", "links", "extract", "lm", "tm", "search")
CHOICES = [f"{group}={path.stem}" for group in GROUPS for path in sorted((REPOSITORY / "conf" / group).glob("*.yaml"))]


def test_all_groups_are_covered():
    folders = {path.name for path in (REPOSITORY / "conf").iterdir() if path.is_dir()}
    assert folders == {*GROUPS, "corpus", "tune"}
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


NBEST = """0 ||| the cat  ||| LM0= -2 TM0= -1 -3 ||| -6
0 ||| a cat  ||| LM0= -1 TM0= -2 -1 ||| -4
1 ||| it is here now  ||| LM0= -4 TM0= -1 -2 ||| -7
1 ||| it is there now  ||| LM0= -3 TM0= -1 -4 ||| -8
"""


@pytest.mark.parametrize("tuner", [path.stem for path in sorted((REPOSITORY / "conf" / "tune").glob("*.yaml"))])
def test_every_tuner_tunes_on_lists(tmp_path, tuner, capsys):
    (tmp_path / "lists").write_text(NBEST)
    (tmp_path / "references").write_text("the cat\nit is here now\n")
    files = [
        f"nbest=[{tmp_path / 'lists'}]",
        f"references=[{tmp_path / 'references'}]",
        f"output={tmp_path / 'weights'}",
    ]
    start = ["+start.LM0_0=1", "+start.TM0_0=0.1", "+start.TM0_1=1"]
    config = compose_config("tune_lists", [*files, *start, f"tune={tuner}"])
    after = tune_lists(config)
    assert after == pytest.approx(1.0) if tuner == "mert" else after >= 0.889
    assert f"0.8891 → {after:.4f}, oracle 1.0000" in capsys.readouterr().out
    names = [line.split()[0] for line in (tmp_path / "weights").read_text().splitlines()]
    assert names == ["LM0_0", "TM0_0", "TM0_1"]


def test_systems_are_compared(tmp_path, capsys):
    for name, text in {"reference": "the cat sat\n", "good": "the cat sat\n", "bad": "a dog lay\n"}.items():
        (tmp_path / name).write_text(text * 30)
    systems = [f"+systems.{name}=[{tmp_path / name}]" for name in ("bad", "good")]
    compare(compose_config("compare", [f"references=[{tmp_path / 'reference'}]", *systems, "compare.trials=100"]))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["system", "bad", "good"]
    assert "100.00*" in lines[2]
