"""The part `stack` of benchmarks/decode.py: the stack decoder beside Moses' phrase-based decoder.

The beam whose figures are stated is chosen on other sentences, with a smaller model: the cheapest that scores what the
widest does, under both vectors of weights.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from decode_tasks import Run, lines, run_decoder
from rest_costs import with_rest_costs

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.arpa import read_arpa
from jaxsmt.lm.automaton import Automaton, build_automaton
from jaxsmt.lm.model import Lm
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.rules.model import FixedRules, fixed_rules
from jaxsmt.search.stack.config import StackConfig
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.vocabulary import NUM_RESERVED
from jaxsmt.tm.moses.tables import read_reordering_table, read_scored_table

WEIGHTS = {
    "pb": SearchWeights(
        rule=(0.2,) * 4, lm=0.5, word_penalty=-1.0, phrase_penalty=0.2, unknown=1.0, distortion=0.3,
        reordering=(0.3,) * 6,
    ),
    "pb-tuned": SearchWeights(
        rule=(-0.137289, 0.981539, 1.00215, 0.420045), lm=0.91024, word_penalty=-0.00618827, phrase_penalty=0.702238,
        unknown=1.0, distortion=0.560443, reordering=(0.858789, -0.0521889, 0.779319, 0.925964, 0.43516, 0.708114),
    ),
}  # fmt: skip
# kept, spans, scored
BEAMS = ((8, 24, 24), (16, 48, 64), (32, 96, 128), (50, 128, 200), (64, 256, 400), (100, 256, 400))
WIDEST = (200, 512, 1000)
ENOUGH = 0.0005  # mean scores that differ by less are equal
CUBE_CPU = 0.0364  # CPU seconds a sentence of Moses' cube pruning 1000, which scores what stack 200 does
REFERENCE = {
    "pb": {"stack 10": (-139.2619, 0.0063), "stack 200": (-138.9964, 0.0897), "cube 100": (-139.0214, 0.0121),
           "cube 1000": (-138.9964, 0.0364)},
    "pb-tuned": {"stack 10": (-204.5452, 0.0079), "stack 100": (-204.0622, 0.0534), "cube 100": (-204.1046, 0.0109),
                 "cube 300": (-204.0622, 0.0190)},
}  # fmt: skip


@dataclass(frozen=True)
class StackTask:
    """Sentences to decode with one model."""

    rules: FixedRules
    lm: Lm
    automaton: Automaton
    text: list[list[str]]

    def run(self, beam: tuple[int, int, int], weights: SearchWeights) -> Run:
        grammar = self.rules.grammar
        lm_ids = np.array([*range(NUM_RESERVED), *self.lm.vocabulary.encode(grammar.target_vocabulary.words)], np.int32)
        config = SearchConfig(kind="stack", stack=StackConfig(*beam))
        sentences = ragged_from_rows([grammar.source_vocabulary.encode(row) for row in self.text])
        copies = np.concatenate([self.lm.vocabulary.encode(row) for row in self.text]).astype(np.int32)
        decoder = make_decoder(self.rules, [LmFeatures(self.automaton, lm_ids)], config)
        return run_decoder(decoder, Request(sentences, copies, weights))


def report(folder: Path, small: bool) -> dict:
    """Prints tables and returns the figures."""
    lm = with_rest_costs(read_arpa(folder / "lm" / "A.en.5.arpa.gz"))
    automaton, phrase = build_automaton(lm), folder / "phrase"
    test = [line.split() for line in lines(folder / "text" / "pydoc-test100.fr.gz")]
    other = [line.split() for line in lines(folder / "text" / "pydoc-dev.fr.gz")]
    other = [words for words in other if len(words) <= 40][:100]
    num = 20 if small else 100
    beams = BEAMS[2:4] if small else BEAMS
    table = rules_of(folder / "decode" / "phrase-table.test100.gz", folder / "decode" / "reordering-table.test100.gz")
    reordering = phrase / "A1k.reordering-table.wbe-msd-bidirectional-fe.gz"
    development = StackTask(rules_of(phrase / "A1k.phrase-table.gz", reordering), lm, automaton, other[:num])
    task = StackTask(table, lm, automaton, test[:num])
    figures: dict = {}
    chosen = _choose(development, beams)
    for name, weights in WEIGHTS.items():
        found = {beam: task.run(beam, weights) for beam in (*beams, WIDEST)}
        theirs = _moses(folder, name)[:num]
        _print(name, found, chosen, theirs, REFERENCE[name] if num == 100 else {})
        gap = float(found[chosen].scores.mean() - theirs.mean())
        if name == "pb":
            figures["stack_score_gap"] = round(gap, 4)
            figures["stack_cpu_ratio"] = round(CUBE_CPU / _good(found, chosen, theirs).cpu, 3)
            figures["stack_beam"], figures["stack_cpu_seconds"] = list(chosen), round(found[chosen].cpu, 4)
            figures["stack_frontier"] = [
                [round(float(run.scores.mean()), 4), round(run.cpu, 4)] for run in found.values()
            ]
        else:
            figures["stack_tuned_gap"] = round(gap, 4)
    return figures


def rules_of(table: Path, reordering: Path) -> FixedRules:
    """Moses' phrases with their orientations."""
    scored = read_scored_table(table)
    return fixed_rules(scored, read_reordering_table(reordering, scored))


def _choose(task: StackTask, beams: tuple) -> tuple[int, int, int]:
    best = {name: task.run(WIDEST, weights).scores.mean() for name, weights in WEIGHTS.items()}

    def is_good(beam: tuple[int, int, int]) -> bool:
        runs = {name: task.run(beam, weights) for name, weights in WEIGHTS.items()}
        return all(run.scores.mean() >= best[name] - ENOUGH for name, run in runs.items())

    return next(filter(is_good, beams), beams[-1])


def _good(found: dict, chosen: tuple, theirs: np.ndarray) -> Run:
    """The chosen beam if it scores what Moses does, else the cheapest that does; the widest if none does."""
    wider = [beam for beam in found if beam >= chosen]
    return next((found[beam] for beam in wider if found[beam].scores.mean() >= theirs.mean() - ENOUGH), found[WIDEST])


def _moses(folder: Path, name: str) -> np.ndarray:
    rows = lines(folder / "decode" / f"{name}.stack200.1best.tsv.gz")
    return np.array([float(line.split("\t")[1]) for line in rows])


def _print(name: str, found: dict, chosen: tuple, theirs: np.ndarray, reference: dict) -> None:
    print(f"\nstack decoder, weights {name}; * is chosen on other sentences")
    print(f"{'kept spans scored':>32} {'mean score':>11} {'best':>5} {'CPU s':>8} {'compile':>8}")
    for beam, run in found.items():
        widths = " ".join(f"{width:5d}" for width in beam) + ("*" if beam == chosen else " ")
        at_best = int((run.scores > theirs - 0.002).sum())
        print(f"{widths:>32} {run.scores.mean():11.4f} {at_best:5d} {run.cpu:8.4f} {run.compile_cpu:7.1f}s")
    for run, (mean, cpu) in reference.items():
        print(f"{f'the reference, {run}':>32} {mean:11.4f} {'':5} {cpu:8.4f}")
