"""Every option in conf/ composes and runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.pipeline.commands.compare import compare
from jaxsmt.pipeline.commands.decode import decode
from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.commands.tune_lists import tune_lists
from jaxsmt.pipeline.config.schemas import bitext_source
from jaxsmt.text.reading import read_bitext
from tests.conftest import REPOSITORY
from tests.lm.slow_lm import write_word_arpa
from tests.pipeline.small_corpus import ENOUGH_TO_TUNE, QUICK_MERT, compose_config, train_config, write_corpus

GROUPS = ("text", "align", "links", "extract", "lm", "tm", "mixture", "search", "weights")
EXPERIMENTS = ("in_out", "in_out_german", "it_legal", "scarce", "mixed")  # on text that is not in the repository
CHOICES = [f"{group}={path.stem}" for group in GROUPS for path in sorted((REPOSITORY / "conf" / group).glob("*.yaml"))]


def test_all_groups_are_covered():
    folders = {path.name for path in (REPOSITORY / "conf").iterdir() if path.is_dir()}
    others = {"corpus", "tune", "adapt", "evaluate", "consensus", "device", "experiment", "quality", "space", "hydra"}
    others |= {"cluster"}  # tests/cluster
    assert folders == {*GROUPS, *others}
    assert {path.stem for path in (REPOSITORY / "conf" / "corpus").iterdir()} == {
        "demo",
        "files",
        *EXPERIMENTS,
    }


@pytest.mark.parametrize("kind", sorted(path.stem for path in (REPOSITORY / "conf" / "device").iterdir()))
def test_devices_are_there_or_said_to_be_missing(kind, tmp_path):
    """Each in a process of its own, since JAX chooses once; it gets as far as looking for the model."""
    command = [sys.executable, "decode.py", f"model_dir={tmp_path}", f"device={kind}"]
    run = subprocess.run(command, cwd=REPOSITORY, input="", capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert re.fullmatch(r"error: .*(is not a model folder|and JAX finds none).*\n", run.stderr)
    if kind in ("auto", "cpu"):
        assert "is not a model folder" in run.stderr


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_corpora_of_the_experiments_are_there(real_data, monkeypatch, name):
    monkeypatch.setenv("JAXSMT_DATA", str(real_data))
    config = compose_config("train", [f"corpus={name}"])
    for part in ("components", "dev", "test"):
        for entry in config.corpus[part]:
            spec = bitext_source(config, part, entry)
            assert all(Path(file).is_file() for file in spec.files)
            assert next(iter(read_bitext(spec)))


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory):
    """One store for all options: what they share is made once."""
    return tmp_path_factory.mktemp("options")


def test_the_best_quality_has_all_models_and_tuned_weights(work_dir):
    quick = ["align=ibm1", "lm=trigram", "lm.classes.num_classes=8", "loop.max_iterations=1", "translate=[dev]"]
    corpus = write_corpus(work_dir / "corpus", ENOUGH_TO_TUNE)
    train(train_config(work_dir, [*corpus, *quick, "all_ways=false", "quality=best"]))
    model = json.loads((work_dir / "model" / "model.json").read_text())
    assert model["osm_in_search"]
    assert len(model["language_models"]) == 2
    assert len(model["weights"]["lm"]) == 3
    assert list(work_dir.glob("artefacts/tune-*"))


def test_what_is_said_beside_the_quality_holds():
    config = compose_config("train", ["quality=best", "tune=mert", "lm.osm=false"])
    assert (config.tune.name, config.lm.osm, config.lm.classes.num_classes) == ("mert", False, 160)
    assert compose_config("train", []) == compose_config("train", ["quality=fast"])


@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_trains_and_translates(work_dir, choice, capsys):
    corpus = write_corpus(work_dir / "corpus")
    quick = ("align=ibm1", "lm=trigram")  # the quickest to compile, and what other tests have compiled
    default = [option for option in quick if option.split("=")[0] != choice.split("=")[0]]
    bleu = train(train_config(work_dir, [*corpus, *default, choice]))
    assert 0 <= bleu <= 100
    assert "Translation" in capsys.readouterr().out
    scores = json.loads((work_dir / "scores.json").read_text())["scores"]
    assert {(row["part"], row["domain"], row["weights"]) for row in scores} == {
        (part, domain, weights)
        for part in ("dev", "test")
        for domain in ("kitchen", "travel")
        for weights in ("unweighted", "own domain")
    }


def test_tuning_raises_development_bleu_and_is_stored(tmp_path):
    corpus = [*write_corpus(tmp_path / "corpus", ENOUGH_TO_TUNE), "align=ibm1", "lm=trigram"]
    before = train(train_config(tmp_path / "run", corpus))
    after = train(train_config(tmp_path / "run", [*corpus, *QUICK_MERT]))
    assert after > before
    table = next((tmp_path / "run" / "artefacts").glob("tune-*/table.txt")).read_text()
    assert table.startswith("iteration")
    settings = json.loads((tmp_path / "run" / "model" / "model.json").read_text())
    assert settings["weights"]["rule"] != [0.2, 0.2, 0.3, 0.2]
    assert not any((tmp_path / "run" / "tuning").iterdir())


def test_the_demo_is_the_default_corpus():
    config = compose_config("train", [])
    assert config.corpus.demo
    assert config.work_dir == "runs/demo"


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decode")
    train(train_config(folder, [*write_corpus(folder / "corpus"), "align=ibm1", "lm=trigram"]))
    return folder / "model"


def run_decoder(model_dir, folder, lines, options=()):
    """decode.py on the lines; returns the output's lines."""
    write_text(folder / "input", "".join(line + "\n" for line in lines))
    files = [f"model_dir={model_dir}", f"input={folder / 'input'}", f"output={folder / 'output'}"]
    decode(compose_config("decode", [*files, *options]))
    return (folder / "output").read_text(encoding="utf-8").split("\n")[:-1]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["domain=travel"],
        ["component_weights=[1,3]", "lm_mixture=[1,3]", "weights.rule=[1,0,1,0]", "weights.lm=0.7"],
        ["search.beam.kept=8", "search.max_span=5", "search.table_limit=5", "search.swap_span=3"],
    ],
)
def test_decode_options(model_dir, tmp_path, options):
    test = (model_dir.parent / "corpus" / "travel.test.fr").read_text(encoding="utf-8").splitlines()
    lines = ["", "Zxqv !", *test]
    output = run_decoder(model_dir, tmp_path, lines, options)
    assert len(output) == len(lines)
    assert output[0] == ""
    assert "xqv" in output[1]  # nobody knows the word: it is copied


def test_lists_alignments_unknown_words_and_glossary(model_dir, tmp_path):
    write_text(tmp_path / "glossary", "le zxqv\tthe blorp machine\n")
    files = {"nbest_output": "nbest", "alignments": "links", "unknown_words": "unknown"}
    options = [f"{key}={tmp_path / name}" for key, name in files.items()]
    lines = ["", "Le zxqv, le wvut !", "le wvut"]
    output = run_decoder(model_dir, tmp_path, lines, [*options, "nbest=5", f"glossary={tmp_path / 'glossary'}"])
    assert "the blorp machine" in output[1].lower()
    assert (tmp_path / "unknown").read_text() == "2\twvut\n1\t!\n"
    links = (tmp_path / "links").read_text().splitlines()
    assert [bool(line) for line in links] == [False, True, True]
    nbest = [line.split(" ||| ") for line in (tmp_path / "nbest").read_text(encoding="utf-8").splitlines()]
    assert {fields[0] for fields in nbest} == {"1", "2"}
    for number in "12":
        scores = [float(fields[3]) for fields in nbest if fields[0] == number]
        assert scores == sorted(scores, reverse=True)
    assert "wvut" not in " ".join(run_decoder(model_dir, tmp_path, lines, ["search.drop_unknown=true"]))


def test_wrong_decode_options_are_named(model_dir, tmp_path):
    write_text(tmp_path / "glossary", "no tab\n")
    for options, sentence in (
        (["nbest=5"], "nbest and nbest_output go together"),
        ([f"glossary={tmp_path / 'glossary'}"], "line 1 is not a term, a tab and its translation"),
        (["component_weights=[1,nan]"], "the weight of component 'travel' is nan"),
        (["weights.lm=nan"], "weights.lm is nan: give a finite number"),
        (["domain=sea"], "domain 'sea' is not in the model: choose one of kitchen, travel"),
    ):
        with pytest.raises(UserError, match=re.escape(sentence)):
            run_decoder(model_dir, tmp_path, ["le"], options)
    assert not (tmp_path / "output").exists()


def test_odd_lines_are_never_lost(model_dir, tmp_path):
    long = " ".join(["le", "zxqv", ","] * 100)
    lines = [
        "",
        "le",
        long,
        "zxqv wvut",
        "[X] ||| [X][X] | [ ]",
        "e\u0301 \u200d \U0001f600 \u202e x",
        "  ",
        "<s> </s> <unk>",
    ]
    alone = ["domain=none"]  # otherwise a line's label depends on its neighbours
    output = run_decoder(model_dir, tmp_path, lines, alone)
    assert len(output) == len(lines)
    assert output[2].lower().count("zxqv") == 100
    backwards = run_decoder(model_dir, tmp_path, lines[::-1], alone)
    assert backwards == output[::-1]
    assert [run_decoder(model_dir, tmp_path, [line], alone)[0] for line in lines] == output


NBEST = """0 ||| the cat  ||| LM0= -2 TM0= -1 -3 ||| -6
0 ||| a cat  ||| LM0= -1 TM0= -2 -1 ||| -4
1 ||| it is here now  ||| LM0= -4 TM0= -1 -2 ||| -7
1 ||| it is there now  ||| LM0= -3 TM0= -1 -4 ||| -8
"""


TUNERS = [path.stem for path in sorted((REPOSITORY / "conf" / "tune").glob("*.yaml")) if path.stem != "none"]


@pytest.mark.parametrize("tuner", TUNERS)
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


def test_lists_are_tuned_with_a_large_language_model(tmp_path, kenlm, capsys):
    (tmp_path / "lists").write_text(NBEST)
    (tmp_path / "references").write_text("the cat\nit is here now\n")
    write_word_arpa(tmp_path / "big.arpa", dict.fromkeys(["the", "cat", "it", "is", "here", "now"], -1.0))
    files = [f"{key}=[{tmp_path / name}]" for key, name in (("nbest", "lists"), ("references", "references"))]
    more = [f"rescore.kenlm=[{tmp_path / 'big.arpa'}]", "+start.kenlm-big_0=1", f"output={tmp_path / 'weights'}"]
    assert tune_lists(compose_config("tune_lists", [*files, *more])) == pytest.approx(1.0)
    assert "BLEU on the lists: 1.0000 → 1.0000" in capsys.readouterr().out
    assert "kenlm-big_0 " in (tmp_path / "weights").read_text()


@pytest.mark.parametrize("test", ["randomisation", "bootstrap"])
def test_systems_are_compared(tmp_path, capsys, test):
    for name, text in {"reference": "the cat sat\n", "good": "the cat sat\n", "bad": "a dog lay\n"}.items():
        (tmp_path / name).write_text(text * 30)
    systems = [f"+systems.{name}=[{tmp_path / name}]" for name in ("bad", "good")]
    options = [f"references=[{tmp_path / 'reference'}]", *systems, f"evaluate={test}", "evaluate.trials=100"]
    compare(compose_config("compare", options))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["system", "bad", "good"]
    assert "100.00*" in lines[2]
