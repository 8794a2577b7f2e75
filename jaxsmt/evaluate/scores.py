"""Corpus scores by sacrebleu, with the signatures that make them comparable."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU, CHRF, TER

from jaxsmt.common.errors import UserError
from jaxsmt.evaluate.compare import segment_statistics
from jaxsmt.evaluate.ter import ter_score


@dataclass(frozen=True)
class Scores:
    """Scores of a translated text in per cent; of TER less is better."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    ter: float
    ter_signature: str


def corpus_scores(hypotheses: Sequence[str], references: Sequence[str] | Sequence[Sequence[str]]) -> Scores:
    """Scores detokenised translations; references: one for each sentence, or equally many for each."""
    if len(hypotheses) != len(references) or not hypotheses:
        raise UserError(
            f"{len(hypotheses)} translations against {len(references)} references: give as many of both, at least one"
        )
    by_sentence = [[texts] if isinstance(texts, str) else list(texts) for texts in references]
    if len({len(texts) for texts in by_sentence}) != 1 or not by_sentence[0]:
        raise UserError("sentences have different numbers of references: give equally many for each, at least one")
    columns = [list(column) for column in zip(*by_sentence, strict=True)]
    bleu, chrf, ter = BLEU(), CHRF(), TER()
    values = [metric.corpus_score(list(hypotheses), columns).score for metric in (bleu, chrf)]
    ter.num_refs = len(columns)  # counted by our own statistics, which equal sacrebleu's and are quicker
    edit_rate = float(ter_score(segment_statistics("ter", hypotheses, by_sentence).sum(0)))
    signatures = [str(metric.get_signature()) for metric in (bleu, chrf, ter)]
    return Scores(values[0], values[1], signatures[0], signatures[1], edit_rate, signatures[2])
