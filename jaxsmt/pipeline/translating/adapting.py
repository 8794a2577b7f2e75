"""A model adapted to finished translations before it translates the rest of a document.

Their phrases become further components, whose weights and those of all others are fitted to a fifth of the lines that
these components have not seen; and weight vectors that translate lines well vote on the lists of the rest (Bayesian
predictive adaptation).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from omegaconf import DictConfig

from jaxsmt.adapt.bpa.adaptation import adapt
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.bpa.rerank import Votes, rerank
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.common.ragged import offsets_of
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
from jaxsmt.pipeline.translating.memory_component import LinkedLines, link_lines, with_components
from jaxsmt.pipeline.translating.session import DocumentText, Session
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.tm.component import Component
from jaxsmt.tune.lists import TuningLists, objective, rows_of
from jaxsmt.tune.scoring import score_lists

FEWEST_LINES = 20
HELD_OUT = 5  # every fifth line is not in the component that weights are fitted with


def adapted_session(
    config: DictConfig, model: Model, text: DocumentText, pairs: Mapping[str, Sequence[tuple[str, str]]]
) -> Session | None:
    """What translates a text with a model adapted to finished lines; None where there is nothing to do, or too little.

    pairs: by name of their origin, those first that are nearest to the text.
    """
    settings = room_config(FinishedTextConfig, config.adapt)
    check_adaptable(config, model, settings)
    if not settings.memory and not settings.votes:
        return None
    found = (finished_text(model, name, part, settings.lines) for name, part in pairs.items())
    lines = [part for part in found if len(part)]
    most = max(map(len, lines), default=0)
    if most < FEWEST_LINES:
        log.warning("%d finished lines are too few to adapt to, %d are needed: not adapted", most, FEWEST_LINES)
        return None
    for part in lines:
        log.info("adapting to %d of %d finished lines of the %s", len(part), len(pairs[part.name]), part.name)
    return DocumentAdapter(config, settings, text).session(model, lines)


@dataclass(frozen=True)
class FinishedLines:
    """Lines to adapt to: where they come from, their sources, and their translations in the model's tokens."""

    name: str
    source: SourceText
    targets: list[list[str]]

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> "FinishedLines":
        """Some of the lines."""
        targets = [self.targets[row] for row in rows.tolist()]
        return FinishedLines(self.name, self.source.take(rows.tolist()), targets)


@dataclass(frozen=True)
class DocumentAdapter:
    """Adapts models for a text as a configuration says."""

    config: DictConfig
    settings: FinishedTextConfig
    text: DocumentText

    def session(self, model: Model, parts: Sequence[FinishedLines]) -> Session:
        """What translates the text with a model adapted to lines; the first of enough lines are most like the text."""
        nearest = next(number for number, part in enumerate(parts) if len(part) >= FEWEST_LINES)
        mixture, seen, learning = None, parts[nearest], model
        if self.settings.memory:
            memory = linked_memory(model, parts)
            held = memory.rows(nearest)[HELD_OUT - 1 :: HELD_OUT]
            seen = parts[nearest].take(np.arange(len(seen))[HELD_OUT - 1 :: HELD_OUT])
            learning = with_components(model, memory.components(without=held))
            mixture = _fitted(learning, memory.linked, held, seen)
            model = with_components(model, memory.components())
        votes = self._votes(learning, mixture, seen) if self.settings.votes else {}
        plain = self._plain(model, self.text.source, self.text.glossary)
        if not votes:
            return Session(self.config, plain, mixture)
        names = feature_names(model.weights, model.lm_names)
        return Session(self.config, Voting(votes, names, self.settings.nbest).translator(plain), mixture)

    def _votes(self, model: Model, mixture: np.ndarray | None, lines: FinishedLines) -> dict[str | None, Votes]:
        """For every label of the text; labels with the same weights have the same votes."""
        plain = self._plain(model, lines.source)
        session = Session(self.config, plain, mixture)
        lists = self._lists(plain, session.profiles(self.text.labeller.labels_of(lines.source.tokens)), lines)
        made: dict[bytes, Votes | None] = {}
        found: dict[str | None, Votes] = {}
        for label in dict.fromkeys(self.text.labels):
            weights = vector_of(session.profiles([label])[0].weights)
            if weights.tobytes() not in made:
                made[weights.tobytes()] = useful_votes(lists, weights, self.settings)
            if (votes := made[weights.tobytes()]) is not None:
                found[label] = votes
        return found

    def _lists(self, plain: PlainTranslator, profiles: Sequence[Profile], lines: FinishedLines) -> TuningLists:
        arrays = nbest_arrays(plain.decoder, plain.request(lines.source, profiles), self.settings.nbest)
        lists = as_nbest_lists(plain, arrays, lines.source.tokens)
        references = [(" ".join(target),) for target in lines.targets]
        return score_lists(lists, references, with_ter=self.settings.oracle == "ter")

    def _plain(self, model: Model, text: SourceText, glossary: Glossary | None = None) -> PlainTranslator:
        return plain_translator(model.for_text(text), None, with_overrides(model.search, self.config.search), glossary)


def useful_votes(lists: TuningLists, weights: np.ndarray, config: BpaConfig) -> Votes | None:
    """Votes weighed by all lists; None where votes weighed by half of them do not choose better from the other half.

    weights: [F] of the model, which the votes are drawn around.
    """
    halves = np.arange(0, len(lists), 2), np.arange(1, len(lists), 2)
    chosen = np.zeros(len(lists), np.int64)
    for rows, others in (halves, halves[::-1]):
        chosen[others] = rerank(rows_of(lists, others), adapt(rows_of(lists, rows), weights, config)[0]).index
    statistics, every = lists.statistics(config.oracle), np.arange(len(lists))
    first, voted = (float(objective(statistics[every, rows].sum(0), config.oracle)) for rows in (0 * chosen, chosen))
    is_useful = voted > first
    log.info(
        "votes on %d lines that did not weigh them: %s %.2f, without votes %.2f; they are %s",
        len(lists), config.oracle.upper(), 100 * abs(voted), 100 * abs(first), "used" if is_useful else "not used",
    )  # fmt: skip
    return adapt(lists, weights, config)[0] if is_useful else None


def finished_text(model: Model, name: str, pairs: Sequence[tuple[str, str]], most: int) -> FinishedLines:
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
    return FinishedLines(name, text, targets).take(chosen)


@dataclass(frozen=True)
class LinkedMemory:
    """Linked lines of several origins, end to end: names of the components they make, and where each begins [G + 1]."""

    linked: LinkedLines
    names: tuple[str, ...]
    offsets: np.ndarray

    def rows(self, number: int) -> np.ndarray:
        """The lines of one origin."""
        return np.arange(self.offsets[number], self.offsets[number + 1])

    def components(self, without: Sequence[int] | np.ndarray = ()) -> list[Component]:
        """One for each origin, without some of the lines."""
        kept = [np.setdiff1d(self.rows(number), without) for number in range(len(self.names))]
        return [self.linked.component(name, rows) for name, rows in zip(self.names, kept, strict=True)]


def linked_memory(model: Model, parts: Sequence[FinishedLines]) -> LinkedMemory:
    """All lines with word links; their components have names that the model's do not have."""
    sources = [tokens for part in parts for tokens in part.source.tokens]
    linked = link_lines(model, sources, [tokens for part in parts for tokens in part.targets])
    names = tuple(part.name + "'" * sum(name.rstrip("'") == part.name for name in model.names) for part in parts)
    return LinkedMemory(linked, names, offsets_of(np.array([len(part) for part in parts])))


def _fitted(model: Model, linked: LinkedLines, rows: np.ndarray, lines: FinishedLines) -> np.ndarray:
    """[4, D] or [5, D] component weights of least perplexity on lines `rows`."""
    counts = {lines.name: linked.counts(rows)}
    fit = fit_mixture(model.rules.components, counts, linked.vocabularies, model.mixing.config)
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
