"""From n-best lists and references to the arrays that tuners work on."""

from collections.abc import Sequence

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.evaluate.bleu import LENGTH, MATCHES, REFERENCE_LENGTH, TOTALS, bleu_statistics
from jaxsmt.evaluate.segments import Interner, ter_tokens
from jaxsmt.evaluate.ter import ter_statistics
from jaxsmt.tune.lists import TuningLists, padded_lists
from jaxsmt.tune.nbest import NBestLists


def score_lists(lists: NBestLists, references: Sequence[Sequence[str]], with_ter: bool = False) -> TuningLists:
    """Counts BLEU (on the tokens as they are) and, if wanted, TER statistics of all hypotheses.

    references: one list of translations (tokenised as the hypotheses are) for each sentence.
    """
    if len(references) != len(lists) or not all(references):
        raise UserError(
            f"the n-best lists are of {len(lists)} sentences and there are references for "
            f"{sum(map(bool, references))}: give at least one reference for every sentence"
        )
    flat = [text for texts in references for text in texts]
    sentence_of_reference = np.repeat(np.arange(len(references)), [len(texts) for texts in references])
    distinct, place = _distinct(lists)
    sentences = lists.sentences[distinct]
    texts = [lists.texts[k] for k in distinct]
    interner = Interner()
    words, goals = (interner.encode([text.split() for text in side]) for side in (texts, flat))
    bleu = bleu_statistics(words, goals, sentences, sentence_of_reference).astype(np.int32)
    ter = None
    if with_ter:
        lowered = Interner()
        words, goals = (lowered.encode([ter_tokens(text) for text in side]) for side in (texts, flat))
        ter = ter_statistics(words, goals, sentences, sentence_of_reference)[place]
    return padded_lists(lists.features, lists.offsets, bleu[place], ter, lists.feature_names)


def _distinct(lists: NBestLists) -> tuple[np.ndarray, np.ndarray]:
    """The first hypothesis of each different text of a sentence, and for every hypothesis which of them it is."""
    number_of: dict[tuple[int, str], int] = {}
    keys = zip(lists.sentences.tolist(), lists.texts, strict=True)
    place = np.array([number_of.setdefault(key, len(number_of)) for key in keys], np.int64)
    first = np.full(len(number_of), len(place), np.int64)
    np.minimum.at(first, place, np.arange(len(place)))
    return first, place


def oracle(lists: TuningLists, metric: str = "bleu") -> np.ndarray:
    """[B] int64: the hypothesis of each list that is best on its own (smoothed sentence BLEU, or fewest edits).

    Of equally good ones the first counts. The corpus score of these is about what reranking can reach.
    """
    statistics = lists.statistics(metric)
    quality = smoothed_sentence_bleu(statistics) if metric == "bleu" else -statistics[..., 0].astype(np.float64)
    return np.where(lists.is_real, quality, -np.inf).argmax(1)


def smoothed_sentence_bleu(statistics: np.ndarray) -> np.ndarray:
    """[..., 10] → [...] BLEU + 1 in 0..1 (Lin & Och 2004): one more match and n-gram for n > 1."""
    counts = np.asarray(statistics, np.float64)
    matches, totals = counts[..., MATCHES].copy(), counts[..., TOTALS].copy()
    matches[..., 1:] += 1
    totals[..., 1:] += 1
    is_defined = matches[..., 0] > 0
    log_precision = np.log(np.where(matches > 0, matches, 1.0) / np.maximum(totals, 1.0)).mean(-1)
    shortness = counts[..., REFERENCE_LENGTH] / np.maximum(counts[..., LENGTH], 1.0) - 1.0
    return np.where(is_defined, np.exp(log_precision - np.maximum(shortness, 0.0)), 0.0)


