"""Decoding with D components, and with component weights for every sentence: what both cost.

Components are the 4,000 sentence pairs A of the reference folder, dealt out to D parts, so that unions have about the
same rules; sentences are its 100 test sentences. Used by `mixtures.py`.
"""

import gzip
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import measured
from rest_costs import with_rest_costs

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.extraction import extract_counts
from jaxsmt.extract.lexical import count_words
from jaxsmt.lm.arpa import read_arpa
from jaxsmt.lm.automaton import build_automaton
from jaxsmt.search.decoder import Decoder, LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.rules.model import mixed_rules
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary, build_vocabulary
from jaxsmt.tm.component import Component
from jaxsmt.tm.union import build_union

REFERENCE = Path(os.environ.get("JAXSMT_REFERENCE", Path(__file__).resolve().parents[2] / "shared" / "reference"))
WEIGHTS = SearchWeights(rule=(0.15, 0.1, 0.2, 0.1), lm=0.3, word_penalty=-0.3, phrase_penalty=-0.1, glue=-0.2)
ROUNDS = 5  # of which the quickest counts: other processes only add time


@dataclass(frozen=True)
class Job:
    """A decoder and what it is asked."""

    decoder: Decoder
    request: Request


def measure_decoding(numbers: tuple[int, ...] = (1, 2, 12)) -> dict[str, float]:
    """Prints CPU seconds a sentence; returns the ratios."""
    if not (REFERENCE / "README.md").is_file():
        print(f"decoding is left out: '{REFERENCE}' is not there (set JAXSMT_REFERENCE)")
        return {}
    jobs = {}
    for number in numbers:
        jobs |= {(number, kind): job for kind, job in make_jobs(number).items()}
    spent: dict[tuple[int, str], list[float]] = {name: [] for name in jobs}
    for _ in range(ROUNDS + 1):  # the first one compiles
        for name, job in jobs.items():
            with measured() as measurement:
                job.decoder.translate(job.request)
            spent[name].append(measurement.cpu_seconds)
    best = {name: min(seconds[1:]) for name, seconds in spent.items()}
    for (number, kind), seconds in best.items():
        print(f"decoding, D = {number:2d}, λ {kind:<16} {1000 * seconds / 100:8.2f} CPU ms a sentence", flush=True)
    return {
        "d12_ratio": best[12, "fixed"] / best[1, "fixed"],
        "per_sentence_ratio": best[12, "per sentence"] / best[12, "fixed"],
    }


def make_jobs(number: int) -> dict[str, Job]:
    """Fixed λ and λ of every sentence's own, for the text in `number` components."""
    union = build_union([component(place, number) for place in range(number)])
    lm = with_rest_costs(read_arpa(REFERENCE / "lm" / "A.en.5.arpa.gz"))
    ids = np.array([*range(NUM_RESERVED), *lm.vocabulary.encode(union.target_vocabulary.words)], np.int32)
    decoder = make_decoder(mixed_rules(union), [LmFeatures(build_automaton(lm), ids)], SearchConfig())
    text = [line.split() for line in lines("text/pydoc-test100.fr.gz")]
    sentences = ragged_from_rows([union.source_vocabulary.encode(words) for words in text])
    copies = ragged_from_rows([lm.vocabulary.encode(words) for words in text]).values
    own = np.random.default_rng(0).uniform(0.5, 1.5, (len(text), 4, number))
    return {
        "fixed": Job(decoder, Request(sentences, copies, WEIGHTS, mixture=np.ones((4, number)))),
        "per sentence": Job(decoder, Request(sentences, copies, WEIGHTS, mixture=own)),
    }


def component(place: int, number: int) -> Component:
    """Every number-th sentence pair, from `place` on, as a hierarchical component."""
    sides = [[line.split() for line in lines(f"text/A.{language}.gz")[place::number]] for language in ("fr", "en")]
    links = [
        [tuple(map(int, link.split("-"))) for link in line.split()]
        for line in lines("align/A.grow-diag-final-and.gz")[place::number]
    ]
    words: list[Vocabulary] = [build_vocabulary(Counter(w for row in side for w in row)) for side in sides]
    rows = [ragged_from_rows([v.encode(row) for row in side]) for v, side in zip(words, sides, strict=True)]
    bitext, aligned = Bitext(*rows), ragged_from_rows(links, width=2)
    counts = extract_counts(bitext, aligned, ExtractConfig(kind="hiero"))
    return Component(f"part{place}", "hiero", counts, count_words(bitext, aligned, *map(len, words)), *words)


def lines(name: str) -> list[str]:
    with gzip.open(REFERENCE / name, "rt", encoding="utf-8") as stream:
        return stream.read().split("\n")[:-1]
