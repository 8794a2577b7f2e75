"""Results as tables on stdout, at any width."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxsmt.pipeline.evaluation import ScoreTable
from jaxsmt.pipeline.stages.lms import LmMixture
from jaxsmt.pipeline.stages.texts import ComponentText
from jaxsmt.pipeline.store import Artefact
from jaxsmt.pipeline.terminal.columns import TextTable


def show_components(texts: Sequence[ComponentText], components: Mapping[str, Artefact]) -> None:
    """Sizes of the components."""
    columns = ["sentence pairs", "source words", "target words", "phrase pairs or rules", "word pairs"]
    table = TextTable("Components", ["component"], columns)
    words = {text.name: (text.bitext.source, text.bitext.target) for text in texts}
    for name, artefact in components.items():
        sizes = [len(words[name][0]), *(len(side.values) for side in words[name])] if name in words else [None] * 3
        numbers = (*sizes, artefact.counts["pairs"], artefact.counts["word_pairs"])
        table.add_row(name, *("" if number is None else f"{number:,}" for number in numbers))
    table.show()


def show_lms(mixture: LmMixture, title: str = "language models") -> None:
    """Perplexity of every development set: single language models, equal weights, its own weights."""
    if not mixture.perplexities:
        return
    columns = list(next(iter(mixture.perplexities.values())))
    table = TextTable(f"Perplexity of {title}", ["dev"], [*columns, "weights"])
    for name, values in mixture.perplexities.items():
        weights = " ".join(f"{weight:.2f}" for weight in mixture.weights[name])
        table.add_row(name, *(f"{values[column]:.2f}" for column in columns), weights)
    table.show()


def show_mixture(fit: Mapping[str, Any]) -> None:
    """Fitted component weights of every label and feature, as shares of their sum, with the bits per pair they save."""
    table = TextTable("Component weights", ["text", "feature"], [*fit["components"], "bits, equal", "bits"])
    for label, rows in fit["weights"].items():
        for feature, row, *bits in zip(
            fit["features"], rows, fit["equal_bits"][label], fit["bits"][label], strict=True
        ):
            table.add_row(label, feature, *(f"{x / sum(row):.3f}" for x in row), *(f"{x:.3f}" for x in bits))
    table.show()


def show_scores(scores: ScoreTable) -> None:
    """BLEU, TER and unknown words of every set, unweighted beside the weights of its own domain."""
    if not scores.scores:
        return
    labels = list(dict.fromkeys(label for _, _, label in scores.scores))
    columns = [f"{metric} {label}" for metric in ("BLEU", "TER") for label in labels]
    table = TextTable("Translation", ["set", "domain"], [*columns, "unknown words"])
    for part, domain in dict.fromkeys((part, domain) for part, domain, _ in scores.scores):
        row = [scores.scores.get((part, domain, label)) for label in labels]
        cells = [f"{value.bleu:.2f}" if value else "" for value in row] + [f"{v.ter:.2f}" if v else "" for v in row]
        table.add_row(
            part, domain, *cells, str(next(n for (p, d, _), n in scores.unknown.items() if (p, d) == (part, domain)))
        )
    table.show()
