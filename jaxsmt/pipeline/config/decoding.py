"""The configuration of decoding; apart from all others, so that decoding loads nothing that trains."""

from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.adapt.consensus.config import ConsensusConfig
from jaxsmt.common.device import DeviceConfig
from jaxsmt.common.errors import UserError
from jaxsmt.common.integrity.limits import InputLimits
from jaxsmt.lm.rescoring import RescoringConfig
from jaxsmt.pipeline.config.rooms import overrides_schema_of, schema_of
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.search.weights import SearchWeights


@dataclass
class WeightsSchema:
    """Log-linear weights, one vector for all text; see `SearchWeights`, whose defaults they have."""

    rule: tuple[float, ...] = SearchWeights.rule
    lm: Any = SearchWeights.lm  # a number, or one for each feature of a language model
    word_penalty: float = SearchWeights.word_penalty
    phrase_penalty: float = SearchWeights.phrase_penalty
    glue: float = SearchWeights.glue
    swap: float = SearchWeights.swap
    unknown: float = SearchWeights.unknown
    distortion: float = SearchWeights.distortion
    reordering: tuple[float, ...] = SearchWeights.reordering


@dataclass(frozen=True)
class FinishedTextConfig(BpaConfig):
    """How a model is adapted to finished translations.

    memory: their phrases are further components, one of the file's own texts and one of another file's.
    votes: lists are reranked by weight vectors that translate the finished texts well, where that helps.
    lines: so many lines of either file are adapted to, taken at equal steps.
    nbest: length of the lists, those adapted to and those reranked.
    """

    sampler: str = "laplace"
    memory: bool = True
    votes: bool = True
    lines: int = 1000
    nbest: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("lines", "nbest"):
            if getattr(self, name) < 1:
                raise UserError(f"adapt.{name} is {getattr(self, name)}: give at least 1")


DeviceSchema = schema_of(DeviceConfig)
LimitsSchema = schema_of(InputLimits)
SearchOverrides = overrides_schema_of(SearchConfig)
WeightsOverrides = overrides_schema_of(WeightsSchema)
RescoringOverrides = overrides_schema_of(RescoringConfig)
FinishedTextSchema = schema_of(FinishedTextConfig)
ConsensusOverrides = overrides_schema_of(ConsensusConfig)


@dataclass
class DecodeSchema:
    """Everything decode.py can be told."""

    model_dir: str = MISSING
    input: str = "-"
    output: str = "-"
    stream: bool | None = None
    shards: int | None = None
    shard: int | None = None
    processes: int = 2
    format: str = "auto"
    source_column: int = 1
    target_column: int = 2
    accelerators: str = "&"
    language_check: bool = True
    adapt_to_file: bool = False
    adapt_memory: str | None = None
    adapt: FinishedTextSchema = field(default_factory=FinishedTextSchema)  # type: ignore[valid-type]
    domain: str | None = None
    labels: str | None = None
    labels_output: str | None = None
    adapted: bool = True
    segmenters: list[str] = field(default_factory=list)
    component_weights: list[float] | None = None
    lm_mixture: list[float] | None = None
    glossary: str | None = None
    nbest: int = 0
    nbest_output: str | None = None
    explain: bool = False
    explain_output: str | None = None
    alignments: str | None = None
    unknown_words: str | None = None
    check: bool = False
    check_output: str | None = None
    search: SearchOverrides = field(default_factory=SearchOverrides)  # type: ignore[valid-type]
    weights: WeightsOverrides = field(default_factory=WeightsOverrides)  # type: ignore[valid-type]
    rescore: RescoringOverrides = field(default_factory=RescoringOverrides)  # type: ignore[valid-type]
    consensus: ConsensusOverrides = field(default_factory=ConsensusOverrides)  # type: ignore[valid-type]
    device: DeviceSchema = field(default_factory=DeviceSchema)  # type: ignore[valid-type]
    limits: LimitsSchema = field(default_factory=LimitsSchema)  # type: ignore[valid-type]
    quiet: bool = False
    debug: bool = False


def register_decode_schema() -> None:
    """Makes the schema of decoding known to Hydra."""
    ConfigStore.instance().store(name="decode_schema", node=DecodeSchema)
