"""Extraction from beginning to end: an aligned corpus in, counts out, within a budget of memory."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from jaxsmt.common import files
from jaxsmt.common.cluster.tasks import TaskRunner
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log, track
from jaxsmt.common.ragged import Ragged
from jaxsmt.extract.assembly import assemble
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.corpus import AlignedCorpus, index_corpus
from jaxsmt.extract.counting import group_rows
from jaxsmt.extract.counts import RuleCounts
from jaxsmt.extract.hiero.rules import rule_rows
from jaxsmt.extract.phrases import phrase_rows
from jaxsmt.extract.sharding.counting import count_by_tasks
from jaxsmt.extract.spill import RowStore, Workspace
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.buckets import Batch, make_batches

BYTES_PER_ROW = 240  # what grouping and assembling hold, at the most, for each row
PHRASE_CELLS, RULE_CELLS = 1 << 19, 1 << 17  # B·N·M of a batch: rules have many more rows a sentence
MIN_CELLS, MAX_SHAPES = 1 << 12, 4
SMALL_CORPUS = 1 << 25  # cells; to compile for a second shape costs more than to pad these


def extract_counts(
    bitext: Bitext,
    links: Ragged,
    config: ExtractConfig,
    *,
    more_links: Sequence[Ragged] = (),
    pairs_per_source: int | None = None,
    scratch_folder: str | Path | None = None,
    tasks: TaskRunner | None = None,
) -> RuleCounts:
    """Extracts and counts phrase pairs or hierarchical rules.

    Args:
      bitext: the corpus, as ids.
      links: its links, rows of [T, 2] (source, target) positions.
      more_links: for phrase pairs, other alignments of the same text: a box that several allow counts once, with the
        links of the first.
      pairs_per_source: the most frequent target sides kept of each source side; all if None.
      scratch_folder: where temporary files go if the rows exceed the memory budget; the system's folder if None.
        They are removed, also on failure; what a killed process left is removed by the next that comes here.
      tasks: who extracts and counts shards of the corpus; None: this process, all of it.

    Returns the counts; where the rows exceeded the memory budget the arrays are mapped from files already removed.
    """
    if config.is_hiero and more_links:
        raise UserError(f"{len(more_links) + 1} alignments were given: give one (extract.kind 'phrase' takes several)")
    corpus = index_corpus(bitext, [links, *more_links], config)
    budget = config.memory_budget_gb * 1e9
    max_rows = max(int(max(budget - corpus.nbytes, budget / 4) / BYTES_PER_ROW), 1)
    with _spill_folder(scratch_folder) as folder:
        space = Workspace(max_rows, folder)
        if tasks is not None and len(batches := corpus_batches(bitext, config)):
            pairs, space = count_by_tasks(tasks, corpus, batches, config, space)
            return assemble(pairs, corpus, config, space, pairs_per_source)
        store = RowStore(space)
        _fill(store, corpus, config)
        if store.is_spilled:
            log.info("%d extracted rows exceed the memory budget: counting in files in '%s'", store.num_rows, folder)
        else:
            space = Workspace(max_rows, None)
        spool = space.spool("pairs")
        for rows in store.parts():
            spool.append(group_rows(rows, config))
            del rows
        if not store.num_rows:
            spool.append(group_rows(_no_rows(config), config))
        pairs = spool.finish()
        return assemble(pairs, corpus, config, space, pairs_per_source)


def _spill_folder(parent: str | Path | None) -> AbstractContextManager[Path]:
    return files.scratch_folder("rows") if parent is None else files.unfinished_folder(Path(parent) / "rows")


def corpus_batches(bitext: Bitext, config: ExtractConfig) -> list[Batch]:
    """Batches of the pairs with words on both sides; in the order of the corpus, so that early ones are typical."""
    source, target = bitext.source.lengths, bitext.target.lengths
    most = RULE_CELLS if config.is_hiero else PHRASE_CELLS
    cells = min(most, max(int(config.memory_budget_gb * 1e9) // BYTES_PER_ROW // 8, MIN_CELLS))
    is_small = len(bitext) * int(source.max(initial=0)) * int(target.max(initial=0)) <= SMALL_CORPUS
    batches = make_batches(source, target, cells_per_batch=cells, max_shapes=1 if is_small else MAX_SHAPES)
    return sorted(batches, key=lambda batch: int(batch.rows[0]))


def _fill(store: RowStore, corpus: AlignedCorpus, config: ExtractConfig) -> None:
    rows_of = rule_rows if config.is_hiero else phrase_rows
    batches = corpus_batches(corpus.bitext, config)
    num_words, num_done = max(len(corpus.bitext.source.values), 1), 0
    for batch in track(batches, "extracting", len(batches)):
        num_done += int(corpus.bitext.source.lengths[batch.real_rows].sum())
        store.add(rows_of(batch, corpus, config), num_done / num_words)


def _no_rows(config: ExtractConfig) -> dict[str, np.ndarray]:
    dtypes = {"source_key": np.int64, "num_rows": np.int32, "target_key": np.int64}
    dtypes |= {"alignment": np.uint64, "detail": np.uint16}
    if config.is_hiero:
        dtypes |= {"source_rest": np.int32, "target_rest": np.int32}
    return {name: np.zeros(0, dtype) for name, dtype in dtypes.items()}
