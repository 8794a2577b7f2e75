"""Corpus scores with signatures."""

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from jaxsmt.common.errors import UserError
from jaxsmt.evaluate.scores import corpus_scores

HYPOTHESES = ["The cat sat on the mat.", "", "It is raining, he said."]
REFERENCES = [
    ["On the mat sat the cat.", "The cat was on the mat."],
    ["Nothing.", "No."],
    ["He said it was raining.", "It rains, he said."],
]


@pytest.mark.parametrize("num_references", [1, 2])
def test_scores_and_signatures_are_sacrebleus(num_references):
    references = [texts[:num_references] for texts in REFERENCES]
    columns = list(zip(*references, strict=True))
    ours = corpus_scores(HYPOTHESES, references)
    for metric, score, signature in (
        (BLEU(), ours.bleu, ours.bleu_signature),
        (CHRF(), ours.chrf, ours.chrf_signature),
        (TER(), ours.ter, ours.ter_signature),
    ):
        assert score == pytest.approx(metric.corpus_score(HYPOTHESES, columns).score)
        assert signature == str(metric.get_signature())
    if num_references == 1:
        assert corpus_scores(HYPOTHESES, [texts[0] for texts in references]) == ours


def test_mistakes_are_named():
    with pytest.raises(UserError, match="2 translations against 3"):
        corpus_scores(HYPOTHESES[:2], REFERENCES)
    with pytest.raises(UserError, match="different numbers"):
        corpus_scores(HYPOTHESES, [["a"], ["b", "c"], ["d"]])
