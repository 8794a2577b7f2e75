"""Corpus scores by sacrebleu, with the signatures that make them comparable."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU, CHRF

from jaxsmt.common.errors import UserError


@dataclass(frozen=True)
class Scores:
    """Scores of a translated text, each between 0 and 100."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str


def corpus_scores(hypotheses: Sequence[str], references: Sequence[str]) -> Scores:
    """Scores detokenised translations against one reference each."""
    if len(hypotheses) != len(references) or not hypotheses:
        raise UserError(
            f"{len(hypotheses)} translations against {len(references)} references: give as many of both, at least one"
        )
    bleu, chrf = BLEU(), CHRF()
    values = [metric.corpus_score(list(hypotheses), [list(references)]).score for metric in (bleu, chrf)]
    return Scores(values[0], values[1], str(bleu.get_signature()), str(chrf.get_signature()))
