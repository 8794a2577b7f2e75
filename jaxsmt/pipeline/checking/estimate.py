"""What a training will take, from the sizes of its texts and rates that were measured: an estimate, not a promise.

CPU-seconds of a 2-core virtual machine without a GPU, which its cores share: `benchmarks/training.py` with 10,000 pairs
(1.6 s to prepare 0.63 million tokens, 23 s to align 14 million cells, 2.8 s to count phrase pairs, 1.15 GB), an
alignment of 65,000 pairs (82 s, 105 million cells), and translations of 100 and 400 lines of German manuals (12 s and
35 s); the others are guesses from runs of a minute.
Compiling is done once for each kind of machine and size of model, and kept.
"""

from dataclasses import dataclass
from typing import Any

from jaxsmt.pipeline.checking.survey import Survey
from jaxsmt.pipeline.config.choices import Choices

COMPILING = 40.0  # seconds, once
PER_TOKEN = 2.5e-6  # preparing, of either side
PER_CELL = {"ibm1": 6.5e-8, "diagonal": 6.5e-8, "hmm": 1.9e-7}  # source × target words of a pair, each pass
PER_COUNTED_TOKEN = 4.4e-6  # extracting and counting phrase pairs
GAPS = 6.0  # about as many times as much for rules with gaps
PER_NGRAM = 5e-7  # target words × order
PER_TRANSLATED_TOKEN = 4e-3  # source words, each time a text is translated
WAYS = 2  # unweighted, and with the weights of its domain
ROUNDS, LISTS = 8, 1.5  # that tuning usually takes; n-best lists take longer than translations
BASE_GB, GB_PER_TOKEN, GB_PER_CELL, GB_PER_COUNTED_TOKEN = 0.9, 1.0e-8, 1.0e-8, 3.0e-7
GB_PER_NGRAM = 2.0e-8
MODEL_GB_PER_TOKEN = 2.5e-7  # open, with its language models, while it translates


@dataclass(frozen=True)
class TrainingSize:
    """Tokens of all training text, of its target side, of the largest component, and of development and scored sets.

    cells: Σ source × target tokens of all training pairs.
    """

    tokens: int
    target_tokens: int
    largest: int
    cells: float
    development_tokens: int
    scored_tokens: int


def training_size(found: Survey) -> TrainingSize:
    """What the rates are multiplied with."""
    both = [(len(text.source.rows.values), len(text.target.rows.values)) for text in found.components]
    cells = (float(text.source.rows.lengths @ text.target.rows.lengths) for text in found.components)
    sets = [(text.part, len(text.source.rows.values)) for text in found.sets]
    return TrainingSize(
        sum(map(sum, both)),
        sum(target for _, target in both),
        max(map(sum, both), default=0),
        sum(cells),
        sum(tokens for part, tokens in sets if part == "dev"),
        sum(tokens for part, tokens in sets if part in ("dev", "test")),
    )


def estimate(found: Survey, chosen: Choices) -> dict[str, Any]:
    """CPU-seconds and gigabytes of every stage and of all, which need the largest of these."""
    size = training_size(found)
    stages = [stage for stage in (*_of_text(size, chosen), *_of_model(size, chosen)) if stage["cpu_seconds"]]
    return {
        "stages": stages,
        "cpu_seconds": round(sum(stage["cpu_seconds"] for stage in stages), 1),
        "gigabytes": max(stage["gigabytes"] for stage in stages),
    }


def _of_text(size: TrainingSize, chosen: Choices) -> list[dict[str, Any]]:
    """From text to counts; what does not fit into the memory that it may use goes to files."""
    gaps = GAPS if "hiero" in (chosen.extract.kind, *chosen.extract.kinds.values()) else 1.0
    passes = chosen.align.ibm1_iterations, chosen.align.diagonal_iterations, chosen.align.hmm_iterations
    per_cell = sum(number * rate for number, rate in zip(passes, PER_CELL.values(), strict=True))
    text_gb = BASE_GB + size.tokens * GB_PER_TOKEN
    cells_gb = min(size.cells * GB_PER_CELL, chosen.align.index_memory_gb)
    counts_gb = min(size.largest * GB_PER_COUNTED_TOKEN * gaps, chosen.extract.memory_budget_gb)
    return [
        _stage("compiling", COMPILING, BASE_GB),
        _stage("text", size.tokens * PER_TOKEN, text_gb),
        _stage("links", size.cells * per_cell, text_gb + cells_gb),
        _stage("components", size.tokens * PER_COUNTED_TOKEN * gaps, BASE_GB + counts_gb),
    ]


def _of_model(size: TrainingSize, chosen: Choices) -> list[dict[str, Any]]:
    """Language models, and the model at work."""
    ngrams = size.target_tokens * chosen.lm.estimation.order
    rounds = ROUNDS * LISTS if chosen.tuner is not None else 0
    model_gb = BASE_GB + size.tokens * MODEL_GB_PER_TOKEN
    return [
        _stage("language models", ngrams * PER_NGRAM, BASE_GB + ngrams * GB_PER_NGRAM),
        _stage("tuning", rounds * size.development_tokens * PER_TRANSLATED_TOKEN, model_gb),
        _stage("translating", WAYS * size.scored_tokens * PER_TRANSLATED_TOKEN, model_gb),
    ]


def _stage(name: str, seconds: float, gigabytes: float) -> dict[str, Any]:
    return {"stage": name, "cpu_seconds": round(seconds, 1), "gigabytes": round(gigabytes, 2)}
