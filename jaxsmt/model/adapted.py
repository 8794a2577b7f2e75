"""Translation with an adapted model: n-best lists of one system or of many, ranked anew by votes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from jaxsmt.adapt.bpa.rerank import Votes, rerank
from jaxsmt.adapt.bpa.subsets import rows_of
from jaxsmt.adapt.voting import MergedLists, best_rows, merge_members, vote
from jaxsmt.model.adaptations import Bag, Voting
from jaxsmt.model.glossary import Glossary
from jaxsmt.model.members import for_members, lists_of_members
from jaxsmt.model.model import Model, Profile
from jaxsmt.model.translation import LineTranslator, TranslatedLine, make_line_translator
from jaxsmt.pipeline.config.schemas import WeightsConfig
from jaxsmt.pipeline.stages.tuning import as_nbest_lists, weights_of
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.search.nbest.arrays import NBestArrays, nbest_arrays
from jaxsmt.search.nbest.moses import nbest_lines
from jaxsmt.search.nbest.rescoring import FeatureVectors
from jaxsmt.search.translation import MAX_WORDS, Translation
from jaxsmt.tune.lists import padded_lists
from jaxsmt.tune.nbest import NBestLists

ROWS_AT_ONCE = 512  # sentences × members whose charts are in memory together


@dataclass(frozen=True)
class Ranking:
    """Different translations of some lines, with the scores that rank them.

    rows: B lines; tokens: their words.
    arrays: all that the decoder found, with trees.
    merged: the K different ones, sentence by sentence; a translation of one system is of member 0.
    hypotheses: [K] int64, their places in `arrays`.
    scores: [K] float64.
    """

    rows: list[int]
    tokens: list[list[str]]
    arrays: NBestArrays
    merged: MergedLists
    hypotheses: np.ndarray
    scores: np.ndarray

    def best(self) -> list[Translation]:
        """The translation of highest score of each line, of equal ones the first."""
        chosen = self.hypotheses[best_rows(self.scores, self.merged.lists.offsets)]
        return [Translation((self.arrays.derivation(number),), (0,)) for number in chosen.tolist()]

    def order(self, place: int, size: int) -> np.ndarray:
        """Up to `size` rows of K, the best translations of the line rows[place] first."""
        begin, end = self.merged.lists.offsets[place : place + 2].tolist()
        return begin + np.argsort(-self.scores[begin:end], kind="stable")[:size]


@dataclass(frozen=True)
class AdaptedTranslator:
    """Translates raw lines as `LineTranslator` does, by votes where the adaptation has some for a line.

    Empty lines, lines that have to be cut and lines of a kind without votes are left to the plain translator.
    """

    plain: LineTranslator
    adaptation: Voting | Bag

    @property
    def model(self) -> Model:
        return self.plain.model

    def translate(
        self, lines: Sequence[str], profiles: Sequence[Profile] | None = None,
        observe_fn: Callable[[Ranking], None] | None = None,
    ) -> list[TranslatedLine]:  # fmt: skip
        """One translated line for each line; observe_fn sees all rankings."""
        profiles = profiles or [self.plain.profile] * len(lines)
        found: dict[int, TranslatedLine] = {}
        for ranking in self.rankings(lines, profiles):
            for row, tokens, best in zip(ranking.rows, ranking.tokens, ranking.best(), strict=True):
                found[row] = self.plain.line(lines[row], tokens, best, profiles[row].label)
            if observe_fn is not None:
                observe_fn(ranking)
        rest = [row for row in range(len(lines)) if row not in found]
        if rest:
            plain = self.plain.translate([lines[row] for row in rest], [profiles[row] for row in rest])
            found |= dict(zip(rest, plain, strict=True))
        return [found[row] for row in range(len(lines))]

    def nbest(
        self, lines: Sequence[str], size: int, first_number: int = 0, profiles: Sequence[Profile] | None = None
    ) -> Iterator[str]:
        """Lines of an n-best list in Moses' format, in the order of the votes, whose scores are the totals."""
        profiles = profiles or [self.plain.profile] * len(lines)
        found: dict[int, list[str]] = {}
        for ranking in self.rankings(lines, profiles):
            for place, row in enumerate(ranking.rows):
                found[row] = list(self._listed(ranking, place, first_number + row, size))
        rest = [row for row in range(len(lines)) if row not in found]
        if rest:
            plain = self.plain.nbest([lines[row] for row in rest], size, 0, [profiles[row] for row in rest])
            for number, fields in (line.split(" ||| ", 1) for line in plain):
                row = rest[int(number)]
                found.setdefault(row, []).append(f"{first_number + row} ||| {fields}")
        for row in sorted(found):
            yield from found[row]

    def _listed(self, ranking: Ranking, place: int, number: int, size: int) -> Iterator[str]:
        order = ranking.order(place, size)
        chosen = ranking.hypotheses[order]
        derivations = [ranking.arrays.derivation(hypothesis) for hypothesis in chosen.tolist()]
        outputs = [self.plain.output(ranking.tokens[place], found.tokens) for found in derivations]
        features = _taken(ranking.arrays.features, chosen, ranking.scores[order])
        links = [found.alignment for found in derivations]
        yield from nbest_lines(number, outputs, features, 0, with_swaps=self.plain.swaps_blocks, alignments=links)

    def rankings(self, lines: Sequence[str], profiles: Sequence[Profile]) -> Iterator[Ranking]:
        """Rankings of all lines that the adaptation is for, some lines at a time, in their order."""
        sizes = [len(self.model.source.preprocess(line)) for line in lines]
        rows = [row for row, size in enumerate(sizes) if 0 < size <= MAX_WORDS and self.is_for(profiles[row].label)]
        step = max(1, ROWS_AT_ONCE // len(self._members)) if isinstance(self.adaptation, Bag) else ROWS_AT_ONCE
        for start in range(0, len(rows), step):
            yield self._ranked(rows[start : start + step], lines, profiles)

    def is_for(self, label: str | None) -> bool:
        """Whether text with a label is translated differently."""
        return isinstance(self.adaptation, Bag) or label in self.adaptation.votes

    def _ranked(self, rows: list[int], lines: Sequence[str], profiles: Sequence[Profile]) -> Ranking:
        request, tokens = self.plain.request([lines[row] for row in rows], [profiles[row] for row in rows])
        if isinstance(self.adaptation, Voting):
            arrays = nbest_arrays(self.plain.decoder, request, self.adaptation.nbest, keep_trees=True)
            lists = as_nbest_lists(self.plain, arrays, tokens)
            scores = voted_scores(lists, self.adaptation.votes, [profiles[row].label for row in rows])
            merged = MergedLists(lists, np.zeros(len(scores), np.int64))
            return Ranking(rows, tokens, arrays, merged, np.arange(len(scores)), scores)
        members = self._members
        arrays = nbest_arrays(self.plain.decoder, for_members(request, members), self.adaptation.nbest, keep_trees=True)
        every = as_nbest_lists(self.plain, arrays, tokens * len(members))
        numbered = replace(every, extras=tuple((str(number),) for number in range(len(every.texts))))
        merged = merge_members(lists_of_members(numbered, len(members)))
        hypotheses = np.array([int(number) for (number,) in merged.lists.extras], np.int64)
        return Ranking(rows, tokens, arrays, merged, hypotheses, vote(merged, self.adaptation.weights).scores)

    @cached_property
    def _members(self) -> list[WeightsConfig]:
        assert isinstance(self.adaptation, Bag)
        return [weights_of(theta, self.model.weights) for theta in self.adaptation.weights]


def voted_scores(lists: NBestLists, votes: Mapping[str, Votes], labels: Sequence[str | None]) -> np.ndarray:
    """[K] float64: log scores of all hypotheses under the votes of their sentence's label."""
    padded = padded_lists(lists.features, lists.offsets, feature_names=lists.feature_names)
    scores = np.full(padded.is_real.shape, -np.inf)
    for label in dict.fromkeys(labels):
        assert label is not None
        rows = np.array([row for row, own in enumerate(labels) if own == label])
        found = rerank(rows_of(padded, rows), votes[label])
        part = found.scores.copy()
        # hypotheses with equal features differ by rounding: the first of them is the one that wins
        part[np.arange(len(rows)), found.index] = part.max(1)
        scores[rows, : part.shape[1]] = part
    return scores[padded.is_real]


def make_translator(
    model: Model, config: SearchConfig | None = None, glossary: Glossary | None = None
) -> LineTranslator | AdaptedTranslator:
    """Makes a model ready, with its adaptation if it has one that votes."""
    plain = make_line_translator(model, None, config, glossary)
    if isinstance(model.adaptation, Voting | Bag):
        return AdaptedTranslator(plain, model.adaptation)
    return plain


def _taken(features: FeatureVectors, rows: np.ndarray, scores: np.ndarray) -> FeatureVectors:
    columns = {name: value[rows] for name, value in vars(features).items() if name not in ("names", "score")}
    return replace(features, score=scores, **columns)
