"""What is asked of a decoder: sentences with their weights, how to search, and the part that makes a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.ragged import Ragged
from jaxsmt.common.settings import check_choices, check_ranges
from jaxsmt.search.chart.rows import LOG_LINEAR, SearchLm
from jaxsmt.search.chart.structure import Beam
from jaxsmt.search.plan.forest import Layout
from jaxsmt.search.plan.matching import Matches
from jaxsmt.search.plan.planning import BatchSentences, check_forced
from jaxsmt.search.rules.model import RuleModel, num_orientations
from jaxsmt.search.stack.config import StackConfig
from jaxsmt.search.weights import Profiles, SearchWeights, distinct_profiles
from jaxsmt.text.vocabulary import UNKNOWN

KINDS = ("auto", "chart", "stack")


@dataclass(frozen=True)
class SearchConfig:
    """What the search may do.

    beam: how widely it searches.
    max_span: the longest span of a rule; above it only glue.
    table_limit: translations of a source side that are tried, the best ones under the weights at hand.
    swap_span: spans up to this many words may also be two blocks in order or swapped; 0 is never.
    drop_unknown: leaves unknown words out instead of copying them.
    kind: chart (CKY, any rules), stack (phrases that may move), or auto: stack for phrases, chart for rules with gaps.
    stack: of the stack search; beam, max_span and swap_span are the chart's.
    """

    beam: Beam = field(default_factory=Beam)
    max_span: int = 10
    table_limit: int = 20
    swap_span: int = 0
    drop_unknown: bool = False
    kind: str = "chart"
    stack: StackConfig = field(default_factory=StackConfig)

    def __post_init__(self) -> None:
        check_choices(self, "search", {"kind": KINDS})
        check_ranges(self, "search", {"max_span": (1, 200), "table_limit": (1, 2047), "swap_span": (0, 200)})
        if self.swap_span > self.max_span:
            raise UserError(
                f"search.swap_span is {self.swap_span} and search.max_span {self.max_span}: it cannot be longer"
            )

    def for_phrases(self, is_phrases: bool) -> "SearchConfig":
        """The search with a kind that suits rules without gaps, or with them, where it is to be found out."""
        return replace(self, kind="stack" if is_phrases else "chart") if self.kind == "auto" else self

    @property
    def own_features(self) -> tuple[str, ...]:
        """Names of the weights, of those that not every search has, that this one has."""
        if self.kind == "stack":
            return ("distortion", "reordering")
        return ("glue", "swap") if self.swap_span > 1 else ("glue",)


@dataclass(frozen=True)
class Request:
    """B sentences to translate.

    sentences: source ids (UNKNOWN where the rules' vocabulary lacks the word).
    copy_ids: [T] the same words as the language model knows them, for copying, or [T, N] as N models do; None: unknown.
    weights: log-linear weights.
    mixture: component weights λ, [4, D] for all sentences or [B, 4, D], of an ensemble [D] or [B, D]; None: equal ones,
        or nothing to mix.
    lm_mixture: [D] or [B, D] weights of the models in the language model; None where there is one model. Where there
        are several language models, a tuple of these.
    forced: (sentence, start, end) → target ids that the span must become.
    """

    sentences: Ragged
    copy_ids: np.ndarray | None = None
    weights: SearchWeights = field(default_factory=SearchWeights)
    mixture: Any = None
    lm_mixture: Any = None
    forced: Mapping[tuple[int, int, int], Sequence[int]] = field(default_factory=dict)


def complete_request(request: Request, rules: RuleModel, lms: Sequence[SearchLm]) -> Request:
    """The request with everything given for each sentence and for each of N language models, checked."""
    num, num_lm_features = len(request.sentences), sum(lm.num_features for lm in lms)
    check_forced(request.forced, request.sentences.lengths)
    return replace(
        request,
        copy_ids=_copy_ids(request, len(lms)),
        weights=request.weights.of_sentences(
            num, len(rules.grammar.feature_names), num_orientations(rules), num_lm_features
        ),
        mixture=rules.check_mixture(request.mixture, num),
        lm_mixture=_lm_mixtures(request.lm_mixture, lms, num),
    )


def mixture_rows(lm_mixture: Sequence[np.ndarray | None], rows: np.ndarray) -> tuple[np.ndarray | None, ...]:
    """The weights of some sentences, from a complete request's."""
    return tuple(None if part is None else part[rows] for part in lm_mixture)


def _copy_ids(request: Request, num_lms: int) -> np.ndarray:
    """[T, N]"""
    shape, given = (len(request.sentences.values), num_lms), request.copy_ids
    if given is None:
        return np.full(shape, UNKNOWN, np.int32)
    if np.shape(given) != shape and (num_lms > 1 or np.shape(given) != shape[:1]):
        found = list(np.shape(given))
        raise UserError(f"copy_ids has shape {found}: give {shape[0]} words as the {num_lms} models know them")
    return np.asarray(given).reshape(shape)


def _lm_mixtures(given: Any, lms: Sequence[SearchLm], num_sentences: int) -> tuple[np.ndarray | None, ...]:
    """For each language model [B, D] float32, or None where it needs none."""
    is_by_lm = isinstance(given, tuple) and all(part is None or np.ndim(part) for part in given)
    parts = given if is_by_lm else (given,) + (None,) * (len(lms) - 1)
    if len(parts) != len(lms):
        raise UserError(f"lm_mixture has {len(parts)} parts: give one for each of the {len(lms)} language models")
    return tuple(_lm_mixture(part, lm, num_sentences) for part, lm in zip(parts, lms, strict=True))


def _lm_mixture(given: Any, lm: SearchLm, num_sentences: int) -> np.ndarray | None:
    num = lm.automaton.num_models
    if lm.has_mixture and np.shape(given)[-1:] != (num,):
        raise UserError(f"there are {num} language models: give {num} weights for them (lm_mixture)")
    if given is None or lm.combination == LOG_LINEAR:
        return None
    return np.broadcast_to(np.asarray(given, np.float32), (num_sentences, num))


class RequestPart(NamedTuple):
    """Consecutive sentences of a complete request, numbered from 0.

    copy_ids: [T, N] their words as each language model knows them; forced: as in `Request`.
    """

    lengths: np.ndarray
    matches: Matches
    profiles: Profiles
    copy_ids: Ragged
    forced: dict[tuple[int, int, int], Sequence[int]]

    def batch(self, lm_ids: Sequence[np.ndarray], longest: int) -> BatchSentences:
        """As rules are planned for them; lm_ids: of target words, by model; longest: span that anything covers."""
        forced_lm = {
            key: [own[list(ids)].tolist() if len(ids) else [] for own in lm_ids] for key, ids in self.forced.items()
        }
        return BatchSentences(Layout(self.lengths, longest), self.profiles, self.copy_ids, self.forced, forced_lm)


class MatchedRequest(NamedTuple):
    """A complete request, what its sentences match, and whether edges are to be kept for n-best lists."""

    request: Request
    matches: Matches
    keep_edges: bool


def part_of(whole: MatchedRequest, rows: np.ndarray) -> RequestPart:
    """Sentences `rows` of a complete request with their matches."""
    request, matches, _ = whole
    assert request.copy_ids is not None
    first = int(rows[0])
    begin, end = np.searchsorted(matches.sentence, [first, rows[-1] + 1])
    own = matches.take(np.arange(begin, end))
    profiles = distinct_profiles(
        request.weights.rows(rows),
        None if request.mixture is None else request.mixture[rows],
        mixture_rows(request.lm_mixture, rows),
    )
    return RequestPart(
        request.sentences.lengths[rows],
        replace(own, sentence=own.sentence - first),
        profiles,
        Ragged(request.copy_ids, request.sentences.offsets).take(rows),
        {(row - first, start, stop): ids for (row, start, stop), ids in request.forced.items() if row in rows},
    )
