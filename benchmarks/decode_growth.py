"""How the decoder's time grows: with the length of sentences, hypotheses kept, rules, and components."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from decode_tasks import Run, Task, read_components, run
from measure import measured

from jaxsmt.common.ragged import concatenate
from jaxsmt.search.chart.structure import Beam
from jaxsmt.search.rules.model import mixed_rules
from jaxsmt.tm.gathering.components import RuleTables
from jaxsmt.tm.restrict import prune_component
from jaxsmt.tm.union import build_union

LENGTHS = ((1, 10), (11, 20), (21, 30), (31, 40))
KEPT = (6, 12, 24, 48, 96)
PAIRS_PER_SOURCE = (1, 5, 20, 100, None)
COMPONENTS = (1, 2, 12)


def report_lengths(task: Task, beam: Beam, rows: np.ndarray) -> None:
    """By sentence length, and a large request."""
    lengths = task.lengths
    print("\nwords      sentences  CPU ms a sentence  CPU ms a word")
    for low, high in LENGTHS:
        some = rows[(lengths[rows] >= low) & (lengths[rows] <= high)]
        if len(some):
            cpu = run(task, beam, some).cpu * 1e3
            print(f"{f'{low}-{high}':10} {len(some):9d}  {cpu:17.1f}  {cpu / lengths[some].mean():13.2f}")
    request = task.request(rows)
    assert request.copy_ids is not None
    tripled = replace(request, sentences=concatenate([request.sentences] * 3), copy_ids=np.tile(request.copy_ids, 3))
    with measured() as batch:
        task.decoder(beam).translate(tripled)
    each = batch.cpu_seconds / len(tripled.sentences) * 1e3
    print(f"{len(tripled.sentences)} sentences in one request: {each:.1f} CPU ms a sentence")


def report_kept(task: Task, beam: Beam, rows: np.ndarray) -> None:
    """K alone: what else the beam has stays."""
    found = ((f"K = {kept}", run(task, replace(beam, kept=kept), rows)) for kept in KEPT)
    _report("hypotheses kept per cell", found)


def report_rules(folder: Path, task: Task, beam: Beam, rows: np.ndarray) -> None:
    """P alone: the most frequent translations of each source side."""
    (component,) = read_components(folder, 1)
    sentences = [task.text[row] for row in rows]

    def pruned() -> Iterable[tuple[str, Run]]:
        for most in PAIRS_PER_SOURCE:
            part = component if most is None else prune_component(component, most)
            rules = mixed_rules(build_union(RuleTables([part], None).for_sentences(sentences)))
            name = f"P = {rules.grammar.num_pairs:,} ({most or 'all'} a source side)"
            yield name, run(replace(task, rules=rules), beam, rows)

    _report("rules that the sentences can use, one component", pruned())


def report_components(folder: Path, task: Task, beam: Beam, rows: np.ndarray) -> None:
    """D alone: the same text cut into corpora, whose union has the same rules."""
    sentences = [task.text[row] for row in rows]

    def split() -> Iterable[tuple[str, Run]]:
        for num in COMPONENTS:
            rules = mixed_rules(build_union(RuleTables(read_components(folder, num), None).for_sentences(sentences)))
            name = f"D = {num}, P = {rules.grammar.num_pairs:,}"
            yield name, run(replace(task, rules=rules), beam, rows)

    _report("components with equal weights", split())


def _report(title: str, runs: Iterable[tuple[str, Run]]) -> None:
    print(f"\n{title:48} mean score  CPU ms a sentence")
    for name, found in runs:
        print(f"{name:48} {found.scores.mean():10.4f}  {found.cpu * 1e3:17.1f}")
