"""n-best lists that are ranked anew: what voting, bagged, rescoring and consensus translators share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from jaxsmt.adapt.voting import best_rows
from jaxsmt.model.labelling.labellers import Labeller
from jaxsmt.model.model import LabelSettings, Model, Profile
from jaxsmt.model.source_text import SourceText
from jaxsmt.model.translation import NBestList, PlainTranslator, TranslatedLine
from jaxsmt.search.nbest.arrays import NBestArrays
from jaxsmt.search.nbest.rescoring import features_at
from jaxsmt.search.statistics import SearchStatistics
from jaxsmt.search.translation import MAX_WORDS, Translation

if TYPE_CHECKING:
    from jaxsmt.adapt.consensus.config import ConsensusConfig
    from jaxsmt.model.reranking.consensus import ConsensusTranslator

ROWS_AT_ONCE = 512  # sentences × members whose charts are in memory together


@dataclass(frozen=True)
class RankedLists:
    """K different translations of B lines, line by line, with the scores that rank them.

    rows: B lines of the text.
    arrays: all that the decoder found, with trees.
    offsets: [B + 1] int64: the translations of line rows[b] are offsets[b]:offsets[b + 1].
    hypotheses: [K] int64, their places in `arrays`.
    members: [K] int64, the first member that had each; 0 where there is one system.
    texts: K translations, words separated by one space.
    features: [K, F] float64, those that have a tuned weight.
    scores: [K] float64.
    """

    rows: Sequence[int]
    arrays: NBestArrays
    offsets: np.ndarray
    hypotheses: np.ndarray
    members: np.ndarray
    texts: Sequence[str]
    features: np.ndarray
    scores: np.ndarray

    def best(self) -> list[Translation]:
        """The translation of highest score of each line, of equal ones the first."""
        return [self.translation(place) for place in best_rows(self.scores, self.offsets).tolist()]

    def order(self, line: int, size: int) -> np.ndarray:
        """Up to `size` places in K, the best translations of rows[line] first."""
        begin, end = self.offsets[line : line + 2].tolist()
        return begin + np.argsort(-self.scores[begin:end], kind="stable")[:size]

    def translation(self, place: int) -> Translation:
        """Translation `place` of K with its tree."""
        return Translation((self.arrays.derivation(int(self.hypotheses[place])),), (0,))


class RankingAdaptation:
    """What adaptations share that rank lists anew: they have weights of their own, and nothing for a kind of text."""

    fixes_weights: ClassVar[bool] = True

    @property
    def settings(self) -> LabelSettings:
        """None."""
        return LabelSettings()

    @property
    def labeller(self) -> Labeller | None:
        """It finds no labels."""
        return None


@dataclass(frozen=True)
class RankingTranslator(ABC):
    """Translates text by lists of translations that are ranked anew.

    Empty lines, lines that have to be cut and lines that `is_for` refuses are left to the plain translator.

    observe_fn: sees all ranked lists.
    """

    plain: PlainTranslator
    observe_fn: Callable[[RankedLists], None] | None = field(default=None, kw_only=True)

    def for_text(self, text: SourceText) -> Self:
        """Itself if it has the rules for a text, or the same with these."""
        return replace(self, plain=self.plain.for_text(text))

    @property
    def lines_at_once(self) -> int:
        """How many lines `ranked` may get."""
        return ROWS_AT_ONCE

    @property
    def num_votes(self) -> int:
        """How many systems' scores a score is the sum of."""
        return 1

    def is_for(self, label: str | None) -> bool:
        """Whether text with a label is ranked anew; all text is, unless a translator says otherwise."""
        return True

    @abstractmethod
    def ranked(self, text: SourceText, rows: Sequence[int], profiles: Sequence[Profile]) -> RankedLists:
        """Ranked lists of lines `rows` of a text; profiles: of these lines."""

    def with_consensus(self, config: "ConsensusConfig") -> "ConsensusTranslator":
        """What chooses from its lists by consensus; text that it does not rank is translated plainly."""
        from jaxsmt.model.reranking.consensus import ConsensusTranslator  # what is not there need not be imported

        return ConsensusTranslator(self.plain, self, config)

    @property
    def model(self) -> Model:
        return self.plain.model

    @property
    def statistics(self) -> SearchStatistics:
        return self.plain.statistics

    @property
    def own_features(self) -> tuple[str, ...]:
        return self.plain.own_features

    def line(self, text: SourceText, row: int, found: Translation, label: str | None = None) -> TranslatedLine:
        """What a translation of line `row` is as text; label: of the line."""
        return self.plain.line(text, row, found, label)

    def translate(self, text: SourceText, profiles: Sequence[Profile] | None = None) -> list[TranslatedLine]:
        """One translated line for each line."""
        profiles = profiles or [self.plain.profile] * len(text)
        found: dict[int, TranslatedLine] = {}
        for ranking in self.rankings(text, profiles):
            for row, best in zip(ranking.rows, ranking.best(), strict=True):
                found[row] = self.line(text, row, best, profiles[row].label)
        rest = [row for row in range(len(text)) if row not in found]
        if rest:
            others = self.plain.translate(text.take(rest), [profiles[row] for row in rest])
            found |= dict(zip(rest, others, strict=True))
        return [found[row] for row in range(len(text))]

    def nbest(self, text: SourceText, size: int, profiles: Sequence[Profile] | None = None) -> list[NBestList]:
        """A list of up to `size` translations for each line; the scores are those that rank them."""
        profiles = profiles or [self.plain.profile] * len(text)
        found: dict[int, NBestList] = {}
        for ranking in self.rankings(text, profiles):
            for place, best in enumerate(ranking.best()):
                row = ranking.rows[place]
                line = self.line(text, row, best, profiles[row].label)
                found[row] = self._listed(line, text.take([row]), ranking, ranking.order(place, size))
        rest = [row for row in range(len(text)) if row not in found]
        if rest:
            others = self.plain.nbest(text.take(rest), size, [profiles[row] for row in rest])
            found |= dict(zip(rest, others, strict=True))
        return [found[row] for row in range(len(text))]

    def _listed(self, best: TranslatedLine, line: SourceText, ranking: RankedLists, order: np.ndarray) -> NBestList:
        listed = [ranking.translation(place) for place in order.tolist()]
        outputs = [self.plain.output(line.tokens[0], found.tokens) for found in listed]
        features = features_at(ranking.arrays.features, ranking.hypotheses[order])
        return NBestList(
            best, listed, outputs, replace(features, score=ranking.scores[order]), line.origins_of(0)
        )

    def rankings(self, text: SourceText, profiles: Sequence[Profile]) -> Iterator[RankedLists]:
        """Ranked lists of all lines that are ranked anew, some lines at a time, in their order."""
        sizes = [len(tokens) for tokens in text.tokens]
        rows = [row for row, size in enumerate(sizes) if 0 < size <= MAX_WORDS and self.is_for(profiles[row].label)]
        for start in range(0, len(rows), self.lines_at_once):
            some = rows[start : start + self.lines_at_once]
            found = self.ranked(text, some, [profiles[row] for row in some])
            if self.observe_fn is not None:
                self.observe_fn(found)
            yield found
