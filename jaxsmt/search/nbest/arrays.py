"""n-best lists: the best derivations of every sentence with exact features, as arrays and as trees.

The search goes over all derivations that are in the chart, without a limit on their number: lists are shorter than
asked for only if the chart has no more (distinct) translations. What the chart left out, no list can have.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import Ragged, concatenate, numbered_runs, ragged_from_rows
from jaxsmt.search.decoder import Decoder, Request, complete_request
from jaxsmt.search.nbest.derivation import RULE, Derivation
from jaxsmt.search.nbest.kbest import Found, best_ways
from jaxsmt.search.nbest.links import links_of
from jaxsmt.search.nbest.rescoring import DerivationCounts, FeatureVectors, feature_vectors, no_reordering
from jaxsmt.search.nbest.sources import Rooted, Source, sources_of
from jaxsmt.search.nbest.unfold import Steps, steps_of, tokens_of


@dataclass(frozen=True)
class NBestArrays:
    """n-best lists of B sentences, H derivations sentence by sentence, best first.

    sentence: [H] int64, rows of the request.
    offsets: [B + 1] int64: the list of sentence b is offsets[b]:offsets[b + 1].
    score: [H] float64 as the chart has it, which lists are sorted by; it is `features.score` but for float32 rounding.
    tokens: H rows of target ids; -1 - n stands for source word n, copied.
    features: of all derivations, computed from scratch.
    trees, place: parts of the lists, if they were kept, and [2, H] the part and the place there of each derivation.
    links: H rows of (source position, target position), if they were kept.
    """

    sentence: np.ndarray
    offsets: np.ndarray
    score: np.ndarray
    tokens: Ragged
    features: FeatureVectors
    trees: tuple[Rooted, ...]
    place: np.ndarray
    links: Ragged | None = None

    def derivation(self, number: int) -> Derivation:
        """Derivation `number` with its tree, for segmentation and word alignment."""
        assert self.trees, "these lists were made without keep_trees"
        part, place = self.place[:, number].tolist()
        return Derivation(self.trees[part].root(place), float(self.score[number]))


class _Part(NamedTuple):
    """The lists of some sentences of a batch: fields as in `NBestArrays`."""

    sentence: np.ndarray
    score: np.ndarray
    tokens: Ragged
    counts: DerivationCounts
    trees: Rooted | None
    links: Ragged | None


def nbest_arrays(
    decoder: Decoder, request: Request, size: int, distinct: bool = True, keep_trees: bool = False,
    keep_links: bool = False,
) -> NBestArrays:  # fmt: skip
    """Up to `size` derivations of every sentence, best first, with their features.

    distinct: of derivations with the same translation only the best.
    keep_trees: lets `NBestArrays.derivation` be called; the edges of all charts then stay in memory.
    keep_links: the derivations have their word links.
    """
    request = complete_request(request, decoder.rules, decoder.lms)
    parts: list[_Part] = []
    for source, found in _found(decoder, request, size, distinct):
        new = _parts(decoder, source, found, keep_links)
        parts += new if keep_trees else [part._replace(trees=None) for part in new]
    sentence = np.concatenate([np.zeros(0, np.int64), *(part.sentence for part in parts)])
    order = np.argsort(sentence, kind="stable")
    sentence = sentence[order]
    tokens = concatenate([ragged_from_rows([]), *(part.tokens for part in parts)]).take(order)
    counts = _joined([part.counts for part in parts], order, decoder)
    links = [part.links for part in parts if part.links is not None]
    return NBestArrays(
        sentence,
        np.searchsorted(sentence, np.arange(len(request.sentences) + 1)),
        np.concatenate([np.zeros(0), *(part.score for part in parts)])[order],
        tokens,
        feature_vectors(decoder, request, sentence, tokens, counts),
        tuple(part.trees for part in parts if part.trees is not None),
        _places([len(part.sentence) for part in parts])[:, order],
        concatenate([ragged_from_rows([], width=2), *links]).take(order) if keep_links else None,
    )


def nbest(decoder: Decoder, request: Request, size: int, distinct: bool = True) -> list[list[Derivation]]:
    """Up to `size` derivations of every sentence, best first, as trees; see `nbest_arrays`."""
    lists: list[list[Derivation]] = [[] for _ in range(len(request.sentences))]
    for source, parts in _found(decoder, request, size, distinct):
        for found in parts:
            trees, scores = source.trees(found), _scores(source, found).tolist()
            for number, row in enumerate(source.rows[found.sentence].tolist()):
                lists[row].append(Derivation(trees.root(number), scores[number]))
    return lists


def _found(
    decoder: Decoder, request: Request, size: int, distinct: bool
) -> Iterator[tuple[Source, list[Found]]]:
    for source in sources_of(decoder, request):
        ways = best_ways(source.graph, source.sides, source.side, size, distinct)
        yield source, [found for found in ways if len(found.way)]


def _scores(source: Source, found: Found) -> np.ndarray:
    """[H] float64"""
    graph, of = found.graph, found.sentence
    return (source.start_score() + graph.score)[of] - found.ways.loss[found.way] * graph.unit[of]


def _parts(decoder: Decoder, source: Source, parts: list[Found], keep_links: bool) -> list[_Part]:
    steps = [steps_of(found) for found in parts]
    features = _features_of_sides(decoder, source, parts, steps)
    return [
        _Part(
            source.rows[found.sentence],
            _scores(source, found),
            tokens_of(own, found.sides, found.ways.length[found.way]),
            source.counts(decoder, found, own, features),
            source.trees(found),
            _links(decoder, source, found, own) if keep_links else None,
        )
        for found, own in zip(parts, steps, strict=True)
    ]


def _links(decoder: Decoder, source: Source, found: Found, steps: Steps) -> Ragged:
    places = source.places(found, steps)
    return links_of(decoder.rules.grammar, found.sides, steps, places, len(found.way))


def _features_of_sides(decoder: Decoder, source: Source, parts: list[Found], steps: list[Steps]) -> np.ndarray:
    """[U + N, F] float64: the features of all sides that are rules and occur, else 0."""
    sides, profiles = source.sides, source.profiles
    profile = np.full(len(sides.pair), -1)  # entries are those of one profile
    for found, own in zip(parts, steps, strict=True):
        profile[own.side] = profiles.of_sentence[found.sentence[own.owner]]
    rules = np.flatnonzero((profile >= 0) & (sides.kind == RULE))
    features = np.zeros((len(sides.pair), len(decoder.rules.grammar.feature_names)))
    features[rules] = decoder.rules.features(sides.pair[rules], profile[rules], profiles.mixture)
    return features


def _places(lengths: list[int]) -> np.ndarray:
    """[2, H]: part, and place in the part."""
    return np.stack(numbered_runs(np.array(lengths, np.int64)))


def _joined(parts: Sequence[DerivationCounts], order: np.ndarray, decoder: Decoder) -> DerivationCounts:
    if not parts:
        rules = decoder.rules
        sums, none = np.zeros((0, len(rules.grammar.feature_names))), np.zeros(0, np.int64)
        num_models = 0 if decoder.operations is None else 1
        return DerivationCounts(sums, none, none, none, none, *no_reordering(rules, 0), np.zeros((0, num_models)))
    columns = {field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(parts[0])}
    return DerivationCounts(**{name: values[order] for name, values in columns.items()})
