"""Bagging in a model: every member decodes with its own weights, then all vote (Song, Mi, Lü & Liu 2012)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.adapt.voting import different_hypotheses, summed_votes
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.ragged import Ragged
from jaxsmt.model.adaptation import write_settings
from jaxsmt.model.model import Profile
from jaxsmt.model.reranking.ranking import ROWS_AT_ONCE, RankedLists, RankingAdaptation, RankingTranslator
from jaxsmt.model.source_text import SourceText
from jaxsmt.model.translation import PlainTranslator
from jaxsmt.model.tuned_weights import feature_rows, weights_of
from jaxsmt.search.decoder import Request
from jaxsmt.search.nbest.arrays import nbest_arrays
from jaxsmt.search.nbest.moses import output_texts
from jaxsmt.search.request import mixture_rows
from jaxsmt.search.weights import SearchWeights

MEMBERS = "members.safetensors"


@dataclass(frozen=True)
class Bag(RankingAdaptation):
    """An adaptation to any kind of text.

    weights: [M, F] float64 of the members, Σ|θ| = 1 in each row.
    sizes: numbers of (first) members whose combination is reported.
    """

    weights: np.ndarray
    feature_names: tuple[str, ...]
    nbest: int
    sizes: tuple[int, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Kinds of text that it has weights for: none in particular."""
        return ()

    @property
    def bag(self) -> "Bag | None":
        """Itself."""
        return self

    def is_for(self, label: str | None) -> bool:
        """All text is translated differently."""
        return True

    def translator(self, plain: PlainTranslator) -> "BaggedTranslator":
        """What translates with it."""
        return BaggedTranslator(plain, self)

    def save(self, folder: Path) -> None:
        """Writes its files into a folder, which may be there."""
        save_arrays(folder / MEMBERS, {"weights": self.weights})
        names = list(self.feature_names)
        write_settings(folder, "bagging", {"feature_names": names, "nbest": self.nbest, "sizes": list(self.sizes)})


def load(folder: Path, settings: Mapping[str, Any]) -> Bag:
    """What `Bag.save` wrote."""
    weights, names = np.array(open_arrays(folder / MEMBERS)["weights"]), tuple(settings["feature_names"])
    if weights.ndim != 2 or weights.shape[1] != len(names):
        raise ValueError
    return Bag(weights, names, settings["nbest"], tuple(settings["sizes"]))


@dataclass(frozen=True)
class BaggedTranslator(RankingTranslator):
    """The translation with the highest sum of all members' scores, among those that any member lists."""

    members: Bag

    @property
    def lines_at_once(self) -> int:
        return max(1, ROWS_AT_ONCE // len(self.members.weights))

    @property
    def num_votes(self) -> int:
        return len(self.members.weights)

    def ranked(self, text: SourceText, rows: Sequence[int], profiles: Sequence[Profile]) -> RankedLists:
        """The lists of all members, merged, scored by the sum of their weights."""
        part, weights = text.take(rows), self._weights
        request = for_members(self.plain.request(part, profiles), weights)
        arrays = nbest_arrays(self.plain.decoder, request, self.members.nbest, keep_trees=True)
        texts = output_texts(arrays, list(part.tokens) * len(weights), self.plain.words)
        features = feature_rows(arrays.features, self.model.weights)
        member, sentence = np.divmod(arrays.sentence, len(part))
        kept = different_hypotheses(sentence, texts, features)
        scores = summed_votes(features[kept], member[kept], self.members.weights)
        offsets = np.searchsorted(sentence[kept], np.arange(len(part) + 1))
        return RankedLists(
            rows, arrays, offsets, kept, member[kept], [texts[k] for k in kept.tolist()], features[kept], scores
        )

    @cached_property
    def _weights(self) -> list[SearchWeights]:
        return [weights_of(theta, self.model.weights) for theta in self.members.weights]


def for_members(request: Request, members: Sequence[SearchWeights]) -> Request:
    """The request of B sentences for M members, member by member: row m · B + b is sentence b with the weights of m.

    A batch of the decoder then has few different weights.
    """
    num = len(request.sentences)
    rows = np.tile(np.arange(num), len(members))
    columns = {
        name: np.repeat(np.array([getattr(member, name) for member in members], np.float32), num, axis=0)
        for name in vars(members[0])
    }
    copies = request.copy_ids
    return replace(
        request,
        sentences=request.sentences.take(rows),
        copy_ids=None if copies is None else Ragged(copies, request.sentences.offsets).take(rows).values,
        weights=SearchWeights(**columns),
        mixture=None if request.mixture is None else request.mixture[rows],
        lm_mixture=mixture_rows(request.lm_mixture, rows),
        forced={
            (number * num + row, start, end): ids
            for number in range(len(members))
            for (row, start, end), ids in request.forced.items()
        },
    )
