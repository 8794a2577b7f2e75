"""Extraction of hierarchical rules: CPU-seconds, memory and sizes of the tables, with and without rare rules.

    python benchmarks/extraction.py --pairs 5000                     the first pairs of law, see benchmarks/training.py
    python benchmarks/extraction.py --pairs 5000 --beside FOLDER     beside the jaxsmt in FOLDER: ratio, same bytes

Every way runs in a process of its own on the same links. CPU-seconds, not seconds: they are the same on a busy machine.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measure import measured, print_figures
from rich.console import Console
from rich.table import Table

WAYS: dict[str, dict[str, Any]] = {
    "all rules": {},
    "min_source_count=2": {"min_source_count": 2},
    "min_count=2": {"min_count": 2},
}
ROWS_AT_ONCE = 1 << 20


def main() -> None:
    options = parse_options()
    if options.measure:
        print(json.dumps(extract(options.measure, json.loads(options.settings))))
        return
    with tempfile.TemporaryDirectory() as scratch:
        corpus = align(Path(scratch), options)
        settings = {"kind": "hiero", "memory_budget_gb": options.memory_budget_gb}
        found = {name: in_a_process(corpus, settings | way, None) for name, way in WAYS.items()}
        other = options.beside and in_a_process(corpus, settings, options.beside)
    show(found | ({f"{options.beside}": other} if other else {}), options.pairs)
    whole = found["all rules"]
    figures = {
        "sentence_pairs": options.pairs,
        "rules": whole["rules"],
        "cpu_seconds": whole["cpu_seconds"],
        "peak_gb": whole["peak_gb"],
        "cpu_ratio": other and round(other["cpu_seconds"] / whole["cpu_seconds"], 3),
        "same_bytes": other and other["digest"] == whole["digest"],
        "rules_min_source_count_2": round(found["min_source_count=2"]["rules"] / whole["rules"], 3),
        "rules_min_count_2": round(found["min_count=2"]["rules"] / whole["rules"], 3),
    }
    print_figures(figures)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--components", nargs=1, default=["law"])
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--memory-budget-gb", type=float, default=4.0)
    parser.add_argument("--beside", help="a folder with another version of the package")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--settings", help=argparse.SUPPRESS)
    return parser.parse_args()


def align(scratch: Path, options: argparse.Namespace) -> Path:
    """A file with the numbered text and its links."""
    from training import align_jointly, prepare

    from jaxsmt.align.model import AlignConfig
    from jaxsmt.pipeline.stages.texts import join_texts

    joint = join_texts(prepare(scratch, options, {}))
    links, bitext = align_jointly(joint, AlignConfig(), {}), joint.bitext
    arrays = {"source": bitext.source, "target": bitext.target, "links": links}
    path = scratch / "corpus.npz"
    np.savez(path, **{f"{name}_{part}": vars(rows)[part] for name, rows in arrays.items() for part in vars(rows)})
    return path


def in_a_process(corpus: Path, settings: dict[str, Any], package: str | None) -> dict[str, Any]:
    """What `extract` gives, by the package that lies in a folder, or by this one."""
    environment = os.environ | ({"PYTHONPATH": package} if package else {})
    command = [sys.executable, __file__, "--measure", str(corpus), "--settings", json.dumps(settings)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def extract(corpus: Path, settings: dict[str, Any]) -> dict[str, Any]:
    from jaxsmt.common.ragged import Ragged
    from jaxsmt.extract import ExtractConfig, extract_counts
    from jaxsmt.text.bitext import Bitext

    arrays = np.load(corpus)
    source, target, links = (
        Ragged(arrays[f"{name}_values"], arrays[f"{name}_offsets"]) for name in ("source", "target", "links")
    )
    with measured() as taken:
        counts = extract_counts(Bitext(source, target), links, ExtractConfig(**settings))
    tables = {name: table for name, table in vars(counts).items() if table is not None}
    digest = hashlib.sha256()
    for name, table in sorted(tables.items()):
        digest.update(f"{name} {table.dtype} {table.shape}".encode())
        for start in range(0, len(table), ROWS_AT_ONCE):
            digest.update(np.ascontiguousarray(table[start : start + ROWS_AT_ONCE]))
    return {
        "cpu_seconds": round(taken.cpu_seconds, 2),
        "peak_gb": round(taken.peak_gb, 2),
        "rules": len(counts),
        "source_sides": len(counts.source_sides),
        "target_sides": len(counts.target_sides),
        "table_gb": round(sum(table.nbytes for table in tables.values()) / 1e9, 3),
        "digest": digest.hexdigest(),
    }


def show(found: dict[str, dict[str, Any]], num_pairs: int) -> None:
    names = ["cpu_seconds", "peak_gb", "rules", "source_sides", "target_sides", "table_gb"]
    table = Table(title=f"rules of {num_pairs:,} sentence pairs", title_justify="left")
    table.add_column("")
    for name in names:
        table.add_column(name.replace("_", " "), justify="right")
    for way, figures in found.items():
        table.add_row(way, *(f"{figures[name]:,}" for name in names))
    Console().print(table)


if __name__ == "__main__":
    main()
