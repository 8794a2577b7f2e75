"""Commands that are killed at their renames and started again, and commands that race on one store."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from tests.faults.forked import Ended, Forker, Job
from tests.pipeline.small_corpus import ENOUGH_TO_TUNE, files_below, write_corpus

QUICK = ("align=ibm1", "align.ibm1_iterations=1", "lm=trigram", "quiet=true", "report=false")  # a page has times
QUICK_TUNING = ("tune=mira", "loop.max_iterations=1", "nbest_size=5", "tune_sentences=4")
HOSTS = (None, "elsewhere", None)  # names that processes of a race see as their host's


@dataclass
class Killed:
    """How often commands were killed, by command, and files that came out otherwise than without."""

    kills: dict[str, int] = field(default_factory=dict)
    differing: list[str] = field(default_factory=list)

    @property
    def number(self) -> int:
        return sum(self.kills.values())


def four_commands(folder: Path, corpus: Sequence[str]) -> dict[str, list[str]]:
    """Training, tuning, a sweep and decoding with the swept model, in one working folder."""
    base = ["train", *corpus, *QUICK, f"work_dir={folder}"]
    lines = next(part.split("=", 1)[1] for part in corpus if ".test." in part and ".source=" in part)
    outputs = [f"{key}={folder}/{key}" for key in ("output", "alignments", "labels_output", "nbest_output")]
    model = f"model_dir={folder}/sweep/1/model"
    return {
        "train": [*base, "translate=[]"],
        "tune": [*base, "translate=[]", *QUICK_TUNING],
        "sweep": ["train", "--multirun", *base[1:], "translate=[test]", "all_ways=false", "tm=full,top50"],
        "decode": ["decode", model, f"input={lines}", *outputs, "nbest=2", "quiet=true"],
    }


def killed_and_whole(forker: Forker, scratch: Path, stride: int, first: int = 1, only: Sequence[str] = ()) -> Killed:
    """Runs the commands whole, and killed along their way, in the same folder: the same files must come out.

    first: the rename that a process is killed at which goes on from a finished artefact; stride: how many renames
      later the next one is killed, as long as none of them finishes something.
    only: some of the commands.
    """
    corpus = write_corpus(scratch / "corpus", ENOUGH_TO_TUNE)
    folder, whole = scratch / "run", scratch / "whole"
    every = four_commands(folder, corpus)
    commands = {name: every[name] for name in only or every}
    for name, arguments in commands.items():
        _succeeds(forker.run(Job(arguments))[0], name)
    folder.rename(whole)
    found = Killed()
    for name, arguments in commands.items():
        steps = (1, 1) if name == "decode" else (first, stride)
        found.kills[name] = kill_along(forker, arguments, folder, *steps)
    found.differing = differing_files(folder, whole)
    return found


def kill_along(forker: Forker, arguments: list[str], folder: Path, first: int, stride: int) -> int:
    """Starts a command until one comes to its end, each killed further along than the one before; how many were."""
    kills, die_at, after = 0, first, cycle((False, True))
    finished = _finished(folder)
    while True:
        ended = forker.run(Job(arguments, die_at, next(after)))[0]
        if not ended.was_killed:
            _succeeds(ended, arguments[0])
            return kills
        kills += 1
        now = _finished(folder)
        die_at, finished = (first if now > finished else die_at + stride), now


def _finished(folder: Path) -> int:
    """How many artefacts and outputs are there."""
    return sum(not path.name.startswith(".") for place in ("artefacts", ".") for path in (folder / place).glob("*"))


def _succeeds(ended: Ended, name: str) -> None:
    if ended.code:
        raise AssertionError(f"{name} ended with {ended.code}: {ended.errors}")


def differing_files(folder: Path, whole: Path) -> list[str]:
    """Names of files that are not the same in both."""
    here, there = files_below(folder), files_below(whole)
    return sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))


@dataclass
class Races:
    """How many races there were, and what went wrong in which."""

    number: int = 0
    failures: list[str] = field(default_factory=list)


def races(forker: Forker, scratch: Path, number: int) -> Races:
    """Two or three trainings at once on a fresh folder, of one host or of two: all succeed, with the bytes of one."""
    corpus = [part for part in write_corpus(scratch / "corpus") if "travel" not in part]
    folder, whole = scratch / "race", scratch / "alone"
    arguments = ["train", *corpus, *QUICK, "translate=[]", f"work_dir={folder}"]
    _succeeds(forker.run(Job(arguments))[0], "train")
    folder.rename(whole)
    found = Races(number)
    for place, hosts in zip(range(number), _racers(), strict=False):
        ended = forker.run(*(Job(arguments, host=host) for host in hosts))
        for one in ended:
            if one.code or not one.is_calm:
                found.failures.append(f"race {place}: exit code {one.code}: {one.errors[-500:]}")
        found.failures += [f"race {place}: {name}" for name in differing_files(folder, whole)]
        shutil.rmtree(folder)
    return found


def _racers() -> Iterator[tuple[str | None, ...]]:
    """Host names of the processes of each race."""
    return cycle(((None, None), HOSTS, HOSTS[:2], (None, None, None)))
