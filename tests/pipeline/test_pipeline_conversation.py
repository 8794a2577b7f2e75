"""Lines that are answered one by one: what a person types, and what a program sends."""

import os
import pty
import re
import subprocess
import sys

import numpy as np
import pytest

from jaxsmt.common.files import write_text
from jaxsmt.model.library import load_model
from jaxsmt.pipeline.commands.decode import chosen_labeller, decode
from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.translating.conversation import Conversation
from jaxsmt.pipeline.translating.session import Session
from jaxsmt.pipeline.translating.warming import COMMON_LENGTHS, Warming
from jaxsmt.search.stack.kernel import fill_stacks
from jaxsmt.text.streams import read_lines
from jaxsmt.tm.features import _mixed_features, _mixed_tables
from jaxsmt.tm.reordering import _log_orientations
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import COMPONENTS, compose_config, train_config, write_corpus

LINES = ["Je voudrais une soupe.", "", "Où est la gare ?"]


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("conversation")
    train(train_config(folder, [*write_corpus(folder / "corpus"), "align=ibm1", "lm=trigram", "translate=[]"]))
    return folder / "model"


@pytest.fixture
def talk(model_dir):
    config = compose_config("decode", [f"model_dir={model_dir}"])
    loaded = load_model(model_dir)
    said: list[str] = []
    found = Conversation(
        Session(config, loaded.translator), chosen_labeller(config, loaded.model), said.append, said.append
    )
    yield loaded, found, said
    found.warming.stop()


def test_a_line_is_answered_as_the_library_does(talk):
    loaded, conversation, said = talk
    assert "fr → en" in conversation.greeting()
    assert "kitchen, travel" in conversation.greeting()
    conversation.hear(":domain travel")
    said.clear()
    for line in LINES:
        assert conversation.hear(line)
    expected = [line.text for line in loaded.translate([line for line in LINES if line], domain="travel")]
    assert [text for text in said if not text.startswith("unknown: ")] == expected


def test_lists_are_shown_best_first(talk):
    loaded, conversation, said = talk
    for line in (":domain none", ":nbest 3"):
        conversation.hear(line)
    said.clear()
    conversation.hear(LINES[0])
    expected = loaded.nbest([LINES[0]], 3, labels=[None])[0]
    assert [text.split(None, 1)[1] for text in said[:3]] == [line.text for line in expected]
    assert [float(text.split()[0]) for text in said[:3]] == pytest.approx([line.score for line in expected], abs=1e-3)


def test_explain_shows_what_a_translation_is_made_of(talk):
    loaded, conversation, said = talk
    for line in (":domain travel", ":explain", LINES[0]):
        conversation.hear(line)
    assert said[-2] == loaded.translate(LINES[:1], domain="travel")[0].text
    assert "domain    travel" in said[-1]
    assert "seen in" in said[-1]
    conversation.hear(":explain")
    assert not conversation.explains


def test_what_is_not_known_is_said_and_goes_on(talk):
    _, conversation, said = talk
    for line, sentence in (
        (":domain sea", "'sea' is not in the model: choose one of kitchen, travel, auto, none"),
        (":nbset 3", "did you mean :nbest?"),
        (":nbest many", "needs a number"),
        (":", ":help shows what is"),
        (":help", ":quit"),
        (":domain", "kitchen, travel"),
    ):
        assert conversation.hear(line)
        assert sentence in said[-1]
    assert not conversation.hear(":quit")


def test_lines_of_a_common_length_find_their_kernels(talk):
    _, conversation, _ = talk
    warming = Warming()
    warming.start(conversation.session, conversation.labeller)
    warming.wait_for_all()
    assert [warming.wait(num) is warming.busy[size] for num, size in ((1, 24), (24, 24), (25, 48))] == [True] * 3
    with warming.wait(max(COMMON_LENGTHS) + 1):  # nothing to wait for
        conversation.hear(LINES[0])


def test_nothing_is_traced_for_a_line_that_was_prepared_for(talk):
    _, conversation, _ = talk
    kernels = (fill_stacks, _mixed_tables, _mixed_features, _log_orientations)
    for command in (":domain travel", ":nbest 3"):
        conversation.hear(command)
        conversation.warm()
        conversation.warming.wait_for_all()
        before = [kernel._cache_size() for kernel in kernels]
        for line in LINES:
            conversation.hear(line)
        assert [kernel._cache_size() for kernel in kernels] == before


def test_lists_are_prepared_for_when_they_are_first_asked_for(talk):
    _, conversation, _ = talk
    for command, num in ((":domain none", 0), (":explain", 1), (":nbest 2", 1), (":explain", 1), (":nbest 0", 1)):
        conversation.hear(command)
        assert len(conversation.warming.threads) == num
    conversation.hear(":nbest 4")
    assert len(conversation.warming.threads) == 2


def test_a_text_finds_its_own_domain(model_dir, tmp_path, caplog):
    corpus = model_dir.parent / "corpus"
    lines = [line for name in COMPONENTS for line in read_lines(corpus / f"{name}.dev.fr")]
    write_text(tmp_path / "in", "".join(line + "\n" for line in lines))
    files = {"input": "in", "output": "out", "labels_output": "labels"}
    options = [f"model_dir={model_dir}", *(f"{key}={tmp_path / name}" for key, name in files.items())]
    loaded = load_model(model_dir)
    with caplog.at_level("INFO", "jaxsmt"):
        decode(compose_config("decode", options))
    labels = (tmp_path / "labels").read_text().split()
    right = [name for name in COMPONENTS for _ in range(len(lines) // 2)]
    assert np.mean(np.array(labels) == right) > 0.8
    assert "domains found: " in caplog.text
    assert f"kitchen {labels.count('kitchen')}" in caplog.text
    assert (tmp_path / "out").read_text().splitlines() == [line.text for line in loaded.translate(lines, labels=labels)]
    assert [line.text for line in loaded.translate(lines)] == (tmp_path / "out").read_text().splitlines()
    decode(compose_config("decode", [*options, "domain=none"]))
    assert set((tmp_path / "labels").read_text().split()) == {"-"}
    plain = loaded.translate(lines, labels=[None] * len(lines))
    assert (tmp_path / "out").read_text().splitlines() == [line.text for line in plain]
    assert loaded.translate([]) == []
    assert loaded.model.finder.labels_of([[]]) == ["kitchen"]  # it says nothing: the first


def test_nothing_is_said_of_a_text_without_lines(model_dir, tmp_path, caplog):
    write_text(tmp_path / "in", "")
    with caplog.at_level("INFO", "jaxsmt"):
        decode(compose_config("decode", [f"model_dir={model_dir}", f"input={tmp_path}/in", f"output={tmp_path}/out"]))
    assert (tmp_path / "out").read_text() == ""
    assert [record.getMessage().split(" in ")[0] for record in caplog.records] == ["0 lines"]


def test_empty_lines_are_of_no_kind(model_dir, tmp_path, caplog):
    write_text(tmp_path / "in", f"\n{LINES[0]}\n\n\n")
    with caplog.at_level("INFO", "jaxsmt"):
        decode(compose_config("decode", [f"model_dir={model_dir}", f"input={tmp_path}/in", f"output={tmp_path}/out"]))
    assert len((tmp_path / "out").read_text().splitlines()) == 4
    (told,) = [record.getMessage() for record in caplog.records if "domains found" in record.getMessage()]
    assert sum(map(int, re.findall(r"\d+", told))) == 1


def command(model_dir, *options):
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1"}
    arguments = [sys.executable, "-m", "jaxsmt.pipeline.main", "decode", f"model_dir={model_dir}", *options]
    return {"args": arguments, "env": environment, "stdout": subprocess.PIPE}


def test_a_program_gets_its_answer_before_it_sends_the_next_line(model_dir):
    expected = [line.text for line in load_model(model_dir).translate(LINES, domain="travel")]
    options = command(model_dir, "stream=true", "domain=travel", "quiet=true")
    with subprocess.Popen(**options, stdin=subprocess.PIPE, text=True, encoding="utf-8") as process:
        for line, answer in zip(LINES, expected, strict=True):
            process.stdin.write(line + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == answer + "\n"
        process.stdin.close()
        assert process.wait() == 0


def test_a_person_at_a_terminal_is_greeted(model_dir):
    ours, theirs = pty.openpty()
    expected = load_model(model_dir).translate(LINES[:1], labels=[None])[0].text
    with subprocess.Popen(**command(model_dir, "domain=none"), stdin=theirs, stderr=subprocess.PIPE) as process:
        os.write(ours, f"{LINES[0]}\n:quit\n".encode())
        said, remarks = process.communicate(timeout=300)
    for end in (ours, theirs):
        os.close(end)
    assert said.decode("utf-8") == expected + "\n"
    assert "fr → en" in remarks.decode("utf-8")
    assert process.returncode == 0
