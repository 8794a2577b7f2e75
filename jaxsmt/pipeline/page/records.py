"""What a page says of a run, as plain values: gathered in one place, shown in another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxsmt.model.explaining.explanation import Explanation
from jaxsmt.pipeline.store import StageRun
from jaxsmt.search.statistics import SearchCounts


@dataclass(frozen=True)
class Setup:
    """What was run, and where.

    told: the command line's own words; configuration: all of it, as YAML; versions: of what it ran with.
    stages: what they took; artefact folders by their names alone.
    """

    told: Sequence[str]
    configuration: str
    versions: Mapping[str, str]
    device: str
    stages: Sequence[StageRun] = ()


@dataclass(frozen=True)
class ComponentSizes:
    """None where a component was not made of text here."""

    name: str
    sentence_pairs: int | None
    source_words: int | None
    target_words: int | None
    rules: int
    word_pairs: int


@dataclass(frozen=True)
class WeightTable:
    """Weights as shares of their sum.

    title: what they weigh; columns: of the shares.
    rows: names (the label, a feature), shares and what else is known of the row, by `more`.
    """

    title: str
    names: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[tuple[Sequence[str], Sequence[float]]]
    more: Sequence[str] = ()
    more_rows: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class ClusterPicture:
    """Clusters of development sentences.

    sizes, shares: by cluster, of each set in it; points: sentences in a plane, some of them, with their clusters.
    """

    names: Sequence[str]
    sizes: Sequence[int]
    sets: Sequence[str] = ()
    shares: Sequence[Sequence[float]] = ()
    points: Sequence[tuple[float, float]] = ()
    groups: Sequence[int] = ()


@dataclass(frozen=True)
class TuningCurve:
    """iterations: rows as `jaxsmt.tune.loop.curve` writes them; chosen: the number of that whose weights were taken."""

    name: str
    iterations: Sequence[Mapping[str, Any]]
    chosen: int | None
    has_converged: bool


@dataclass(frozen=True)
class WayScores:
    """A set in one of the ways: scores in per cent, p-values against the first way by metric, the search's work."""

    bleu: float
    ter: float
    chrf: float
    p_values: Mapping[str, float] = field(default_factory=dict)
    unknown: int = 0
    search: SearchCounts | None = None


@dataclass(frozen=True)
class Sample:
    """A line with its translations by system; why it is shown; how some of them came about."""

    number: int
    source: str
    reference: str
    outputs: Mapping[str, str]
    why: str
    explanations: Mapping[str, Explanation] = field(default_factory=dict)


@dataclass(frozen=True)
class SetRecord:
    """A set that was translated; unknown_words: in the last way, most frequent first."""

    part: str
    name: str
    num_lines: int
    ways: Mapping[str, WayScores]
    unknown_words: Sequence[tuple[str, int]] = ()
    samples: Sequence[Sample] = ()


@dataclass(frozen=True)
class RunRecord:
    """All that the page of a run says.

    log_linear: heads and rows of the log-linear weights; test: of significance; signatures: sacrebleu's, by metric.
    perplexities: by language models, development set and weights; members: of bags, tables by part, heads first.
    """

    name: str
    languages: tuple[str, str]
    setup: Setup
    components: Sequence[ComponentSizes]
    weights: Sequence[WeightTable]
    log_linear: tuple[Sequence[str], Sequence[Sequence[str]]]
    clusters: ClusterPicture | None
    curves: Sequence[TuningCurve]
    sets: Sequence[SetRecord]
    test: str = ""
    signatures: Mapping[str, str] = field(default_factory=dict)
    perplexities: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    members: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
