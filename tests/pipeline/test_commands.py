"""Every command as a process: its help, and what it makes of a tiny text, the same as training makes of it."""

import gzip
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.commands.align import align
from jaxsmt.pipeline.commands.lm import lm
from jaxsmt.pipeline.main import COMMANDS
from jaxsmt.pipeline.terminal.help import REFUSED, command_help, overview
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import SMALL_SEARCH, WORDS_AS_THEY_ARE, compose_config, write_corpus

PREPARED = ["text=truecase", "text.clean=true"]
LANGUAGES = ["source_language=fr", "target_language=en"]
MINE = """
defaults: [files, _self_]
name: mine
components:
  kitchen: {source: corpus/kitchen.train.fr, target: corpus/kitchen.train.en}
dev:
  kitchen: {source: corpus/kitchen.dev.fr, target: corpus/kitchen.dev.en}
"""


def run(folder: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """`jaxsmt` with arguments in a folder; text: its standard input."""
    command = [sys.executable, "-m", "jaxsmt.pipeline.main", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1", "COLUMNS": "80"}
    return subprocess.run(
        command, cwd=folder, env=environment, input=text, capture_output=True, text=True, encoding="utf-8", check=False
    )


def output(folder: Path, *arguments: str, text: str | None = None) -> str:
    """What a command that succeeds prints."""
    result = run(folder, *arguments, "quiet=true", text=text)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with a text, a configuration of its own, and the model that `jaxsmt train` made of it."""
    folder = tmp_path_factory.mktemp("commands")
    write_corpus(folder / "corpus")
    (folder / "conf" / "corpus").mkdir(parents=True)
    (folder / "conf" / "corpus" / "mine.yaml").write_text(MINE)
    exports = ["links.export=true", "tm.export=true", "lm.export=true"]
    quick = ["align=ibm1", "lm=trigram", "translate=[dev]", *SMALL_SEARCH, *WORDS_AS_THEY_ARE]
    printed = output(folder, "train", "corpus=mine", *quick, *exports)
    assert "Translation" in printed
    return folder


def read(folder: Path, name: str) -> str:
    return (folder / "corpus" / name).read_text(encoding="utf-8")


def pairs(folder: Path, name: str) -> str:
    """A bitext as lines 'a ||| b'."""
    sides = [read(folder, f"{name}.{language}").splitlines() for language in ("fr", "en")]
    return "".join(f"{source} ||| {target}\n" for source, target in zip(*sides, strict=True))


def test_each_command_is_a_function_in_a_file_with_a_configuration():
    files = {path.stem for path in (REPOSITORY / "jaxsmt" / "pipeline" / "commands").glob("[a-z]*.py")}
    assert files == {command.replace("-", "_") for command in COMMANDS}


def test_the_overview_names_all_commands(tmp_path):
    shown = run(tmp_path, "--help")
    assert shown.returncode == 0
    assert run(tmp_path).stdout == shown.stdout
    assert re.findall(r"^  ([a-z-]+)  +[A-Z][^:]", shown.stdout, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help(tmp_path, command):
    (tmp_path / "conf" / "text").mkdir(parents=True)
    (tmp_path / "conf" / "text" / "sung.yaml").write_text("defaults: [truecase]\n")
    shown = run(tmp_path, command, "--help")
    assert shown.returncode == 0
    assert shown.stderr == ""
    examples = shown.stdout.partition("Examples:\n")[2].partition("\n\n")[0].replace("\\\n", "").splitlines()
    examples = [example for example in examples if not example.startswith("  # ")]
    assert len(examples) >= 3
    assert all(f"jaxsmt {command}" in example for example in examples)
    lines = shown.stdout.splitlines()
    assert lines[-1].startswith("Every key is explained in ")  # a path, which may be long
    assert max(map(len, lines[:-1])) <= 80
    listing = shown.stdout.replace("\n" + " " * 13, " ")
    for group in re.findall(r"^  (\w+)= ", shown.stdout, re.MULTILINE):
        choices = {path.stem for path in (REPOSITORY / "conf" / group).glob("*.yaml")}
        choices -= set(REFUSED.get((command, group), ()))
        listed = re.search(rf"^  {group}= +(.*?)  +\(", listing, re.MULTILINE).group(1)
        assert {name.strip(" *") for name in listed.split(",")} == {*choices, *(["sung"] if group == "text" else [])}


@pytest.mark.parametrize("width", [40, 60, 200])
def test_help_fits_a_terminal_of_any_width_and_says_the_same(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", "110")
    widest = {command: command_help(command) for command in COMMANDS}
    monkeypatch.setenv("COLUMNS", str(width))
    for command in COMMANDS:
        lines = command_help(command).splitlines()
        long = [line for line in lines[:-1] if len(line) > width]
        assert all(len(line.split()) <= 3 for line in long), long  # a key and its value, or an option, stay whole
        assert words_of_help("\n".join(lines)) == words_of_help(widest[command])
    for line in overview(COMMANDS).splitlines():
        assert len(line) <= max(width, len("  jaxsmt COMMAND --help          says more about it"))


def words_of_help(text: str) -> Counter[str]:
    """Words, wherever they stand; signs of comments and of continued lines left out."""
    return Counter(word for word in text.split() if word not in ("#", "\\"))


def test_a_slip_in_the_command_is_named(tmp_path):
    slip = run(tmp_path, "algin")
    assert slip.returncode == 1
    assert slip.stderr == "error: 'algin' is not a command of jaxsmt: did you mean 'align'?\n"


def test_decode_reads_and_writes_standard_streams(folder):
    text = "".join(read(folder, "kitchen.dev.fr").splitlines(keepends=True)[:2])
    lines = output(folder, "decode", "model_dir=runs/mine/model", text=text).splitlines()
    translated = folder / "runs" / "mine" / "translations" / "dev.kitchen.unweighted.txt"
    assert lines == translated.read_text(encoding="utf-8").splitlines()[:2]


def test_align_gives_the_links_of_training(folder):
    text = ["source=corpus/kitchen.train.fr", "target=corpus/kitchen.train.en", *LANGUAGES]
    shown = output(folder, "align", *text, *PREPARED, "align=ibm1", "aligner_output=kept")
    expected = (folder / "runs" / "mine" / "links" / "kitchen.align").read_text()
    assert shown == expected
    again = output(folder, "align", "aligner=kept", "output=again.align", text=pairs(folder, "kitchen.train"))
    assert again == ""
    assert (folder / "again.align").read_text() == expected
    new = output(folder, "align", "aligner=kept", text=pairs(folder, "kitchen.dev"))
    assert new == (folder / "runs" / "mine" / "links" / "dev.kitchen.align").read_text()


def test_pairs_that_are_dropped_have_empty_lines(tmp_path, capsys):
    (tmp_path / "lines").write_text("a b ||| x y\n ||| x\nb a ||| y x\n")
    options = [f"input={tmp_path / 'lines'}", "align=ibm1"]
    align(compose_config("align", [*options, "text.clean=true"]))
    links = capsys.readouterr().out.splitlines()
    assert [bool(line) for line in links] == [True, False, True]
    align(compose_config("align", options))
    assert [bool(line) for line in capsys.readouterr().out.splitlines()] == [True, False, True]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["source=a"], "source and target go together"),
        (["aligner=a", "aligner_output=b"], "aligner and aligner_output exclude each other"),
        (["input=lines"], "'lines' line 2 has 2 times '|||'"),
        (["aligner=nowhere", "source=lines", "target=other"], "'nowhere"),
    ],
)
def test_mistakes_in_align_are_named(tmp_path, monkeypatch, arguments, sentence):
    (tmp_path / "lines").write_text("a ||| b\na ||| b ||| c\n")
    for name in ("a", "other"):
        (tmp_path / name).write_text("a\nb\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=re.escape(sentence)):
        align(compose_config("align", arguments))


def test_a_mistake_is_one_sentence_of_the_process(tmp_path):
    result = run(tmp_path, "extract", "alignment=x")
    assert result.returncode == 1
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("error: name the links of the text")


def test_extract_gives_the_tables_of_training(folder):
    given = "alignment=runs/mine/links/kitchen.align"
    output(folder, "extract", given, "output=tables", *PREPARED, *LANGUAGES, text=pairs(folder, "kitchen.train"))
    expected = folder / "runs" / "mine" / "moses" / "kitchen"
    names = {path.name for path in expected.iterdir()}
    assert {path.name for path in (folder / "tables").iterdir()} == names
    assert len(names) == 6
    for name in names:
        assert (folder / "tables" / name).read_bytes() == (expected / name).read_bytes()


def test_extract_writes_rules(folder):
    (folder / "one.align").write_text("0-0 1-2 2-1\n")
    options = ["alignment=one.align", "output=rules", "extract=hiero", "extract.min_gap=1"]
    output(folder, "extract", *options, text="la maison rouge ||| the red house\n")
    rules = gzip.decompress((folder / "rules" / "rule-table.gz").read_bytes()).decode()
    assert "la [X][X] [X] ||| the [X][X] [X] ||| " in rules


def test_lm_gives_the_model_of_training(folder):
    options = ["text=truecase", "language=en", "estimation.order=3", "output=kitchen.arpa.gz"]
    output(folder, "lm", *options, text=read(folder, "kitchen.train.en"))
    expected = gzip.decompress((folder / "runs" / "mine" / "lm" / "kitchen.arpa.gz").read_bytes())
    assert gzip.decompress((folder / "kitchen.arpa.gz").read_bytes()) == expected


def test_perplexity_under_models_of_every_kind(folder, kenlm, monkeypatch, capsys):
    text = "the cat sat on the mat\nthe dog sat\n"
    arpa = output(folder, "lm", "estimation.order=2", text=text)
    (folder / "small.arpa").write_text(arpa)
    (folder / "test.txt").write_text("the cat sat\n\na dog <s> </s>\n")
    shown = output(folder, "lm", "model=small.arpa", "perplexity=-", text=(folder / "test.txt").read_text())
    scores = [
        (log10, unknown)
        for line in ("the cat sat", "", "a dog <unk> <unk>")
        for log10, _, unknown in kenlm.Model(str(folder / "small.arpa")).full_scores(line)
    ]
    known = [log10 for log10, unknown in scores if not unknown]
    figures = [10 ** -np.mean(part) for part in ([log10 for log10, _ in scores], known)]
    lines = shown.splitlines()
    assert lines[0] == "3 sentences, 7 words, 3 unknown"
    assert [float(value) for value in lines[2].split()[1:]] == pytest.approx(figures, abs=2e-3)
    monkeypatch.setattr("jaxsmt.pipeline.scored_lms.is_kenlm_binary", lambda path: True)
    lm(compose_config("lm", [f"model={folder / 'small.arpa'}", f"perplexity={folder / 'test.txt'}"]))
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [line.split() for line in lines]


def test_perplexity_under_a_trained_model(folder, capsys):
    lm(compose_config("lm", [f"model={folder / 'runs/mine/model'}", f"perplexity={folder / 'corpus/kitchen.dev.en'}"]))
    lines = capsys.readouterr().out.splitlines()
    names = [re.split(r"  +", line)[0] for line in lines[2:]]
    assert names == ["kitchen", "mixture equal", "mixture kitchen"]
    assert len({tuple(line.split()[-2:]) for line in lines[2:]}) == 1  # one model alone is all there is to mix


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["model=x"], "there is nothing to do with the model"),
        (["perplexity=x"], "both go to standard output"),
        (["output=x", "perplexity=-"], "both standard input"),
        (["model=.", "perplexity=x"], "holds no language model"),
    ],
)
def test_mistakes_in_lm_are_named(options, sentence, tmp_path, monkeypatch):
    (tmp_path / "x").write_text("a\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=sentence):
        lm(compose_config("lm", options))


LISTS = """0 ||| it is the house ||| LM0= -1 TM0= -6 ||| -4.0
0 ||| this is a house ||| LM0= -3 TM0= -3 ||| -4.5
1 ||| it is the door ||| LM0= -1 TM0= -6 ||| -4.0
1 ||| this is a door ||| LM0= -3 TM0= -3 ||| -4.5
"""


@pytest.fixture
def lists(tmp_path):
    (tmp_path / "small.nbest").write_text(LISTS)
    (tmp_path / "small.en").write_text("this is a house\nthis is a door\n")
    (tmp_path / "weights.txt").write_text("LM0_0 1.0\nTM0_0 0.5\n")
    return tmp_path


def test_tune_lists_writes_to_standard_output(lists):
    options = ["nbest=[small.nbest]", "references=[small.en]", "output=-", "+start.LM0_0=1"]
    lines = output(lists, "tune-lists", *options).splitlines()
    assert [line.split()[0] for line in lines] == ["LM0_0", "TM0_0"]
    weights = [float(line.split()[1]) for line in lines]
    assert np.dot(weights, [-3, -3]) > np.dot(weights, [-1, -6])


def test_adapt_lists_sweeps_over_choices_with_keys_of_their_own(lists):
    files = ["nbest=[small.nbest]", "weights_file=weights.txt"]
    files += ["adaptation_nbest=[small.nbest]", "adaptation_references=[small.en]"]
    files += ["dev_nbest=[small.nbest]", "dev_references=[small.en]"]
    keys = ["adapt.delta=1", "adapt.num_samples=200", "adapt.members=2", "adapt.mert.restarts=2"]
    shown = output(lists, "adapt-lists", "--multirun", "adapt=bpa,bagging", *files, *keys)
    chosen = [line for line in shown.splitlines() if "||" not in line]
    assert chosen == ["this is a house", "this is a door"] * 2


def test_compare_reads_standard_input(lists):
    shown = output(
        lists, "compare", "references=[small.en]", "+systems.mine=[-]", text="this is a house\nthis is a door\n"
    )
    assert shown.splitlines()[1].split()[:2] == ["mine", "100.00"]
