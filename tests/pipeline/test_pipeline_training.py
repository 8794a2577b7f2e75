"""train.py: killed and started again, with components added, and with bad input."""

import gzip
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from jaxsmt.align.links import read_links
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import TEMPORARY_PREFIX
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.model.folder import open_model
from jaxsmt.pipeline.commands.train import check_names, train
from jaxsmt.pipeline.config.schemas import TmConfig
from jaxsmt.text.reading import BitextSource
from jaxsmt.text.vocabulary import PAD
from jaxsmt.tm.features import union_features
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import NUM_PAIRS, WORDS_AS_THEY_ARE, files_below, train_config, write_corpus

QUICK = ["align=ibm1", "align.ibm1_iterations=2", "lm=trigram"]


def artefacts_of(folder):
    return {name: data for name, data in files_below(folder).items() if name.split("/")[0] in ("artefacts", "model")}


def test_killed_at_any_moment_it_goes_on_and_gives_the_same_bytes(tmp_path):
    options = [*write_corpus(tmp_path / "corpus"), *QUICK, "translate=[]"]
    train(train_config(tmp_path / "whole", options))
    folder = tmp_path / "killed"
    command = [sys.executable, "train.py", *options, f"work_dir={folder}", "report=false"]
    killed_in: set[str] = set()
    while stage := kill_within_a_stage(command, folder, killed_in):
        killed_in.add(stage)
    assert len(killed_in) >= 3  # two texts, the links and two components are too slow for all to slip through
    assert artefacts_of(folder) == artefacts_of(tmp_path / "whole")


# one stage of each kind: every kill costs another start of the program
KILLED_IN = ("text-kitchen", "links-", "component-travel", "lm-mixture", "model")


def kill_within_a_stage(command, folder, killed_in) -> str | None:
    """Runs the command and kills it inside the first stage not in `killed_in`; None if it came to its end."""
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    marks = f"{TEMPORARY_PREFIX}*.{process.pid}.*-*"
    while process.poll() is None:
        for path in [*folder.glob(f"artefacts/{marks}"), *folder.glob(marks)]:
            stage = path.name.removeprefix(TEMPORARY_PREFIX).split("-", 1)[1]
            if stage not in killed_in and stage.startswith(KILLED_IN):
                process.send_signal(signal.SIGKILL)
                process.communicate()
                return stage
        time.sleep(0.001)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    return None


def test_a_component_is_added_without_making_the_others_again(tmp_path):
    corpus = write_corpus(tmp_path / "corpus")
    alone = [part for part in corpus if "travel" not in part]
    options = [*QUICK, "links=separate"]
    train(train_config(tmp_path / "run", [*alone, *options]))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "artefacts").rglob("*")}
    train(train_config(tmp_path / "run", [*corpus, *options]))
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    assert open_model(tmp_path / "run" / "model").names == ("kitchen", "travel")
    train(train_config(tmp_path / "run", [*alone, *options]))
    assert open_model(tmp_path / "run" / "model").names == ("kitchen",)


def test_links_go_out_and_come_back(tmp_path):
    corpus = write_corpus(tmp_path / "corpus")
    train(train_config(tmp_path / "first", [*corpus, *QUICK, *WORDS_AS_THEY_ARE, "links.export=true"]))
    folder = tmp_path / "first" / "links"
    assert {path.name for path in folder.iterdir()} == {
        f"{name}.align" for name in ("kitchen", "travel", "dev.kitchen", "dev.travel")
    }
    assert len(read_links(folder / "dev.travel.align")) == 8
    files = [f"+links.files.{name}={folder / name}.align" for name in ("kitchen", "travel")]
    files += [f"+links.development.{name}={folder / f'dev.{name}'}.align" for name in ("kitchen", "travel")]
    train(train_config(tmp_path / "second", [*corpus, *files, *WORDS_AS_THEY_ARE, "lm=trigram"]))
    assert files_below(tmp_path / "first" / "model") == files_below(tmp_path / "second" / "model")


def test_a_trained_aligner_aligns_new_components(tmp_path):
    corpus = write_corpus(tmp_path / "corpus")
    train(train_config(tmp_path / "first", [*corpus, *QUICK]))
    aligner = next((tmp_path / "first" / "artefacts").glob("links-*/aligner"))
    train(train_config(tmp_path / "second", [*corpus, f"links.aligner={aligner}", "links.export=true"]))
    assert len(read_links(tmp_path / "second" / "links" / "travel.align")) == NUM_PAIRS


def test_components_go_out_as_moses_tables_and_folders_and_come_back(tmp_path):
    corpus = write_corpus(tmp_path / "corpus")
    train(train_config(tmp_path / "first", [*corpus, *QUICK, "mixture=raised", "tm.export=true", "lm.export=true"]))
    folders = tmp_path / "first" / "model" / "components"
    tables = tmp_path / "first" / "moses" / "kitchen"
    assert (tables / "reordering-table.wbe-msd-bidirectional-fe.gz").is_file()
    imports = [
        f"+tm.tables.kitchen={tables / 'phrase-table.gz'}",
        f"+tm.lexical.kitchen={tables / 'lex'}",
        f"+tm.folders.travel={folders / 'travel'}",
        f"+lm.arpas.travel={tmp_path / 'first' / 'lm' / 'travel.arpa.gz'}",
    ]
    tests = [part for part in corpus if "components" not in part]
    train(train_config(tmp_path / "second", [*tests, *imports, "text=lowercase", "mixture=raised"]))
    first, second = open_model(tmp_path / "first" / "model"), open_model(tmp_path / "second" / "model")
    assert set(second.names) == set(first.names)
    features = [features_by_pair(model, "travel") for model in (first, second)]
    assert features[0].keys() == features[1].keys()
    # alignments that tie have one choice in a table and two in a component: lex(s|t) may differ there
    close = [np.allclose(features[1][pair], values, atol=1e-4) for pair, values in features[0].items()]
    assert np.mean(close) > 0.995


def features_by_pair(model, domain):
    union, values = model.rules.union, np.asarray(union_features(model.rules.union, model.mixture(domain)))
    sources, targets = (
        [tuple(words.decode(side[side != PAD])) for side in sides[index]]
        for words, sides, index in (
            (union.source_vocabulary, union.source_sides, union.statistics.source_index),
            (union.target_vocabulary, union.target_sides, union.statistics.target_index),
        )
    )
    return dict(zip(zip(sources, targets, strict=True), values, strict=True))


def break_source(kind, path):
    text = path.read_text(encoding="utf-8")
    match kind:
        case "one line less":
            path.write_text("\n".join(text.split("\n")[1:]), encoding="utf-8")
        case "latin-1":
            path.write_bytes(b"\xe9t\xe9\n" + text.encode().split(b"\n", 1)[1])
        case "empty":
            path.write_text("")
        case "missing":
            path.unlink()
        case "100,000 words":
            path.write_text("mot " * 100_000 + "\n" + "\n".join(text.split("\n")[1:]), encoding="utf-8")
        case "control character":
            path.write_text(text.replace(" ", " \x00", 1), encoding="utf-8")
        case "broken gz":
            data = gzip.compress(text.encode())
            path.write_bytes(data[: len(data) // 2])
        case "folder":
            path.unlink()
            path.mkdir()


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("one line less", rf"kitchen\.train\.fr' has {NUM_PAIRS - 1} lines and '.*kitchen\.train\.en' has {NUM_PAIRS}"),
        ("latin-1", r"kitchen\.train\.fr' line \d+ is not UTF-8"),
        ("empty", r"kitchen\.train\.fr' has 0 lines"),
        ("missing", r"kitchen\.train\.fr' does not exist"),
        ("100,000 words", r"kitchen\.train\.fr' line 1 has 100000 words"),
        ("control character", r"kitchen\.train\.fr' line 1 has the control character U\+0000"),
        ("broken gz", r"kitchen\.train\.fr' is broken or truncated"),
        ("folder", r"kitchen\.train\.fr' is a folder: give a file"),
    ],
)
def test_bad_input_gets_one_sentence_and_leaves_nothing(tmp_path, kind, sentence):
    corpus = write_corpus(tmp_path / "corpus")
    break_source(kind, tmp_path / "corpus" / "kitchen.train.fr")
    with pytest.raises(UserError, match=sentence) as raised:
        train(train_config(tmp_path / "run", [*corpus, *QUICK]))
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "run" / "model").exists()
    assert not list((tmp_path / "run" / "artefacts").glob("**/.*"))


TMX = """<?xml version="1.0"?><tmx version="1.4"><header/><body>
<tu><tuv xml:lang="de"><seg>Haus</seg></tuv><tuv xml:lang="en"><seg>house</seg></tuv></tu></body></tmx>"""


def test_a_tmx_without_the_languages_exits_with_code_1(tmp_path):
    (tmp_path / "memory.tmx").write_text(TMX, encoding="utf-8")
    command = [sys.executable, "train.py", "corpus=files", f"work_dir={tmp_path / 'run'}"]
    source = f"+corpus.components.memory.path={tmp_path / 'memory.tmx'}"
    result = subprocess.run([*command, source], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert "memory.tmx' has no" in result.stderr
    assert "its languages are 'de', 'en'" in result.stderr


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (
            ["+links.files.sea=x"],
            "links.files names 'sea', which is not a component: ",
        ),
        (["+corpus.components.sea.source=x"], "corpus.components.sea: a bitext is either two files"),
        (
            ["+corpus.test.kitchen.soruce=x"],
            "corpus.test.kitchen: unknown configuration key 'soruce': did you mean 'source'?",
        ),
        (
            ["+corpus.test.kitchen.source_column=two"],
            "corpus.test.kitchen: configuration key 'source_column': Value",
        ),
        (["+tm.tables.old=x"], "tm.tables names 'old' and tm.lexical does not"),
        (["+tm.folders.travel=x"], "two of corpus.components, tm.folders and tm.tables are called 'travel'"),
        (["links.scope=jointly"], "links.scope is 'jointly': set it to joint or separate"),
        (["+links.further.x=5"], "links.further.x is '5': name an aligner, +align@links.further.x=diagonal"),
        (["links=several", "extract=hiero"], "links.further has diagonal, and component 'kitchen' is hierarchical"),
        (["links=several", "links.further.diagonal.tension=-1"], "links.further.diagonal"),
    ],
)
def test_wrong_values_are_named(tmp_path, overrides, sentence):
    with pytest.raises(UserError) as raised:
        train(train_config(tmp_path / "run", [*write_corpus(tmp_path / "corpus"), *QUICK, *overrides]))
    assert sentence in str(raised.value)


def test_phrases_of_several_alignments_are_those_of_each(tmp_path):
    corpus = write_corpus(tmp_path / "corpus")
    aligners = {"one": ["align=ibm1"], "other": ["align=diagonal"], "both": ["align=ibm1", "links=several"]}
    pairs, words = {}, {}
    for name, options in aligners.items():
        train(train_config(tmp_path / name, [*corpus, *options, "lm=trigram", "tm.export=true", "translate=[]"]))
        tables = tmp_path / name / "moses" / "travel"
        pairs[name] = pairs_of(tables / "phrase-table.gz")
        words[name] = (tables / "lex.e2f").read_bytes()
    assert pairs["one"] - pairs["other"]
    assert pairs["other"] - pairs["one"]
    assert pairs["both"] == pairs["one"] | pairs["other"]
    assert words["both"] == words["one"] != words["other"]  # words are linked by the first


def pairs_of(table):
    with gzip.open(table, "rt", encoding="utf-8") as lines:
        return {tuple(line.split(" ||| ")[:2]) for line in lines}


def test_names_that_cannot_be_files_are_refused():
    bitext = BitextSource("a", "b")
    with pytest.raises(UserError, match="'a/b' cannot name a corpus"):
        check_names({"components": {"a/b": bitext}, "dev": {}, "adapt": {}, "test": {}}, TmConfig(), ExtractConfig())


def test_a_damaged_model_is_named(tmp_path):
    train(train_config(tmp_path, [*write_corpus(tmp_path / "corpus"), *QUICK]))
    arrays = tmp_path / "model" / "components" / "travel" / "component.safetensors"
    arrays.write_bytes(arrays.read_bytes()[: arrays.stat().st_size // 2])
    with pytest.raises(UserError, match="damaged or incomplete"):
        open_model(tmp_path / "model")
    shutil.rmtree(tmp_path / "model" / "components" / "travel")
    with pytest.raises(UserError, match=r"travel.* more files: .*damaged or incomplete"):
        open_model(tmp_path / "model")
    os.remove(tmp_path / "model" / "model.json")
    with pytest.raises(UserError, match="is not a model folder"):
        open_model(tmp_path / "model")
