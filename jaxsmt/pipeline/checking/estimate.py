"""What a training will take, from the sizes of its texts and rates that were measured: an estimate, not a promise.

CPU-seconds of a 2-core virtual machine without a GPU (`benchmarks/training.py` with 5,000 and 20,000 pairs of law and
of Python documentation each, translations of German manuals); two cores share most of it. Compiling is done once for
each kind of machine and size of model, and kept; the rates of tuning and translating are those of default beams and
vary with the text.
"""

from typing import Any

from jaxsmt.pipeline.checking.survey import Survey, SurveyedText
from jaxsmt.pipeline.config.choices import Choices

COMPILING = 60.0  # seconds, once
PER_TOKEN = 2.2e-6  # preparing, of either side
PER_CELL = {"ibm1": 2.0e-8, "diagonal": 2.7e-8, "hmm": 7.0e-8}  # source × target words of a pair, each pass, both ways
PER_COUNTED_TOKEN = 1.2e-5  # extracting and counting phrase pairs; rules with gaps
GAPS = 6.0  # times as much for rules with gaps
PER_NGRAM = 7e-7  # target words × order
PER_TRANSLATED_TOKEN = 0.02  # source words, each time a text is translated
WAYS = 2  # unweighted, and with the weights of its domain
BASE_GB, GB_PER_TOKEN, GB_PER_COUNTED_TOKEN = 0.6, 1.0e-8, 1.6e-7
MODEL_GB_PER_TOKEN = 2.5e-7  # open, with its language models, while it translates


def estimate(found: Survey, chosen: Choices) -> dict[str, Any]:
    """CPU-seconds and gigabytes of every stage and of all, which need the largest of these."""
    tokens = {text.key: _tokens(text) for text in found.components}
    total, target = sum(map(sum, tokens.values())), sum(both[1] for both in tokens.values())
    largest = max((sum(both) for both in tokens.values()), default=0)
    cells = sum(float(_cells(text)) for text in found.components)
    has_gaps = GAPS if "hiero" in (chosen.extract.kind, *chosen.extract.kinds.values()) else 1.0
    passes = chosen.align.ibm1_iterations, chosen.align.diagonal_iterations, chosen.align.hmm_iterations
    align = cells * sum(n * rate for n, rate in zip(passes, PER_CELL.values(), strict=True))
    development = sum(_tokens(text)[0] for text in found.sets if text.part == "dev")
    scored = sum(_tokens(text)[0] for text in found.sets if text.part in ("dev", "test"))
    rounds = 8 if chosen.tuner is not None else 0  # that tuning usually takes
    stages = [
        _stage("compiling", COMPILING, BASE_GB),
        _stage("text", total * PER_TOKEN, BASE_GB + total * GB_PER_TOKEN),
        _stage("links", align, BASE_GB + total * GB_PER_TOKEN * 4),
        _stage("components", total * PER_COUNTED_TOKEN * has_gaps, BASE_GB + largest * GB_PER_COUNTED_TOKEN * has_gaps),
        _stage("language models", target * PER_NGRAM * chosen.lm.estimation.order, BASE_GB + target * 1e-7),
        _stage("tuning", rounds * development * PER_TRANSLATED_TOKEN, BASE_GB + total * MODEL_GB_PER_TOKEN),
        _stage("translating", WAYS * scored * PER_TRANSLATED_TOKEN, BASE_GB + total * MODEL_GB_PER_TOKEN),
    ]
    return {
        "stages": [stage for stage in stages if stage["cpu_seconds"]],
        "cpu_seconds": round(sum(stage["cpu_seconds"] for stage in stages), 1),
        "gigabytes": max(stage["gigabytes"] for stage in stages if stage["cpu_seconds"]),
    }


def _stage(name: str, seconds: float, gigabytes: float) -> dict[str, Any]:
    return {"stage": name, "cpu_seconds": round(seconds, 1), "gigabytes": round(gigabytes, 2)}


def _tokens(text: SurveyedText) -> tuple[int, int]:
    return len(text.source.rows.values), len(text.target.rows.values)


def _cells(text: SurveyedText) -> float:
    return float(text.source.rows.lengths @ text.target.rows.lengths)
