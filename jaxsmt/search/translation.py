"""Translations of sentences of any length: long ones are cut at punctuation, decoded part by part and joined."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from jaxsmt.common.progress import log
from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.search.decoder import Decoder, Request, complete_request
from jaxsmt.search.nbest.derivation import Derivation
from jaxsmt.search.request import mixture_rows

MAX_WORDS = 128  # longer sentences are cut


@dataclass(frozen=True)
class Translation:
    """One sentence's translation; more than one part where the sentence was cut.

    parts: derivations of the parts, in order.
    starts: source position at which each part begins.
    """

    parts: tuple[Derivation, ...]
    starts: tuple[int, ...]

    @property
    def score(self) -> float:
        """w·h, summed over the parts."""
        return sum(part.score for part in self.parts)

    @property
    def tokens(self) -> tuple[int, ...]:
        """Target ids; -1 - n stands for source word n, copied."""
        return tuple(
            token - start if token < 0 else token
            for part, start in zip(self.parts, self.starts, strict=True)
            for token in part.tokens
        )

    @property
    def alignment(self) -> list[tuple[int, int]]:
        """(source position, target position), sorted."""
        links, done = [], 0
        for part, start in zip(self.parts, self.starts, strict=True):
            links += [(source + start, target + done) for source, target in part.alignment]
            done += len(part.tokens)
        return sorted(links)

    @property
    def segments(self) -> list[tuple[int, int, int]]:
        """(source start, source end, number of target words), see `Derivation.segments`."""
        return [
            (begin + start, end + start, size)
            for part, start in zip(self.parts, self.starts, strict=True)
            for begin, end, size in part.segments
        ]

    @property
    def unknown_positions(self) -> list[int]:
        """Source positions that nobody could translate."""
        return [
            place + start
            for part, start in zip(self.parts, self.starts, strict=True)
            for place in part.unknown_positions
        ]


def translate(
    decoder: Decoder, request: Request, break_ids: Sequence[int] = (), max_words: int = MAX_WORDS
) -> list[Translation]:
    """The best translation of every sentence, none is left out.

    break_ids: source words after which a sentence of more than `max_words` words may be cut.
    """
    cut, rows, starts = cut_request(decoder, request, break_ids, max_words)
    found = decoder.translate(cut)
    return [
        Translation(tuple(found[part] for part in parts), tuple(starts[parts].tolist()))
        for parts in _parts_of(rows, len(request.sentences))
    ]


def translate_nbest(
    decoder: Decoder,
    request: Request,
    size: int,
    distinct: bool = True,
    break_ids: Sequence[int] = (),
    max_words: int = MAX_WORDS,
) -> list[list[Translation]]:
    """Up to `size` translations of every sentence, best first."""
    if size == 1:  # what lists are made from, a program of its own, is not needed
        return [[best] for best in translate(decoder, request, break_ids, max_words)]
    from jaxsmt.search.nbest.arrays import nbest  # who asks for the best alone need not load lists

    cut, rows, starts = cut_request(decoder, request, break_ids, max_words)
    found = nbest(decoder, cut, size, distinct)
    lists = []
    for parts in _parts_of(rows, len(request.sentences)):
        combined = _combine([found[part] for part in parts], size)
        lists.append([Translation(item, tuple(starts[parts].tolist())) for item in combined])
    return lists


def cut_request(
    decoder: Decoder, request: Request, break_ids: Sequence[int], max_words: int
) -> tuple[Request, np.ndarray, np.ndarray]:
    """The request in parts of at most `max_words` words; of each part its sentence and the position it begins at."""
    rows, starts, ends = [], [], []
    for row in range(len(request.sentences)):
        bounds = _bounds(request, row, frozenset(break_ids), max_words)
        if len(bounds) > 2:
            log.info("sentence %d has %d words: it is translated in %d parts", row + 1, bounds[-1], len(bounds) - 1)
        rows += [row] * (len(bounds) - 1)
        starts += bounds[:-1]
        ends += bounds[1:]
    of, begin = np.array(rows, np.int64), np.array(starts, np.int64)
    if len(of) == len(request.sentences):
        return request, of, begin
    full = complete_request(request, decoder.rules, decoder.lms)
    place_of = {(row, start): place for place, (row, start) in enumerate(zip(rows, starts, strict=True))}
    forced = {}
    for (row, start, end), ids in request.forced.items():
        own = max(at for at in begin[of == row].tolist() if at <= start)
        forced[place_of[row, own], start - own, end - own] = ids
    return (
        replace(
            full,
            sentences=Ragged(request.sentences.values, offsets_of(np.array(ends, np.int64) - begin)),
            weights=full.weights.rows(of),
            mixture=None if full.mixture is None else full.mixture[of],
            lm_mixture=mixture_rows(full.lm_mixture, of),
            forced=forced,
        ),
        of,
        begin,
    )


def _bounds(request: Request, row: int, breaks: frozenset[int], max_words: int) -> list[int]:
    """0, the places to cut at, and the sentence's length."""
    words = request.sentences[row]
    if len(words) <= max_words:
        return [0, len(words)]
    inside = {place for (at, start, end) in request.forced if at == row for place in range(start + 1, end)}
    bounds = [0]
    while len(words) - bounds[-1] > max_words:
        last = bounds[-1] + max_words
        allowed = [place for place in range(last, bounds[-1], -1) if place not in inside]
        after_break = [place for place in allowed if int(words[place - 1]) in breaks]
        bounds.append((after_break or allowed or [last])[0])
    return [*bounds, len(words)]


def _parts_of(rows: np.ndarray, num_sentences: int) -> list[list[int]]:
    bounds = np.searchsorted(rows, np.arange(num_sentences + 1)).tolist()
    return [list(range(begin, end)) for begin, end in pairwise(bounds)]


def _combine(lists: list[list[Derivation]], size: int) -> list[tuple[Derivation, ...]]:
    """The best combinations of one derivation from each list."""
    heap = [(-sum(options[0].score for options in lists), (0,) * len(lists))]
    seen = {heap[0][1]}
    combined: list[tuple[Derivation, ...]] = []
    while heap and len(combined) < size:
        loss, ranks = heapq.heappop(heap)
        combined.append(tuple(options[rank] for options, rank in zip(lists, ranks, strict=True)))
        for place, options in enumerate(lists):
            longer = tuple(rank + (place == number) for number, rank in enumerate(ranks))
            if longer[place] < len(options) and longer not in seen:
                seen.add(longer)
                heapq.heappush(heap, (loss + options[ranks[place]].score - options[longer[place]].score, longer))
    return combined
