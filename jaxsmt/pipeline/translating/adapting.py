"""A model adapted to finished translations before it translates the rest of a document.

Their phrases become one more component, whose weight and those of all others are fitted to a fifth of the lines that
the component has not seen; and weight vectors that translate lines well vote on the lists of the rest (Bayesian
predictive adaptation).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from omegaconf import DictConfig

from jaxsmt.adapt.bpa.adaptation import adapt
from jaxsmt.adapt.bpa.rerank import Votes
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.model.mixing import COUNTS, LINEAR
from jaxsmt.model.model import Model, Profile
from jaxsmt.model.reranking.voting import Voting
from jaxsmt.model.source_text import Glossary, SourceText, source_text
from jaxsmt.model.translation import PlainTranslator, plain_translator
from jaxsmt.model.tuned_weights import feature_names, vector_of
from jaxsmt.pipeline.config.decoding import FinishedTextConfig
from jaxsmt.pipeline.config.rooms import room_config, with_overrides
from jaxsmt.pipeline.stages.mixing import fit_mixture, fitted_weights
from jaxsmt.pipeline.stages.tuning import MAX_TUNING_WORDS, as_nbest_lists
from jaxsmt.pipeline.translating.memory_component import LinkedLines, link_lines, with_memory
from jaxsmt.pipeline.translating.session import DocumentText, Session
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.tune.lists import TuningLists
from jaxsmt.tune.scoring import score_lists

FEWEST_LINES = 20
HELD_OUT = 5  # every fifth line is not in the component that weights are fitted with


def adapted_session(
    config: DictConfig, model: Model, text: DocumentText, pairs: Sequence[tuple[str, str]]
) -> Session | None:
    """What translates a text with a model adapted to pairs of finished lines; None where that is nothing to do."""
    settings = room_config(FinishedTextConfig, config.adapt)
    check_adaptable(config, model, settings)
    if not settings.memory and not settings.votes:
        return None
    lines = finished_text(model, pairs, settings.lines)
    if len(lines) < FEWEST_LINES:
        log.warning("%d finished lines are too few to adapt to, %d are needed: not adapted", len(lines), FEWEST_LINES)
        return None
    log.info("adapting to %d of %d finished lines", len(lines), len(pairs))
    return DocumentAdapter(config, settings, text).session(model, lines)


@dataclass(frozen=True)
class FinishedLines:
    """Lines to adapt to: their sources, and their translations in the model's tokens."""

    source: SourceText
    targets: list[list[str]]

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> "FinishedLines":
        """Some of the lines."""
        return FinishedLines(self.source.take(rows.tolist()), [self.targets[row] for row in rows.tolist()])


@dataclass(frozen=True)
class DocumentAdapter:
    """Adapts models for a text as a configuration says."""

    config: DictConfig
    settings: FinishedTextConfig
    text: DocumentText

    def session(self, model: Model, lines: FinishedLines) -> Session:
        """What translates the text with a model adapted to the lines."""
        mixture, seen, learning = None, lines, model
        if self.settings.memory:
            linked = link_lines(model, lines.source.tokens, lines.targets)
            is_held = np.arange(len(lines)) % HELD_OUT == HELD_OUT - 1
            seen = lines.take(np.flatnonzero(is_held))
            learning = with_memory(model, linked.component(np.flatnonzero(~is_held)))
            mixture = _fitted(learning, linked, np.flatnonzero(is_held), seen)
            model = with_memory(model, linked.component(np.arange(len(lines))))
        votes = self._votes(learning, mixture, seen) if self.settings.votes else None
        plain = self._plain(model, self.text.source, self.text.glossary)
        if votes is None:
            return Session(self.config, plain, mixture)
        names = feature_names(model.weights, model.lm_names)
        return Session(self.config, Voting(votes, names, self.settings.nbest).translator(plain), mixture)

    def _votes(self, model: Model, mixture: np.ndarray | None, lines: FinishedLines) -> dict[str | None, Votes]:
        """For every label of the text; labels with the same weights have the same votes."""
        plain = self._plain(model, lines.source)
        session = Session(self.config, plain, mixture)
        lists = self._lists(plain, session.profiles(self.text.labeller.labels_of(lines.source.tokens)), lines)
        made: dict[bytes, Votes] = {}
        found: dict[str | None, Votes] = {}
        for label in dict.fromkeys(self.text.labels):
            weights = vector_of(session.profiles([label])[0].weights)
            if weights.tobytes() not in made:
                made[weights.tobytes()], info = adapt(lists, weights, self.settings)
                log.info("%d lines weigh the votes: %.0f effective samples", len(lines), info.effective_size)
            found[label] = made[weights.tobytes()]
        return found

    def _lists(self, plain: PlainTranslator, profiles: Sequence[Profile], lines: FinishedLines) -> TuningLists:
        arrays = nbest_arrays(plain.decoder, plain.request(lines.source, profiles), self.settings.nbest)
        lists = as_nbest_lists(plain, arrays, lines.source.tokens)
        references = [(" ".join(target),) for target in lines.targets]
        return score_lists(lists, references, with_ter=self.settings.oracle == "ter")

    def _plain(self, model: Model, text: SourceText, glossary: Glossary | None = None) -> PlainTranslator:
        return plain_translator(model.for_text(text), None, with_overrides(model.search, self.config.search), glossary)


def finished_text(model: Model, pairs: Sequence[tuple[str, str]], most: int) -> FinishedLines:
    """Pairs of lines as the model knows them, so many at equal steps; none with an empty or a very long side."""
    text = source_text(model.source, (source for source, _ in pairs))
    targets = [model.target.preprocess(target) for _, target in pairs]
    kept = [
        row for row, (own, other) in enumerate(zip(text.tokens, targets, strict=True))
        if 0 < len(own) <= MAX_TUNING_WORDS and 0 < len(other) <= MAX_TUNING_WORDS
    ]  # fmt: skip
    chosen = np.array(kept, np.int64)
    if len(kept) > most:
        chosen = chosen[np.arange(most) * len(kept) // most]
    return FinishedLines(text, targets).take(chosen)


def _fitted(model: Model, linked: LinkedLines, rows: np.ndarray, lines: FinishedLines) -> np.ndarray:
    """[4, D] or [5, D] component weights of least perplexity on lines `rows`, the last of them the memory's."""
    counts = {linked.name: linked.counts(rows)}
    fit = fit_mixture(model.rules.components, lines.source.tokens, counts, linked.vocabularies, model.mixing.config)
    weights = fitted_weights(fit)[0]
    shares = (weights / weights.sum(1, keepdims=True)).mean(0)
    named = (f"{name} {share:.2f}" for name, share in zip(model.names, shares, strict=True))
    log.info("component weights: %s", ", ".join(named))
    return weights


def check_adaptable(config: DictConfig, model: Model, settings: FinishedTextConfig) -> None:
    """Raises UserError for a model that cannot be adapted to finished texts in this way."""
    reasons = (
        (model.adaptation is not None, "the model's own adaptation", "add adapted=false"),
        (model.rescoring is not None, "a model that rescores", "take another model"),
        (model.consensus is not None and model.consensus.nbest > 1, "the model's consensus", "add consensus.nbest=1"),
    )
    of_memory = (
        (config.component_weights is not None, "component_weights", "leave one out"),
        (model.mixing.config.operation not in (COUNTS, LINEAR), f"mixture '{model.mixing.config.operation}'", ""),
        (model.provenance is not None, "features of where rules were seen", ""),
    )
    for is_so, what, advice in reasons:
        if is_so:
            raise UserError(f"{what} and adaptation to finished texts exclude each other: {advice}")
    for is_so, what, advice in of_memory:
        if is_so and settings.memory:
            raise UserError(f"{what} and adapt.memory exclude each other: {advice or 'add adapt.memory=false'}")
