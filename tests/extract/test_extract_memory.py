"""Counting through files: the same bytes, within the budget, nothing left behind."""

import dataclasses
import itertools
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from jaxsmt.common.integrity.owners import this_owner
from jaxsmt.extract import ExtractConfig, extract_counts, extraction
from jaxsmt.extract.spill import RowStore, Spool, Workspace, range_bounds


@pytest.mark.parametrize("kind", ["phrase", "hiero"])
def test_files_and_memory_give_the_same_bytes(kind, make_rows, make_corpus, check_same, tmp_path, monkeypatch):
    corpus = make_corpus(make_rows(20, 120, 24, num_words=4))
    counts = extract_counts(*corpus, ExtractConfig(kind=kind))
    assert len(counts) > 3000
    parts = []
    group = extraction.group_rows

    def group_and_note(rows, config):
        parts.append(len(rows["detail"]))
        return group(rows, config)

    monkeypatch.setattr(extraction, "group_rows", group_and_note)
    monkeypatch.setattr(extraction, "RULE_CELLS", 1 << 12)
    monkeypatch.setattr(extraction, "PHRASE_CELLS", 1 << 12)
    tight = ExtractConfig(kind=kind, memory_budget_gb=1e-4)
    check_same(extract_counts(*corpus, tight, scratch_folder=tmp_path / "scratch"), counts)
    assert len(parts) > 3
    assert not list((tmp_path / "scratch").iterdir())


def test_a_failure_leaves_no_files(make_rows, make_corpus, tmp_path, monkeypatch):
    corpus = make_corpus(make_rows(20, 120, 24))
    monkeypatch.setattr(extraction, "PHRASE_CELLS", 1 << 12)
    seen = []

    def fail(rows, config):
        seen.append([path.name for path in tmp_path.glob("*/*")])
        raise KeyboardInterrupt

    monkeypatch.setattr(extraction, "group_rows", fail)
    with pytest.raises(KeyboardInterrupt):
        extract_counts(*corpus, ExtractConfig(memory_budget_gb=1e-4), scratch_folder=tmp_path)
    assert any(name.startswith("range-") for name in seen[0])
    assert not list(tmp_path.iterdir())


def test_files_among_the_systems_are_found_again_after_a_kill(make_rows, make_corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / f".unfinished-{dataclasses.replace(this_owner(), process=999999999).mark()}-jaxsmt-rows-0"
    left.mkdir()
    seen = []

    def note(batches, *_):
        seen.extend(path.name for path in tmp_path.iterdir())
        return iter(batches)

    monkeypatch.setattr(extraction, "track", note)
    extract_counts(*make_corpus(make_rows(3, 20, 5)), ExtractConfig())
    assert len(seen) == 1
    assert seen[0].startswith(f".unfinished-{this_owner().mark()}-jaxsmt-rows-")
    assert not list(tmp_path.iterdir())


def test_parts_are_ranges_that_fit(tmp_path):
    rng = np.random.default_rng(0)
    store = RowStore(Workspace(2000, tmp_path))
    keys = np.sort(rng.zipf(1.3, 40_000) % 5000)  # sorted: the first rows are not typical, ranges must be split again
    for piece in np.array_split(keys, 40):
        side, num_rows = np.unique(piece, return_counts=True)
        store.add({"source_key": side, "num_rows": num_rows, "detail": (piece % 7).astype(np.uint16)}, 0.5)
    assert store.is_spilled
    parts = list(store.parts())
    found = [np.repeat(part["source_key"], part["num_rows"]) for part in parts]
    assert np.array_equal(np.sort(np.concatenate(found)), keys)
    assert all(np.array_equal(key % 7, part["detail"]) for key, part in zip(found, parts, strict=True))
    edges = [(part["source_key"].min(), part["source_key"].max()) for part in parts]
    assert all(one[1] < two[0] for one, two in itertools.pairwise(edges))
    single = np.bincount(keys).max()  # a source side is never split
    assert max(len(part["detail"]) for part in parts) <= max(2000, single) + 2000
    assert not list(tmp_path.iterdir())


def test_bounds_cut_into_equal_ranges():
    keys = np.random.default_rng(1).permutation(10_000)
    sizes = np.bincount(np.searchsorted(range_bounds(keys, 8), keys, side="right"))
    assert len(sizes) == 8
    assert sizes.max() < 1300
    assert len(range_bounds(np.full(100, 7), 8)) == 0
    assert len(range_bounds(np.zeros(0, np.int64), 8)) == 0


@pytest.mark.parametrize("in_files", [False, True])
def test_spool_gives_back_its_blocks(in_files, tmp_path):
    spool = Spool(tmp_path if in_files else None, "test")
    blocks = [np.arange(6, dtype=np.uint16).reshape(-1, 2), np.zeros((0, 2), np.uint16), np.ones((3, 2), np.uint16)]
    for block in blocks:
        spool.append({"a": block, "b": np.zeros(0, np.float32)})
    columns = spool.finish()
    assert np.array_equal(columns["a"], np.concatenate(blocks))
    assert columns["b"].shape == (0,)
    assert columns["a"].dtype == np.uint16


MEASURE = """
import json, sys, tracemalloc
import numpy as np
from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.extract import ExtractConfig, extract_counts
from jaxsmt.text.bitext import Bitext
rng = np.random.default_rng(0)
kind, rows, length, budget, scratch = sys.argv[1], int(sys.argv[2]), 20, float(sys.argv[3]), sys.argv[4]
offsets = offsets_of(np.full(rows, length))
text = [Ragged(rng.integers(6, 3000, rows * length).astype(np.int32), offsets) for _ in range(2)]
place = np.tile(np.arange(length, dtype=np.int32), rows)
links = Ragged(np.stack([place, place], 1), offsets)
tracemalloc.start()
counts = extract_counts(Bitext(*text), links, ExtractConfig(kind=kind, memory_budget_gb=budget), scratch_folder=scratch)
in_files = isinstance(counts.joint_counts, np.memmap)
print(json.dumps({"peak": tracemalloc.get_traced_memory()[1], "pairs": len(counts), "in_files": in_files}))
"""


@pytest.mark.parametrize(("kind", "num_rows"), [("phrase", 4000), ("hiero", 500)])
def test_the_budget_is_kept(kind, num_rows, tmp_path):
    """Half a million rows, which take about three times the budget where all is in memory."""
    budget_gb = 0.03
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", MEASURE, kind, str(num_rows), str(budget_gb), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    measured = json.loads(run.stdout.splitlines()[-1])
    assert measured["in_files"]
    assert measured["pairs"] > 100_000
    assert measured["peak"] < 1.1 * budget_gb * 1e9
