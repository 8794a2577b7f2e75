"""Lines of a set worth looking at, and how their translations came about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.evaluate.chrf import chrf_score
from jaxsmt.evaluate.compare import segment_statistics
from jaxsmt.model.explaining.explaining import explain
from jaxsmt.model.explaining.explanation import Explanation
from jaxsmt.model.model import Model, Profile
from jaxsmt.model.source_text import SourceText, joined_texts, source_text
from jaxsmt.model.translation import plain_translator
from jaxsmt.pipeline.evaluation import WayTranslators, weightings

NUM_GAINS, NUM_LOSSES, NUM_OTHERS = 3, 2, 3
GAIN, LOSS, OTHER = "one of the largest gains", "one of the largest losses", "taken at equal steps"


def chosen_lines(first: Sequence[str], last: Sequence[str], references: Sequence[str]) -> dict[int, str]:
    """Row → why, in order: where the last system gains and loses most against the first by chrF, and some others."""
    goals = [[line] for line in references]
    scores = [chrf_score(segment_statistics("chrf", output, goals)) for output in (first, last)]
    gain = scores[1] - scores[0]  # [B]
    order = np.argsort(-gain, kind="stable").tolist()
    found = {row: GAIN for row in order[:NUM_GAINS] if gain[row] > 0}
    found |= {row: LOSS for row in order[::-1][:NUM_LOSSES] if gain[row] < 0}
    others = [row for row in range(len(references)) if row not in found]
    number = min(NUM_OTHERS, len(others))
    found |= {others[place * len(others) // number]: OTHER for place in range(number)}
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class PickedLines:
    """Lines of a set, and their profiles in each of the ways."""

    text: SourceText
    ways: Mapping[str, Sequence[Profile]]


def picked_lines(model: Model, sources: Sequence[str], domain: str, rows: Sequence[int]) -> PickedLines:
    """Some rows of a set, labelled as the whole set is."""
    text = source_text(model.source, sources)
    ways = weightings(model, text, domain)
    return PickedLines(text.take(rows), {way: [own[row] for row in rows] for way, own in ways.items()})


def explain_lines(
    model: Model, picked: Mapping[str, PickedLines], ways: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], list[Explanation]]:
    """By set and way, for every line; ways: those to explain of each set. All sets go in one batch."""
    translators = WayTranslators(plain_translator(model))
    found: dict[tuple[str, str], list[Explanation]] = {}
    for way in dict.fromkeys(way for own in ways.values() for way in own):
        sets = [name for name in picked if way in ways[name]]
        text = joined_texts(picked[name].text for name in sets)
        profiles = [profile for name in sets for profile in picked[name].ways[way]]
        translator = translators.of(way, {other for name in sets for other in picked[name].ways})
        told = explain(translator, text, profiles, translator.nbest(text, 1, profiles)) if len(text) else []
        for name in sets:
            found[name, way], told = told[: len(picked[name].text)], told[len(picked[name].text) :]
    return found
