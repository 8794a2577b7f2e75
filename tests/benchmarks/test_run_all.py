"""One command runs every benchmark and keeps what they found."""

import json
import subprocess
import sys

from benchmarks import run_all
from tests.conftest import REPOSITORY


def test_programs_are_found():
    found = set(run_all.benchmarks())
    assert found >= {"training", "lm", "classes", "decode", "tune", "mixtures", "bpa", "device"}
    assert not found & {"measure", "decode_tasks", "run_all"}


def test_figures_and_failures_are_kept(tmp_path):
    program = 'if __name__ == "__main__":\n    '
    (tmp_path / "bpa.py").write_text(f"""{program}print("a table\\n" + '{{"ratio": 2.5}}')\n""")
    (tmp_path / "tune.py").write_text(f"{program}raise SystemExit(3)\n")
    program = f"from pathlib import Path; from benchmarks import run_all; run_all.FOLDER = Path({str(tmp_path)!r})"
    command = [sys.executable, "-c", f"{program}; run_all.main()", "--only", "bpa", "tune"]
    output = tmp_path / "figures.json"
    done = subprocess.run(
        [*command, "--output", output], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    found = json.loads(output.read_text("utf-8"))
    assert found == json.loads(done.stdout.splitlines()[-1])
    assert found["bpa"]["ratio"] == 2.5
    assert found["tune"] == {"failed": "exit code 3"}
    assert found["device"]
    assert "a table" in done.stdout
