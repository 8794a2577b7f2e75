"""Runs all benchmarks one after the other on the device that JAX finds, and keeps their figures in one file.

    python benchmarks/run_all.py --output figures.json
    python benchmarks/run_all.py --only bpa tune --output figures.json

Each runs in a process of its own; its table goes to the terminal as it comes. The file is written after each, and says
which benchmarks failed, such as those whose data is not there. The last line is one JSON object with all figures.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from jaxsmt.common.device import device_name
from jaxsmt.common.files import write_text

FOLDER = Path(__file__).resolve().parent
LEFT_OUT = {"run_all", "scarce", "soak"}  # scarce.py needs a trained model, soak.py measures no speed


def benchmarks() -> list[str]:
    """All files here that are programs."""
    files = sorted(path for path in FOLDER.glob("*.py") if path.stem not in LEFT_OUT)
    return [path.stem for path in files if '__name__ == "__main__"' in path.read_text("utf-8")]


def figures_of(name: str) -> dict[str, object]:
    """Runs a benchmark; the object of its last line and the seconds it took, or what went wrong."""
    print(f"\n== {name}", flush=True)
    begin, last = time.perf_counter(), ""
    with subprocess.Popen([sys.executable, FOLDER / f"{name}.py"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    if process.returncode:
        return {"failed": f"exit code {process.returncode}"}
    return {**json.loads(last), "seconds": round(time.perf_counter() - begin, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=benchmarks(), default=benchmarks())
    parser.add_argument("--output", type=Path, default=Path("figures.json"))
    options = parser.parse_args()
    found: dict[str, object] = {"device": device_in_a_process()}
    for name in options.only:
        found[name] = figures_of(name)
        write_text(options.output, json.dumps(found, indent=1) + "\n")
    print(json.dumps(found))


def device_in_a_process() -> str:
    """The device; asked in another process, since the one that asks keeps a GPU's memory."""
    program = f"from {device_name.__module__} import device_name; print(device_name())"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
