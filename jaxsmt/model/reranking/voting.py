"""Bayesian predictive adaptation in a model: weight vectors vote on the n-best lists of their kind of text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.adapt.bpa.rerank import Votes, load_votes, save_votes, scores_by_label
from jaxsmt.model.adaptation import write_settings
from jaxsmt.model.model import Profile
from jaxsmt.model.reranking.bagging import Bag
from jaxsmt.model.reranking.ranking import RankedLists, RankingAdaptation, RankingTranslator
from jaxsmt.model.source_text import SourceText
from jaxsmt.model.translation import PlainTranslator
from jaxsmt.model.tuned_weights import feature_rows
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.search.nbest.moses import output_texts


@dataclass(frozen=True)
class Voting(RankingAdaptation):
    """An adaptation: lists of `nbest` translations are reranked by the votes of the text's label.

    votes: by label; None is text without one.
    feature_names: F names of the features that votes weight.
    """

    votes: Mapping[str | None, Votes]
    feature_names: tuple[str, ...]
    nbest: int

    @property
    def labels(self) -> tuple[str, ...]:
        """Kinds of text that it is for."""
        return tuple(label for label in self.votes if label is not None)

    @property
    def bag(self) -> Bag | None:
        """One system decodes."""
        return None

    def is_for(self, label: str | None) -> bool:
        """Whether text with a label has votes."""
        return label in self.votes

    def translator(self, plain: PlainTranslator) -> "VotingTranslator":
        """What translates with it."""
        return VotingTranslator(plain, self)

    def save(self, folder: Path) -> None:
        """Writes its files into a folder, which may be there."""
        for number, votes in enumerate(self.votes.values()):
            save_votes(folder / f"votes-{number}.safetensors", votes, self.feature_names)
        write_settings(folder, "bpa", {"labels": list(self.votes), "nbest": self.nbest})


def load(folder: Path, settings: Mapping[str, Any]) -> Voting:
    """What `Voting.save` wrote."""
    found = [load_votes(folder / f"votes-{number}.safetensors") for number in range(len(settings["labels"]))]
    votes = {label: part for label, (part, _) in zip(settings["labels"], found, strict=True)}
    return Voting(votes, found[0][1] if found else (), settings["nbest"])


@dataclass(frozen=True)
class VotingTranslator(RankingTranslator):
    """The translation with the highest predictive probability under the votes of the line's label."""

    voting: Voting

    def is_for(self, label: str | None) -> bool:
        """Whether text with a label has votes."""
        return self.voting.is_for(label)

    def ranked(self, text: SourceText, rows: Sequence[int], profiles: Sequence[Profile]) -> RankedLists:
        """The lists of the decoder, scored by votes."""
        part = text.take(rows)
        arrays = nbest_arrays(
            self.plain.decoder, self.plain.request(part, profiles), self.voting.nbest, keep_trees=True
        )
        features = feature_rows(arrays.features, self.model.weights)
        labels = [profile.label for profile in profiles]
        scores = scores_by_label(features, arrays.offsets, self.voting.votes, labels)
        texts = output_texts(arrays, part.tokens, self.plain.words)
        every = np.arange(len(scores))
        return RankedLists(rows, arrays, arrays.offsets, every, np.zeros_like(every), texts, features, scores)
