"""What a model makes of development and test sets, with and without the weights of their domain."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jaxsmt.common.files import write_text
from jaxsmt.common.progress import track
from jaxsmt.evaluate.scores import Scores, corpus_scores
from jaxsmt.pipeline.model import Model
from jaxsmt.pipeline.translation import LineTranslator, make_line_translator
from jaxsmt.text.reading import BitextSource, read_bitext

UNWEIGHTED = "unweighted"


@dataclass(frozen=True)
class ScoreTable:
    """Scores by (part, domain, weighting): ('test', 'kitchen', 'unweighted') for instance."""

    scores: dict[tuple[str, str, str], Scores]

    def mean(self, part: str) -> float:
        """Mean BLEU of a part's sets, each with its own domain's weights where the model has that domain."""
        best = {domain: scores.bleu for (of, domain, _), scores in self.scores.items() if of == part}
        return sum(best.values()) / len(best) if best else 0.0


def evaluate_model(model: Model, parts: Mapping[str, Mapping[str, BitextSource]], output_dir: Path) -> ScoreTable:
    """Translates every set unweighted and, where the model has its domain, with that domain raised.

    Translations go to <output_dir>/translations, scores to <output_dir>/scores.json.
    """
    jobs = [(part, domain) for part, sources in parts.items() for domain in sources]
    translators: dict[str, LineTranslator] = {}
    found = {}
    for part, domain in track(jobs, "translating", len(jobs)):
        pairs = list(read_bitext(parts[part][domain]))
        for weighting in [UNWEIGHTED] + [domain] * (domain in model.names):
            if weighting not in translators:
                translators[weighting] = _translator(model, None if weighting == UNWEIGHTED else weighting)
            output = [line.text for line in translators[weighting].translate([source for source, _ in pairs])]
            label = UNWEIGHTED if weighting == UNWEIGHTED else "own domain"
            found[part, domain, label] = corpus_scores(output, [target for _, target in pairs])
            name = f"{part}.{domain}.{label.replace(' ', '-')}.txt"
            write_text(output_dir / "translations" / name, "".join(line + "\n" for line in output))
    _write_scores(output_dir / "scores.json", found)
    return ScoreTable(found)


def _translator(model: Model, domain: str | None) -> LineTranslator:
    mixtures = model.mixture(domain), model.lm_mixture(domain)
    return make_line_translator(model, *mixtures, model.search, model.weights.of_search)


def _write_scores(path: Path, scores: Mapping[tuple[str, str, str], Scores]) -> None:
    rows = [
        {"part": part, "domain": domain, "weights": label, "bleu": round(value.bleu, 4), "chrf": round(value.chrf, 4)}
        for (part, domain, label), value in scores.items()
    ]
    signatures = {value.bleu_signature: value.chrf_signature for value in scores.values()}
    write_text(path, json.dumps({"scores": rows, "signatures": signatures}, indent=1, ensure_ascii=False) + "\n")
