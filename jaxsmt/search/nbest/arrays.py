"""n-best lists: the best derivations of every sentence with exact features, as arrays and as trees.

The search goes over all derivations that are in the chart, without a limit on their number: lists are shorter than
asked for only if the chart has no more (distinct) translations. What the chart left out, no list can have.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import Ragged, concatenate, numbered_runs, ragged_from_rows
from jaxsmt.search.decoder import DecodedBatch, Decoder, Request, complete_request
from jaxsmt.search.nbest.derivation import GLUE, RULE, SWAP, UNKNOWN_WORD, Derivation
from jaxsmt.search.nbest.hypergraph import hypergraph_of
from jaxsmt.search.nbest.kbest import Found, best_ways
from jaxsmt.search.nbest.rescoring import DerivationCounts, FeatureVectors, feature_vectors
from jaxsmt.search.nbest.sides import sides_of
from jaxsmt.search.nbest.unfold import Steps, Trees, steps_of, sums_by_owner, tokens_of
from jaxsmt.search.plan.forest import Sizes


@dataclass(frozen=True)
class NBestArrays:
    """n-best lists of B sentences, H derivations sentence by sentence, best first.

    sentence: [H] int64, rows of the request.
    offsets: [B + 1] int64: the list of sentence b is offsets[b]:offsets[b + 1].
    score: [H] float64 as the chart has it, which lists are sorted by; it is `features.score` but for float32 rounding.
    tokens: H rows of target ids; -1 - n stands for source word n, copied.
    features: of all derivations, computed from scratch.
    trees, place: parts of the lists, if they were kept, and [2, H] the part and the place there of each derivation.
    """

    sentence: np.ndarray
    offsets: np.ndarray
    score: np.ndarray
    tokens: Ragged
    features: FeatureVectors
    trees: tuple[Trees, ...]
    place: np.ndarray

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
    trees: Trees | None


def nbest_arrays(
    decoder: Decoder, request: Request, size: int, distinct: bool = True, keep_trees: bool = False,
    sizes: Sizes | None = None,
) -> NBestArrays:  # fmt: skip
    """Up to `size` derivations of every sentence, best first, with their features.

    distinct: of derivations with the same translation only the best.
    keep_trees: lets `NBestArrays.derivation` be called; the edges of all charts then stay in memory.
    sizes: static sizes of the batches, instead of chosen ones.
    """
    request = complete_request(request, decoder.rules)
    parts: list[_Part] = []
    for batch, found in _found(decoder, request, size, distinct, sizes):
        new = _parts(decoder, batch, found)
        parts += new if keep_trees else [part._replace(trees=None) for part in new]
    sentence = np.concatenate([np.zeros(0, np.int64), *(part.sentence for part in parts)])
    order = np.argsort(sentence, kind="stable")
    sentence = sentence[order]
    tokens = concatenate([ragged_from_rows([]), *(part.tokens for part in parts)]).take(order)
    counts = _joined([part.counts for part in parts], order, len(decoder.rules.grammar.feature_names))
    return NBestArrays(
        sentence,
        np.searchsorted(sentence, np.arange(len(request.sentences) + 1)),
        np.concatenate([np.zeros(0), *(part.score for part in parts)])[order],
        tokens,
        feature_vectors(decoder, request, sentence, tokens, counts),
        tuple(part.trees for part in parts if part.trees is not None),
        _places([len(part.sentence) for part in parts])[:, order],
    )


def nbest(
    decoder: Decoder, request: Request, size: int, distinct: bool = True, sizes: Sizes | None = None
) -> list[list[Derivation]]:
    """Up to `size` derivations of every sentence, best first, as trees; see `nbest_arrays`."""
    lists: list[list[Derivation]] = [[] for _ in range(len(request.sentences))]
    for batch, parts in _found(decoder, request, size, distinct, sizes):
        for found in parts:
            trees, scores = Trees(batch.reader, found), _scores(batch, found).tolist()
            for number, row in enumerate(batch.rows[found.sentence].tolist()):
                lists[row].append(Derivation(trees.root(number), scores[number]))
    return lists


def _found(
    decoder: Decoder, request: Request, size: int, distinct: bool, sizes: Sizes | None
) -> Iterator[tuple[DecodedBatch, list[Found]]]:
    for batch in _ahead(decoder.charts(request, sizes, keep_edges=True)):
        graph = hypergraph_of(batch.chart, batch.plan)
        sides, side = sides_of(batch.reader, graph.entry, batch.plan.cell_start[graph.cell])
        yield batch, [found for found in best_ways(graph, sides, side, size, distinct) if len(found.way)]


def _ahead(batches: Iterator[DecodedBatch]) -> Iterator[DecodedBatch]:
    """The same batches; each is asked for before the one before it is given out, so that the device has work."""
    last = next(batches, None)
    while last is not None:
        following = next(batches, None)
        yield last
        last = following


def _scores(batch: DecodedBatch, found: Found) -> np.ndarray:
    """[H] float64"""
    graph, of = found.graph, found.sentence
    start = batch.profiles.start_score[batch.profiles.of_sentence]
    return (start + graph.score)[of] - found.ways.loss[found.way] * graph.unit[of]


def _parts(decoder: Decoder, batch: DecodedBatch, parts: list[Found]) -> list[_Part]:
    steps = [steps_of(found) for found in parts]
    features = _features_of_sides(decoder, batch, parts, steps)
    return [
        _Part(
            batch.rows[found.sentence],
            _scores(batch, found),
            tokens_of(own, found.sides, found.ways.length[found.way]),
            _counts(found, own, features),
            Trees(batch.reader, found),
        )
        for found, own in zip(parts, steps, strict=True)
    ]


def _features_of_sides(decoder: Decoder, batch: DecodedBatch, parts: list[Found], steps: list[Steps]) -> np.ndarray:
    """[U + N, F] float64: the features of all sides that are rules and occur, else 0."""
    sides = parts[0].sides
    profile = np.full(len(sides.pair), -1)  # entries are those of one profile
    for found, own in zip(parts, steps, strict=True):
        profile[own.side] = batch.profiles.of_sentence[found.sentence[own.owner]]
    rules = np.flatnonzero((profile >= 0) & (sides.kind == RULE))
    features = np.zeros((len(sides.pair), len(decoder.rules.grammar.feature_names)))
    features[rules] = decoder.rules.features(sides.pair[rules], profile[rules], batch.profiles.mixture)
    return features


def _counts(found: Found, steps: Steps, features: np.ndarray) -> DerivationCounts:
    kind, num = found.sides.kind[steps.side], len(found.way)
    rules = np.flatnonzero(kind == RULE)
    return DerivationCounts(
        sums_by_owner(steps.owner[rules], features[steps.side[rules]], num),
        np.bincount(steps.owner, minlength=num) + 1,  # S → <s>
        np.bincount(steps.owner[kind == GLUE], minlength=num),
        np.bincount(steps.owner[kind == SWAP], minlength=num),
        np.bincount(steps.owner[kind == UNKNOWN_WORD], minlength=num),
    )


def _places(lengths: list[int]) -> np.ndarray:
    """[2, H]: part, and place in the part."""
    return np.stack(numbered_runs(np.array(lengths, np.int64)))


def _joined(parts: Sequence[DerivationCounts], order: np.ndarray, num_features: int) -> DerivationCounts:
    if not parts:
        return DerivationCounts(np.zeros((0, num_features)), *(np.zeros(0, np.int64) for _ in range(4)))
    columns = {field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(parts[0])}
    return DerivationCounts(**{name: values[order] for name, values in columns.items()})
