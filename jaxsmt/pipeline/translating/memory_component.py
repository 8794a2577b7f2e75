"""Finished translations as one more component of a model: counts of their phrases, as training makes them.

Words are linked by EM as in training, with all links that the model's components have counted as a prior: as if the
lines had been part of the training text.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jaxsmt.align.cells import WordPairs
from jaxsmt.align.training import train_and_align
from jaxsmt.common.grouping import positions_in, widened
from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.counts import RuleCounts
from jaxsmt.extract.extraction import extract_counts
from jaxsmt.extract.keeping import keep_pairs
from jaxsmt.extract.lexical import count_words
from jaxsmt.model.folder import with_words_of
from jaxsmt.model.mixing import Rules
from jaxsmt.model.model import Model
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.documents.units import is_stand_in
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary
from jaxsmt.tm.component import Component
from jaxsmt.tm.gathering.components import RuleTables


@dataclass(frozen=True)
class LinkedLines:
    """Finished lines with word links.

    vocabularies: of source and target, those of these lines.
    extract: how their phrases are counted.
    """

    bitext: Bitext
    links: Ragged
    vocabularies: tuple[Vocabulary, Vocabulary]
    extract: ExtractConfig

    def counts(self, rows: np.ndarray) -> RuleCounts:
        """Phrases of some of the lines; those that lose, add or change a stand-in of a placeholder are left out."""
        part, links = self._part(rows)
        found = extract_counts(part, links, self.extract.with_rare_rules)
        sides = [codes[side] for codes, side in zip(self._codes, (found.source_sides, found.target_sides), strict=True)]
        width = max(side.shape[1] for side in sides)
        source, target = (-np.sort(-widened(side, width), axis=1) for side in sides)
        return keep_pairs(found, (source[found.source_index] == target[found.target_index]).all(1))

    def component(self, name: str, rows: np.ndarray) -> Component:
        """The statistics of some of the lines, under a name."""
        words = count_words(*self._part(rows), *map(len, self.vocabularies))
        return Component(name, self.extract.kind, self.counts(rows), words, *self.vocabularies)

    def _part(self, rows: np.ndarray) -> tuple[Bitext, Ragged]:
        return Bitext(self.bitext.source.take(rows), self.bitext.target.take(rows)), self.links.take(rows)

    @cached_property
    def _codes(self) -> list[np.ndarray]:
        """[V] int32 of either vocabulary: the characters of stand-ins, 0 of all other words."""
        reserved = [0] * NUM_RESERVED
        return [
            np.array(reserved + [ord(word) if is_stand_in(word) else 0 for word in part.words], np.int32)
            for part in self.vocabularies
        ]


def link_lines(model: Model, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> LinkedLines:
    """Links the words of tokenised lines and their translations with what the components know."""
    source, target = _words(sources), _words(targets)
    bitext = Bitext(ragged_from_rows(map(source.encode, sources)), ragged_from_rows(map(target.encode, targets)))
    components = model.rules.components
    prior_fn = linked_before(components, source, target)
    _, links = train_and_align(bitext, len(source), len(target), prior_fn=prior_fn)
    has_orientations = any(part.rules.orientation_counts is not None for part in components)
    extract = ExtractConfig(components[0].kind, orientations=has_orientations)
    return LinkedLines(bitext, links, (source, target), extract)


def _words(lines: Sequence[Sequence[str]]) -> Vocabulary:
    return Vocabulary(tuple(dict.fromkeys(word for line in lines for word in line)))


def linked_before(
    components: Sequence[Component], source: Vocabulary, target: Vocabulary
) -> Callable[[WordPairs], np.ndarray]:
    """How often the components have linked the words of pairs, which have ids of the vocabularies."""

    def count(pairs: WordPairs) -> np.ndarray:
        found = np.zeros(len(pairs), np.float32)
        rows = np.flatnonzero((pairs.source_word < len(source)) & (pairs.target_word < len(target)) & pairs.is_seen)
        for component in components:
            size = len(component.target_vocabulary) + 1
            known = np.asarray(component.lexical.word_pairs, np.int64)
            first = source.ids_in(component.source_vocabulary, missing=-1)[pairs.source_word[rows]].astype(np.int64)
            second = target.ids_in(component.target_vocabulary, missing=-1)[pairs.target_word[rows]]
            keys = np.where((first < 0) | (second < 0), -1, first * size + second)
            place = positions_in(known[:, 0] * size + known[:, 1], keys)
            found[rows] += np.append(component.lexical.joint_counts, np.float32(0))[place]
        return found

    return count


def with_components(model: Model, more: Sequence[Component]) -> Model:
    """The model with further components behind its own; nothing is known of their weights."""
    tables = RuleTables([*model.rules.components, *more])
    source, target = with_words_of(tables, (model.source, model.target))
    return dataclasses.replace(model, rules=Rules(tables, model.rules.sentences), source=source, target=target)
