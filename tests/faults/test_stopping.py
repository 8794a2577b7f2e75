"""Processes that are stopped by Ctrl-C, that nobody reads from, or that are killed: no traceback, nothing left."""

import os
import signal
import subprocess
import sys
import time

import pytest

from jaxsmt.common.integrity.ending import NO_READER, STOPPED, ended_quietly
from jaxsmt.pipeline.main import main
from tests.faults.forked import REPOSITORY, TRACEBACK, Job
from tests.faults.kills import QUICK, differing_files
from tests.pipeline.small_corpus import files_below, write_corpus

LINES = "le chat\nil mange\nune rue\n"
PRESSED = "from tests.faults.forked import press_control_c; press_control_c('import', {!r}); "
MAIN = "from jaxsmt.pipeline.main import main; main()"


@pytest.fixture
def place(trained, tmp_path):
    """A folder with some lines to translate."""
    (tmp_path / "lines").write_text(LINES, encoding="utf-8")
    return tmp_path


def decode(trained, *arguments):
    return ["decode", f"model_dir={trained / 'model'}", *arguments, "quiet=true"]


def process(code, *arguments, **options):
    """A process of its own that runs some Python."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize("module", ["omegaconf", "jaxlib"])
def test_ctrl_c_while_importing(module, tmp_path):
    ended = process(PRESSED.format(module) + MAIN, "train", f"work_dir={tmp_path / 'run'}")
    assert (ended.returncode, ended.stdout, ended.stderr) == (STOPPED, "", "error: stopped\n")
    assert not (tmp_path / "run").exists()


def test_ctrl_c_in_training_keeps_finished_stages_and_the_bytes(forker, tmp_path):
    corpus = [part for part in write_corpus(tmp_path / "corpus") if "travel" not in part]
    folder = tmp_path / "run"
    arguments = ["train", *corpus, *QUICK, "translate=[]", f"work_dir={folder}"]
    for moment in ("open kitchen.train.fr", "os.rename -links-kitchen", "open model.json"):
        ended = forker.run(Job(arguments, stop_at=moment))[0]
        assert (ended.code, ended.errors.count("error: stopped"), ended.is_calm) == (STOPPED, 1, True), (moment, ended)
        assert not list(tmp_path.glob("**/.*")), moment
        assert not (folder / "model").exists()
    assert list(folder.glob("artefacts/links-*"))
    assert forker.run(Job(arguments))[0].code == 0
    folder.rename(tmp_path / "after")
    assert forker.run(Job(arguments))[0].code == 0
    assert differing_files(folder, tmp_path / "after") == []


def test_ctrl_c_in_decoding_writes_nothing(forker, trained, place):
    arguments = decode(trained, f"input={place / 'lines'}", f"output={place / 'out'}")
    for moment in ("open hydra/output", "open vocabulary", "open lines", "open -out", "os.rename -out"):
        ended = forker.run(Job(arguments, stop_at=moment))[0]
        assert (ended.code, ended.errors.count("error: stopped"), ended.is_calm) == (STOPPED, 1, True), (moment, ended)
        assert [path.name for path in place.iterdir()] == ["lines"], moment


@pytest.fixture
def _heeded():
    """Ctrl-C is heeded, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heeded")
def test_ctrl_c_in_the_midst_of_collecting_garbage_is_not_lost(capfd):
    class Thing:
        def __del__(self):
            raise KeyboardInterrupt

    def drop_it():
        thing = Thing()
        del thing
        for _ in range(10_000):
            time.sleep(0.001)

    with pytest.raises(SystemExit) as ended, ended_quietly():
        drop_it()
    assert ended.value.code == STOPPED
    assert capfd.readouterr().err == "error: stopped\n"


def test_what_runs_in_the_background_is_not_stopped():
    ignored = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    pressed = "import sys; sys.addaudithook(lambda event, args: event == 'import' and args[0] == 'omegaconf' and "
    pressed += "signal.raise_signal(signal.SIGINT)); "
    ended = process(ignored + pressed + MAIN, "decode", "model_dir=nowhere")
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: 'nowhere' is not a model folder")


def test_at_the_end_ctrl_c_ends_the_process_at_once():
    code = "import atexit, signal; atexit.register(signal.raise_signal, signal.SIGINT); "
    code += "signal.signal(signal.SIGINT, signal.default_int_handler); " + MAIN
    ended = process(code, "--version")
    assert ended.returncode == -signal.SIGINT
    assert ended.stderr == ""


def test_what_nobody_reads_is_not_written_and_not_complained_of(forker, trained, place):
    ended = forker.run(Job(decode(trained, f"input={place / 'lines'}"), is_read=False))[0]
    assert (ended.code, ended.errors) == (NO_READER, "")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as pipe:
        command = [sys.executable, "-c", MAIN, "--help"]
        helped = subprocess.run(command, cwd=REPOSITORY, stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (helped.returncode, helped.stderr) == (NO_READER, b"")


def test_standard_streams_that_are_closed(trained, place):
    closed = "import os, sys; os.close({0}); os.execv(sys.executable, [sys.executable, '-c', " + repr(MAIN)
    closed += ", *sys.argv[1:]])"
    output = f"output={place / 'out'}"
    found = process(closed.format(0), *decode(trained, output))
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr == "error: standard input is closed: name a file, or let text come in\n"
    found = process(closed.format(1), *decode(trained, f"input={place / 'lines'}"))
    assert (found.returncode, found.stderr) == (1, "error: standard output is closed: give a file, output=…\n")
    found = process(closed.format(2), "decode", "model_dir=nowhere")
    assert (found.returncode, found.stdout, found.stderr) == (1, "", "")
    assert not (place / "out").exists()


def test_a_killed_decoding_leaves_nothing_that_the_next_does_not_clean(forker, trained, place):
    keys = ("output", "alignments", "labels_output")
    first = decode(trained, f"input={place / 'lines'}", *(f"{key}={place / key}" for key in keys))
    assert forker.run(Job(first, die_at=2))[0].was_killed
    assert len(list(place.glob(".unfinished-*"))) == 2
    assert forker.run(Job(decode(trained, f"input={place / 'lines'}", f"output={place / 'other'}")))[0].code == 0
    assert not list(place.glob(".*"))


def test_scratch_folders_go_at_the_end_and_after_a_kill(forker, place):
    scratch = place / "scratch"
    scratch.mkdir()
    arguments = ["lm", f"input={place / 'lines'}", f"output={place / 'm.arpa'}", "quiet=true"]
    assert forker.run(Job(arguments, die_at=1, temporary=str(scratch)))[0].was_killed
    assert len(list(scratch.iterdir())) == 1
    assert forker.run(Job(arguments, temporary=str(scratch)))[0].code == 0
    assert not list(scratch.iterdir())
    assert {path.name for path in place.iterdir()} == {"lines", "m.arpa", "scratch"}


def test_names_of_files_as_people_have_them(forker, trained, place):
    names = {
        "input": "l'été à «Rome» = {1}, [2].fr", "output": 'a "quoted" $HOME, (b)', "alignments": "=a:b; ~c",
        "labels_output": "Übung № 5 \\ 日本", "unknown_words": "$x {y", "nbest_output": "null value",
    }  # fmt: skip
    (place / names["input"]).write_text(LINES, encoding="utf-8")
    plain = {key: key for key in names} | {"input": "lines"}
    written = []
    for chosen in (plain, names):
        arguments = [f"{key}={place / name}" for key, name in chosen.items()]
        ended = forker.run(Job(decode(trained, *arguments, "nbest=2")))[0]
        assert (ended.code, ended.errors) == (0, ""), ended
        files = files_below(place)
        written.append({key: files[name] for key, name in chosen.items()})
    assert written[0] == written[1]
    assert len(written[0]["output"].splitlines()) == 3


def test_a_name_on_the_command_line_is_named_as_it_is(capsys):
    with pytest.raises(SystemExit):
        main(["decode", "model_dir=l'été, \"nulle part\" = {x}"])
    assert capsys.readouterr().err.startswith("error: 'l'été, \"nulle part\" = {x}' is not a model folder")


def test_a_traceback_is_what_the_tests_look_for():
    assert TRACEBACK in process("raise KeyError").stderr
