"""Tuning on given n-best lists, as a command would want it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.evaluate.references import read_references
from jaxsmt.tune.lists import bleu_of_sums, list_score, summed_statistics
from jaxsmt.tune.nbest import merge_nbest, named_weights, read_nbest
from jaxsmt.tune.rescoring import TextScorer, rescored
from jaxsmt.tune.scoring import oracle, score_lists
from jaxsmt.tune.tuner import TunerConfig, make_tuner


@dataclass(frozen=True)
class ListTuning:
    """weights: by feature name; before, after: BLEU on the lists (0..1); oracle: BLEU of the best of each list."""

    weights: dict[str, float]
    before: float
    after: float
    oracle: float
    info: Any


def tune_nbest_lists(
    nbest_paths: Sequence[str | Path], reference_paths: Sequence[str | Path], start: Mapping[str, float],
    config: TunerConfig, output: str | Path | None = None, scorer: TextScorer | None = None,
) -> ListTuning:  # fmt: skip
    """Tunes on n-best lists in Moses' format (merged) against one or more reference files, tokenised alike.

    start: weights by feature name; features that are not named start at 0. output: where to write `name weight` lines.
    scorer: gives the lists further features.
    """
    if not nbest_paths or not reference_paths:
        raise UserError("tuning on lists needs at least one n-best list and one reference file: name both")
    references = read_references(reference_paths)
    merged = merge_nbest([read_nbest(path, len(references)) for path in nbest_paths])
    merged = merged if scorer is None else rescored(merged, scorer)
    first = named_weights(merged, start)
    tuner = make_tuner(config)
    lists = score_lists(merged, references, with_ter=tuner.metric == "ter")
    weights, info = tuner(lists, first)
    named = {name: float(value) for name, value in zip(merged.feature_names, weights, strict=True)}
    if output is not None:
        write_text(output, "".join(f"{name} {value:.9g}\n" for name, value in named.items()))
    best = lists.statistics("bleu")[np.arange(len(lists)), oracle(lists)].sum(0)
    after = float(bleu_of_sums(summed_statistics(lists, weights, "bleu")))
    return ListTuning(named, list_score(lists, first, "bleu"), after, float(bleu_of_sums(best)), info)
