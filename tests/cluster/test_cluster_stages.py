"""Stages cut into tasks: the same bytes as in one piece, in this process, on three workers, and where one dies."""

import numpy as np
import pytest

from jaxsmt.common.cluster.tasks import TasksHere
from jaxsmt.extract import ExtractConfig, extract_counts, extraction
from jaxsmt.extract.sharding import counting
from tests.extract.conftest import assert_same, corpus_of_rows, random_rows


@pytest.fixture
def runners(workers, deadly, tmp_path):
    """Who may run tasks: this process as if it were three, three workers, and three of which one dies."""
    return [TasksHere(tmp_path / "here", num_workers=3), workers, deadly]


@pytest.mark.parametrize("kind", ["phrase", "hiero"])
def test_extraction(kind, runners, deadly, tmp_path, monkeypatch):
    corpus = corpus_of_rows(random_rows(20, 120, 24, num_words=4))
    expected = extract_counts(*corpus, ExtractConfig(kind=kind))
    monkeypatch.setattr(extraction, "RULE_CELLS", 1 << 12)
    monkeypatch.setattr(extraction, "PHRASE_CELLS", 1 << 12)
    monkeypatch.setattr(counting, "MIN_RANGE_ROWS", 100)
    for tasks in runners:
        assert_same(extract_counts(*corpus, ExtractConfig(kind=kind), tasks=tasks), expected)
    assert deadly.deaths == ["extracting", "counting"]
    tight = ExtractConfig(kind=kind, memory_budget_gb=1e-4)
    found = extract_counts(*corpus, tight, tasks=runners[0], scratch_folder=tmp_path / "scratch")
    assert isinstance(found.joint_counts, np.memmap)
    assert_same(found, expected)
    assert not list((tmp_path / "scratch").iterdir())
    assert not list((tmp_path / "here").iterdir())


def test_a_corpus_without_words(tmp_path):
    for rows in ([], [([], [], [])], [([9], [8], [])]):
        corpus = corpus_of_rows(rows)
        found = extract_counts(*corpus, ExtractConfig(), tasks=TasksHere(tmp_path))
        assert_same(found, extract_counts(*corpus, ExtractConfig()))
