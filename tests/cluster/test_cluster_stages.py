"""Stages cut into tasks: the same bytes as in one piece, in this process, on three workers, and where one dies."""

import numpy as np
import pytest

from jaxsmt.align import lanes, training
from jaxsmt.align.model import AlignConfig
from jaxsmt.align.training import train_and_align
from jaxsmt.common.cluster.dask_tasks import TasksOnDask
from jaxsmt.common.cluster.tasks import TasksHere
from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.demo import generate_demo
from jaxsmt.extract import ExtractConfig, extract_counts, extraction
from jaxsmt.extract.sharding import counting
from jaxsmt.lm import counting as lm_counting
from jaxsmt.lm.counting import count_ngrams
from jaxsmt.pipeline.commands.train import train
from jaxsmt.text import reading_tasks
from jaxsmt.text.encoding import TextConfig
from jaxsmt.text.preparing import prepare_bitext
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary
from tests.extract.conftest import assert_same, corpus_of_rows, random_rows
from tests.pipeline.small_corpus import files_below, train_config, write_corpus


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


def test_text_preparation(runners, deadly, monkeypatch):
    """Also where duplicates are removed, within a shard and beyond it, and where a line is refused."""
    monkeypatch.setattr(reading_tasks, "PAIRS_PER_SHARD", 30)
    pairs = generate_demo()["travel"]["train"][:100]
    pairs = [*pairs, *pairs[:50], ("", "nothing"), ("« Oui », dit-elle.", "“Yes”, she said."), *pairs[95:]]
    pairs += [("« Oui », dit-elle.", '"Yes", she said.'), ("d’où", "whence")]  # the first a duplicate but for its marks
    for case, removes in (("true", True), ("lower", False)):
        config = TextConfig(case=case, remove_duplicates=removes)
        expected = prepare_bitext(pairs, config, ("fr", "en"))
        assert (expected.counts.table["duplicate"] > 50) == removes
        for tasks in runners:
            found = prepare_bitext(pairs, config, ("fr", "en"), tasks=tasks)
            assert found.source == expected.source
            assert found.target == expected.target
            assert found.counts == expected.counts
            for name in ("source", "target"):
                one, other = getattr(found.bitext, name), getattr(expected.bitext, name)
                assert one.values.dtype == other.values.dtype
                assert np.array_equal(one.values, other.values)
                assert np.array_equal(one.offsets, other.offsets)
            assert np.array_equal(found.rows, expected.rows)
    assert deadly.deaths == ["preparing bitext", "preparing bitext, duplicates", "preparing bitext"]
    pairs[70] = ("a\x00b", "c")
    for tasks in runners[:2]:
        with pytest.raises(UserError, match=r"^'bitext' line 71 has the control character"):
            prepare_bitext(pairs, TextConfig(), ("fr", "en"), tasks=tasks)


def test_ngram_counting(runners, deadly, monkeypatch):
    rng = np.random.default_rng(4)
    vocabulary = Vocabulary(tuple("abcdefgh"))
    lengths = rng.integers(0, 12, 90)
    words = rng.integers(NUM_RESERVED, len(vocabulary), lengths.sum()).astype(np.int32)
    sentences = Ragged(words, offsets_of(lengths))
    expected = count_ngrams(sentences, vocabulary, 4, 1.0)
    monkeypatch.setattr(lm_counting, "TOKENS_FOR_TASKS", 10)
    for tasks in runners:
        found = count_ngrams(sentences, vocabulary, 4, 1.0, tasks)
        assert len(found) == len(expected) == 4
        for one, other in zip(found, expected, strict=True):
            for name, column in vars(other).items():
                assert vars(one)[name].dtype == column.dtype, name
                assert np.array_equal(vars(one)[name], column), name
    assert deadly.deaths[:3] == ["counting 2-grams", "merging 2-grams", "merging 2-grams"]
    assert deadly.deaths[-1].startswith("merging 4-grams")


@pytest.mark.parametrize(("num_lanes", "agreement"), [(2, True), (5, False)])
def test_aligning(num_lanes, agreement, runners, deadly, monkeypatch):
    """Two lanes, as every text of less than billions of cells has them; and as many as larger ones would have."""
    rows = random_rows(7, 40, 12, num_words=9)
    bitext = corpus_of_rows(rows)[0]
    linking = {"symmetrisation": "product"} if agreement else {}
    config = AlignConfig(
        diagonal_iterations=2, hmm_iterations=2, agreement=agreement, max_shapes=1, cells_per_batch=1 << 10, **linking
    )
    cells = sum(np.prod(batch.shape) for batch in training._batches(bitext, config))
    monkeypatch.setattr(lanes, "CELLS_PER_LANE", int(np.ceil(cells / num_lanes)))
    size = NUM_RESERVED + 9
    expected, links = train_and_align(bitext, size, size, config)
    for tasks in runners:
        aligner, found = train_and_align(bitext, size, size, config, tasks=tasks)
        for part in ("lexicon", "positions"):
            for one, other in zip(getattr(aligner, part), getattr(expected, part), strict=True):
                assert np.array_equal(np.asarray(one), np.asarray(other)), part
        assert np.array_equal(aligner.pairs.source_word, expected.pairs.source_word)
        assert np.array_equal(found.values, links.values)
        assert np.array_equal(found.offsets, links.offsets)
    assert deadly.deaths == ["diagonal"] * 2 + ["hmm"] * 2


def test_a_training(workers, tmp_path, monkeypatch):
    """All artefacts of a training whose stages are tasks of workers at an address, and none of their files."""
    corpus = [*write_corpus(tmp_path / "corpus"), "align=ibm1", "lm=trigram", "translate=[]"]
    train(train_config(tmp_path / "one", corpus))
    monkeypatch.setattr(reading_tasks, "PAIRS_PER_SHARD", 15)
    monkeypatch.setattr(lm_counting, "TOKENS_FOR_TASKS", 10)
    labels, run = [], TasksOnDask.run

    def noted(tasks, function, arguments, label, total=None):
        labels.append(label)
        return run(tasks, function, arguments, label, total)

    list(workers.run(abs, [(1,)], "start"))
    address = workers._client.scheduler.address
    monkeypatch.setattr(TasksOnDask, "run", noted)
    train(train_config(tmp_path / "many", [*corpus, "cluster=address", f"cluster.address={address}"]))
    assert {"preparing kitchen", "ibm1", "extracting", "counting", "merging 3-grams"} <= set(labels)
    assert files_below(tmp_path / "many" / "artefacts") == files_below(tmp_path / "one" / "artefacts")
    assert not (tmp_path / "many" / "tasks").exists()
