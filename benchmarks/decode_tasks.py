"""The tasks of benchmarks/decode.py: rules, language model and sentences of the reference, and how they are decoded."""

import gzip
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from measure import measured
from rest_costs import with_rest_costs

from jaxsmt.align.links import read_links
from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.extraction import extract_counts
from jaxsmt.extract.lexical import count_words
from jaxsmt.lm.arpa import read_arpa
from jaxsmt.lm.automaton import Automaton, build_automaton
from jaxsmt.lm.model import Lm
from jaxsmt.search.chart.structure import Beam
from jaxsmt.search.decoder import Decoder, LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.rules.model import RuleModel, fixed_rules
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import NUM_RESERVED, build_vocabulary
from jaxsmt.tm.component import Component
from jaxsmt.tm.moses.tables import read_scored_table

HIERO = SearchWeights(
    rule=(0.15, 0.1, 0.2, 0.1), lm=0.3, word_penalty=-0.3, phrase_penalty=-0.1, glue=-0.2, unknown=1.0
)
HIERO_DEFAULT = SearchWeights(
    rule=(0.2, 0.2, 0.2, 0.2), lm=0.5, word_penalty=-1.0, phrase_penalty=0.2, glue=1.0, unknown=1.0
)
# glue counts as a rule too: with half the weight a monotone derivation pays Moses' phrase penalty, but for a constant
PHRASE_BASED = replace(HIERO_DEFAULT, phrase_penalty=0.1, glue=0.0)


@dataclass(frozen=True)
class Task:
    """Sentences to decode with one model.

    scores: of Moses by pop limit, [B] each.
    """

    rules: RuleModel
    lm: Lm
    automaton: Automaton
    text: list[list[str]]
    weights: SearchWeights
    config: SearchConfig
    scores: dict[int, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.text)

    @property
    def lengths(self) -> np.ndarray:
        return np.array([len(words) for words in self.text])

    def decoder(self, beam: Beam) -> Decoder:
        words = self.rules.grammar.target_vocabulary.words
        lm_ids = np.array([*range(NUM_RESERVED), *self.lm.vocabulary.encode(words)], np.int32)
        return make_decoder(self.rules, [LmFeatures(self.automaton, lm_ids)], replace(self.config, beam=beam))

    def request(self, rows: np.ndarray) -> Request:
        words = [self.text[row] for row in rows]
        copies = ragged_from_rows([self.lm.vocabulary.encode(row) for row in words])
        sentences = ragged_from_rows([self.rules.grammar.source_vocabulary.encode(row) for row in words])
        return Request(sentences, copies.values, self.weights)


@dataclass(frozen=True)
class Run:
    """One beam on some sentences; CPU seconds a sentence, and of the first run in excess of the second."""

    scores: np.ndarray
    cpu: float
    compile_cpu: float
    peak_gb: float


def run(task: Task, beam: Beam, rows: np.ndarray, repeats: int = 2) -> Run:
    return run_decoder(task.decoder(beam), task.request(rows), repeats)


def run_decoder(decoder: Decoder, request: Request, repeats: int = 2) -> Run:
    with measured() as first:
        derivations = decoder.translate(request)
    seconds = []
    for _ in range(repeats):
        with measured() as again:
            decoder.translate(request)
        seconds.append(again.cpu_seconds)
    scores = np.array([derivation.score for derivation in derivations])
    return Run(scores, min(seconds) / len(scores), first.cpu_seconds - min(seconds), first.peak_gb)


def read_task(folder: Path) -> Task:
    """The reference's hierarchical task; prints what reading takes."""
    if not (folder / "decode").is_dir():
        raise SystemExit(f"'{folder}' has no folder decode/: give the reference's folder with --reference")
    with measured() as reading:
        lm = with_rest_costs(read_arpa(folder / "lm" / "A.en.5.arpa.gz"))
        task = Task(
            fixed_rules(read_scored_table(folder / "decode" / "rule-table.test100.gz")),
            lm,
            build_automaton(lm),
            [line.split() for line in lines(folder / "text" / "pydoc-test100.fr.gz")],
            HIERO,
            SearchConfig(max_span=20),
            moses_scores(folder, "hiero", (200, 1000, 5000)),
        )
    print(f"reading table and language model: {reading.cpu_seconds:.1f} CPU-s")
    return task


def default_task(folder: Path, task: Task) -> Task:
    """Moses' default weights, which reward glue."""
    return replace(task, weights=HIERO_DEFAULT, scores=moses_scores(folder, "hiero-default", (200, 1000)))


def phrase_task(folder: Path, task: Task, swap_span: int) -> Task:
    """Phrases in order, or with neighbouring blocks swapped."""
    table = read_scored_table(folder / "decode" / "phrase-table.test100.gz")
    config = SearchConfig(max_span=10, swap_span=swap_span)
    return replace(task, rules=fixed_rules(table), weights=PHRASE_BASED, config=config, scores={})


def read_components(folder: Path, num: int) -> list[Component]:
    """The reference's domain A cut into `num` corpora, hierarchical rules extracted from each."""
    sides = [[line.split() for line in lines(folder / "text" / f"A.{language}.gz")] for language in ("fr", "en")]
    vocabularies = [build_vocabulary(Counter(word for row in side for word in row)) for side in sides]
    source, target = (
        ragged_from_rows([vocabulary.encode(row) for row in side])
        for vocabulary, side in zip(vocabularies, sides, strict=True)
    )
    links = read_links(folder / "align" / "A.grow-diag-final-and.gz", source.lengths, target.lengths)
    parts = np.array_split(np.arange(len(source)), num)
    return [
        _component(f"part {number}", Bitext(source.take(rows), target.take(rows)), links.take(rows), vocabularies)
        for number, rows in enumerate(parts)
    ]


def _component(name: str, bitext: Bitext, links: Ragged, vocabularies: list) -> Component:
    config = ExtractConfig(kind="hiero")
    words = count_words(bitext, links, *(len(vocabulary) for vocabulary in vocabularies))
    return Component(name, config.kind, extract_counts(bitext, links, config), words, *vocabularies)


def moses_scores(folder: Path, name: str, pop_limits: tuple[int, ...]) -> dict[int, np.ndarray]:
    found = {}
    for pops in pop_limits:
        rows = lines(folder / "decode" / f"{name}.pop{pops}.1best.tsv.gz")
        found[pops] = np.array([float(line.split("\t")[1]) for line in rows])
    return found


def lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return stream.read().split("\n")[:-1]
