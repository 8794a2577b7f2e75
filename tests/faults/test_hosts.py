"""Hosts that share a file system: processes that see another host's name and no process of the other."""

import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from tests.conftest import REPOSITORY
from tests.faults.kills import QUICK, differing_files
from tests.pipeline.small_corpus import write_corpus

APART = ("unshare", "--uts", "--pid", "--fork", "--mount-proc")
AS_HOST = """
import runpy, socket, sys
socket.sethostname(sys.argv.pop(1))
runpy.run_path("train.py", run_name="__main__")
"""
BUILT = re.compile(r"([\w.-]+): \d+\.\d s\b")


@pytest.fixture
def apart():
    """The command that makes a host of a process."""
    if not shutil.which(APART[0]) or subprocess.run([*APART, "true"], capture_output=True, check=False).returncode:
        pytest.skip("processes may have no namespaces of their own here")
    return APART


def test_two_hosts_on_one_store_build_each_artefact_once(apart, tmp_path):
    arguments = [*write_corpus(tmp_path / "corpus"), *QUICK, "translate=[]", "quiet=false"]
    folder, alone = tmp_path / "shared", tmp_path / "alone"
    command = [sys.executable, "-c", AS_HOST]
    hosts = [
        subprocess.Popen(
            [*apart, *command, name, *arguments, f"work_dir={folder}"], cwd=REPOSITORY, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        for name in ("first-host", "second-host")
    ]  # fmt: skip
    said = [host.communicate()[1] for host in hosts]
    assert [host.returncode for host in hosts] == [0, 0], said
    built = Counter(stage for text in said for stage in BUILT.findall(text))
    assert built
    assert set(built.values()) == {1}
    assert len(built) == len(list((folder / "artefacts").iterdir()))
    folder.rename(tmp_path / "after")
    subprocess.run([*apart, *command, "third-host", *arguments, f"work_dir={folder}"], cwd=REPOSITORY, check=True,
                   capture_output=True)  # fmt: skip
    folder.rename(alone)
    assert differing_files(tmp_path / "after", alone) == []
