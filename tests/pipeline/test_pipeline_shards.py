"""A file translated by many jobs: the same bytes as by one, whatever fails in between."""

import os
import signal
import subprocess
import sys

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.demo import generate_demo
from jaxsmt.model.source_text import LINES_PER_BLOCK
from jaxsmt.pipeline.commands import decode as decoding
from jaxsmt.pipeline.commands.decode import decode
from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.config.keys import register_all_schemas
from jaxsmt.pipeline.config.launch import _explain_batch, explain
from jaxsmt.pipeline.jobs import processes
from jaxsmt.pipeline.jobs.parts import PartLabels, num_filled, shard_bounds
from jaxsmt.pipeline.jobs.shards import OUTPUTS
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import compose_config, files_below, train_config, write_corpus
from tests.slurm_machine import missing_programs, slurm_machine

QUICK = ("align=ibm1", "align.ibm1_iterations=2", "lm=trigram", "translate=[]")
NUM_LINES = 523  # two blocks


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model that finds the labels of lines by those around them, a text of both kinds, and its translation."""
    folder = tmp_path_factory.mktemp("shards")
    train(train_config(folder, [*write_corpus(folder / "corpus"), *QUICK]))
    demo = generate_demo()
    kitchen, travel = ([demo[domain]["train"][row][0] for row in range(8)] for domain in ("kitchen", "travel"))
    lines = [*kitchen, *["Xylophone"] * 500, *travel[:7], *kitchen]  # the words in the middle are of no kind
    write_text(folder / "in", "".join(line + "\n" for line in lines))
    decode(asked(folder, folder / "whole"))
    return folder


def asked(folder, place, *more):
    """A configuration with all that can be written, in a folder of its own."""
    return compose_config("decode", [*options(folder, place), *more])


def options(folder, place):
    names = {key: f"{key}.jsonl" if key == "explain_output" else key for key in OUTPUTS}
    given = [f"{key}={place / name}" for key, name in names.items()]
    return [f"model_dir={folder / 'model'}", f"input={folder / 'in'}", "nbest=3", "explain=true", *given]


def test_what_is_compared_says_something(folder):
    whole = files_below(folder / "whole")
    assert set(whole) == {*OUTPUTS, "explain_output.jsonl"} - {"explain_output"}
    assert len(set(whole["labels_output"].split())) == 2
    assert whole["output"].count(b"\n") == NUM_LINES
    assert b"500\tXylophone\n" in whole["unknown_words"]
    assert b'{"line": 522,' in whole["explain_output.jsonl"]
    assert whole["nbest_output"].rstrip().split(b"\n")[-1].startswith(b"522 ||| ")


def test_shards_in_any_order_are_joined_by_the_last_one(folder, tmp_path):
    for shard in (2, 5, 3, 4):
        decode(asked(folder, tmp_path, "shards=5", f"shard={shard}"))
        assert not [path for path in tmp_path.iterdir() if path.is_file()]
    decode(asked(folder, tmp_path, "shards=5", "shard=1"))
    assert files_below(tmp_path) == files_below(folder / "whole")
    assert not (tmp_path / "output.shards").exists()


def test_processes_of_this_machine(folder, tmp_path):
    decode(asked(folder, tmp_path, "shards=2", "processes=1"))
    assert files_below(tmp_path) == files_below(folder / "whole")


def test_labels_are_found_with_an_eye_on_the_whole_block(folder, tmp_path, monkeypatch):
    """Blocks of a hundred lines, and one or two of them in a shard."""
    for room in ("model.source_text", "pipeline.jobs.parts"):
        monkeypatch.setattr(f"jaxsmt.{room}.LINES_PER_BLOCK", 100)
    decode(asked(folder, tmp_path / "whole"))
    for shard in (1, 2, 3, 4):
        decode(asked(folder, tmp_path / "joined", "shards=4", f"shard={shard}"))
    assert files_below(tmp_path / "joined") == files_below(tmp_path / "whole")


def test_given_labels_are_counted_before_any_shard_is_translated(folder, tmp_path):
    write_text(tmp_path / "labels", "kitchen\n" * NUM_LINES)
    labels = f"labels={tmp_path / 'labels'}"
    decode(asked(folder, tmp_path / "whole", labels))
    for shard in (1, 2):
        decode(asked(folder, tmp_path / "joined", labels, "shards=2", f"shard={shard}"))
    assert files_below(tmp_path / "joined") == files_below(tmp_path / "whole")
    for number in (NUM_LINES - 1, NUM_LINES + 1):
        write_text(tmp_path / "labels", "kitchen\n" * number)
        with pytest.raises(UserError, match="give one label a line"):
            decode(asked(folder, tmp_path / "joined", labels, "shards=2", "shard=1"))


def test_a_shard_that_failed_runs_again_alone(folder, tmp_path, monkeypatch):
    translate_blocks = decoding.translate_blocks

    def failing(session, labeller, blocks, first=0):
        for block in blocks:
            translate_blocks(session, labeller, [block], first)
        if first:
            raise UserError("the disk is full: make room")

    monkeypatch.setattr(decoding, "translate_blocks", failing)
    decode(asked(folder, tmp_path, "shards=2", "shard=1"))
    kept = files_below(tmp_path)
    with pytest.raises(UserError, match="the disk is full"):
        decode(asked(folder, tmp_path, "shards=2", "shard=2"))
    assert files_below(tmp_path) == kept
    monkeypatch.undo()
    decode(asked(folder, tmp_path, "shards=2", "shard=2"))
    assert files_below(tmp_path) == files_below(folder / "whole")


def test_the_same_command_does_what_is_missing(folder, tmp_path, monkeypatch):
    """Of another text or another request nothing is taken, and a failure is told with what is left."""
    decode(asked(folder, tmp_path, "shards=2", "shard=2"))
    told = []

    def run_processes(command, jobs, at_a_time):
        told.append(list(jobs))
        return dict.fromkeys(jobs, "it was ended by signal 9")

    monkeypatch.setattr("jaxsmt.pipeline.jobs.shards.run_processes", run_processes)
    with pytest.raises(UserError, match=r"shard 1 failed \(it was ended by signal 9\): 1 of 2 are done and kept in"):
        decode(asked(folder, tmp_path, "shards=2"))
    with pytest.raises(UserError, match=r"shard 1 and 1 more failed .*: none is done; the same command"):
        decode(asked(folder, tmp_path, "shards=2", "domain=travel"))
    assert told == [[1], [1, 2]]
    assert not [path for path in tmp_path.iterdir() if path.is_file()]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["shards=0"], "shards is 0: give a number from 1"),
        (["shard=1"], "shards is not set"),
        (["shards=2", "shard=3"], "shard is 3: give one from 1 to 2"),
        (["shards=2", "processes=0"], "processes is 0"),
        (["shards=2", "input=-"], "every shard needs input as a file"),
        (["shards=2", "output=-"], "every shard needs output as a file"),
        (["shards=2", "stream=true"], "stream and shards exclude each other"),
        (["shards=2", "check=true"], "check and shards exclude each other"),
        (["shards=2", "input=some.po"], "is a document, which is translated as a whole"),
        (["shards=2", "input=nothing"], "input is 'nothing', which is no file"),
        (["shards=2", "model_dir=nothing"], "model_dir is 'nothing', which is no model"),
    ],
)
def test_what_cannot_be_cut_is_told_before_any_work(folder, tmp_path, given, sentence):
    with pytest.raises(UserError, match=sentence):
        decode(asked(folder, tmp_path, *given))
    assert not list(tmp_path.iterdir())


def test_a_shard_holds_its_text_in_memory(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "MOST_KNOWN", 499)
    with pytest.raises(UserError, match=r"leaves 500 lines to each.*: give shards=3 or more"):
        decode(asked(folder, tmp_path, "shards=2", "shard=1"))


@pytest.mark.parametrize("num_shards", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("num_lines", [0, 1, 5, 999, 4000, 4001, 12_345])
def test_shards_are_all_lines_in_order(num_lines, num_shards):
    bounds = [shard_bounds(num_lines, num_shards, shard) for shard in range(1, num_shards + 1)]
    assert [place for first, last in bounds for place in range(first, last)] == list(range(num_lines))
    sizes = [last - first for first, last in bounds]
    assert all(first % LINES_PER_BLOCK == 0 or first == num_lines for first, _ in bounds)
    filled = num_filled(num_lines, num_shards)
    assert all(sizes[:filled]) or num_lines == 0
    assert not any(sizes[filled:])


def test_labels_of_a_part_have_their_place_in_the_whole():
    part = PartLabels(["a", None, "b"], 10)
    assert part.labels_of([["x"], ["y"]], 11) == [None, "b"]
    assert (part.labels_of([], 13), part.names) == ([], ("a", "b"))


def test_no_more_processes_are_started_where_the_first_ones_fail(monkeypatch):
    """A job that fails when others have succeeded stops nobody; the reason is what the process said at its end."""
    code = "import json, sys\ntold = json.load(sys.stdin)\nprint('noise', file=sys.stderr)\nsys.exit(told['end'])"
    started = []

    def popen(command, **pipes):
        started.append(command)
        return real([sys.executable, "-c", code], **pipes)

    real = subprocess.Popen
    monkeypatch.setattr(processes.subprocess, "Popen", popen)
    assert processes.run_processes("decode", {1: {"end": 3}, 2: {"end": 0}, 3: {"end": 0}}, 1) == {
        1: "exit code 3, noise"
    }
    assert len(started) == 1
    jobs = {1: {"end": 0}, 2: {"end": "error: it is late"}, 3: {"end": 0}, 4: {"end": 4}}
    assert processes.run_processes("decode", jobs, 1) == {2: "it is late", 4: "exit code 4, noise"}
    assert len(started) == 5


def test_reasons_of_the_system():
    assert processes._reason(-signal.SIGKILL, "") == "it was ended by signal 9"
    assert processes._reason(1, "a\nerror: b: c\n") == "b: c"


def batch(folder, place, launcher, *more, environment=os.environ):
    """`jaxsmt decode` with a batch job for each of two shards."""
    jobs = ["--multirun", f"hydra/launcher={launcher}", "hydra.launcher.timeout_min=10", "shards=2", "shard=range(1,3)"]
    command = [sys.executable, "-m", "jaxsmt.pipeline.main", "decode", *jobs, *options(folder, place), *more]
    told = {**environment, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, cwd=folder, env=told, capture_output=True, text=True, check=False, timeout=500)


def results(place):
    """What a translation wrote, without the notes of its batch jobs."""
    return {name: data for name, data in files_below(place).items() if ".jobs/" not in name}


def test_batch_jobs_of_submitit(folder, tmp_path):
    """Its local executor: jobs are submitted, wait, run and return as on a cluster. A failure is one sentence."""
    pytest.importorskip(
        "hydra_plugins.hydra_submitit_launcher", reason="no package hydra-submitit-launcher (extra cluster)"
    )
    failed = batch(folder, tmp_path, "submitit_local", "domain=law")
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1].startswith("error: domain 'law'"), failed.stderr
    assert "Traceback" not in failed.stderr
    assert results(tmp_path) == {}
    done = batch(folder, tmp_path, "submitit_local")
    assert done.returncode == 0, done.stderr
    assert results(tmp_path) == files_below(folder / "whole")


def test_batch_jobs_of_slurm(folder, tmp_path):
    """A controller and a node with one GPU, which one job at a time gets."""
    pytest.importorskip(
        "hydra_plugins.hydra_submitit_launcher", reason="no package hydra-submitit-launcher (extra cluster)"
    )
    if missing := missing_programs():
        pytest.skip(f"no Slurm on this machine (lacks {', '.join(missing)})")
    (tmp_path / "slurm").mkdir()
    with slurm_machine(tmp_path / "slurm") as environment:
        small = ["hydra.launcher.mem_gb=2", "hydra.launcher.cpus_per_task=1"]
        done = batch(folder, tmp_path / "out", "slurm", *small, environment=environment)
    assert done.returncode == 0, done.stderr
    assert results(tmp_path / "out") == files_below(folder / "whole")
    (script,) = {path.read_text() for path in (tmp_path / "out").rglob("*submission.sh")}
    for line in ("--gpus-per-node=1", "--time=10", "--mem=2GB", "--cpus-per-task=1", "--array=0-1%2"):
        assert f"#SBATCH {line}\n" in script


def test_what_is_said_of_batch_jobs_that_cannot_be_or_did_not_end(monkeypatch):
    register_all_schemas()
    with initialize_config_dir(str(REPOSITORY / "conf"), version_base="1.3"):
        compose("decode")  # Hydra has looked for launchers
        launchers = ConfigStore.instance().repo["hydra"]["launcher"]
        for name in [name for name in launchers if name.startswith("submitit")]:
            monkeypatch.delitem(launchers, name)
        for launcher in ("slurm", "submitit_local"):
            with pytest.raises(HydraException) as refused:
                compose("decode", [f"hydra/launcher={launcher}"], return_hydra_config=True)
            assert "pip install 'jaxsmt[cluster]'" in explain(refused.value, [])
    lost = RuntimeError("Job 7 (task: 0) has not produced any output (state: OUT_OF_MEMORY)\nNo output/error stream")
    assert "did not come to its end (Job 7 (task: 0) has not produced any output (state: OUT_OF_M" in _explain_batch(
        lost
    )


def test_slurm_has_a_gpu_time_and_memory():
    pytest.importorskip(
        "hydra_plugins.hydra_submitit_launcher", reason="no package hydra-submitit-launcher (extra cluster)"
    )
    register_all_schemas()
    with initialize_config_dir(str(REPOSITORY / "conf"), version_base="1.3"):
        config = compose("decode", ["hydra/launcher=slurm", "hydra.launcher.mem_gb=8"], return_hydra_config=True)
    found = config.hydra.launcher
    assert found._target_.endswith("SlurmLauncher")
    assert (found.gpus_per_node, found.timeout_min, found.mem_gb, found.partition) == (1, 240, 8, None)
