"""One command runs every benchmark and keeps what they found."""

import json
import subprocess
import sys

from benchmarks import run_all
from tests.conftest import REPOSITORY


def test_every_benchmark_is_run():
    own = {path.stem for path in run_all.FOLDER.glob("*.py") if '__name__ == "__main__"' in path.read_text("utf-8")}
    assert own == {*run_all.BENCHMARKS, "run_all", "scarce"}  # scarce.py needs a trained model


def test_figures_and_failures_are_kept(tmp_path):
    (tmp_path / "bpa.py").write_text('print("a table")\nprint("""{"ratio": 2.5}""")\n')
    (tmp_path / "tune.py").write_text("raise SystemExit(3)\n")
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
