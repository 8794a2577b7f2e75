"""The configuration of the commands that are rooms by themselves: align, extract, lm."""

from dataclasses import dataclass, field

from hydra.core.config_store import ConfigStore

from jaxsmt.lm.config import LmConfig
from jaxsmt.pipeline.config.decoding import DeviceSchema, LimitsSchema
from jaxsmt.pipeline.config.rooms import schema_of
from jaxsmt.pipeline.config.schemas import AlignSchema, ClusterSchema, ExtractSchema, TextSchema

LmSchema = schema_of(LmConfig)


@dataclass
class PairsSchema:
    """A parallel text: two files, or one whose lines have both sides."""

    source: str | None = None
    target: str | None = None
    input: str = "-"
    source_language: str = ""
    target_language: str = ""
    text: TextSchema = field(default_factory=TextSchema)
    cluster: ClusterSchema = field(default_factory=ClusterSchema)
    device: DeviceSchema = field(default_factory=DeviceSchema)
    limits: LimitsSchema = field(default_factory=LimitsSchema)
    quiet: bool = False
    debug: bool = False


@dataclass
class AlignCommandSchema(PairsSchema):
    """Everything `jaxsmt align` can be told."""

    output: str = "-"
    aligner: str | None = None
    aligner_output: str | None = None
    align: AlignSchema = field(default_factory=AlignSchema)


@dataclass
class ExtractCommandSchema(PairsSchema):
    """Everything `jaxsmt extract` can be told."""

    alignment: str | None = None
    output: str | None = None
    extract: ExtractSchema = field(default_factory=ExtractSchema)


@dataclass
class LmCommandSchema:
    """Everything `jaxsmt lm` can be told."""

    input: str = "-"
    output: str | None = "-"
    model: str | None = None
    perplexity: str | None = None
    language: str = ""
    text: TextSchema = field(default_factory=TextSchema)
    estimation: LmSchema = field(default_factory=LmSchema)  # type: ignore[valid-type]
    cluster: ClusterSchema = field(default_factory=ClusterSchema)
    device: DeviceSchema = field(default_factory=DeviceSchema)
    limits: LimitsSchema = field(default_factory=LimitsSchema)
    quiet: bool = False
    debug: bool = False


def register_room_schemas() -> None:
    """Makes the schemas known to Hydra."""
    store = ConfigStore.instance()
    store.store(name="align_schema", node=AlignCommandSchema)
    store.store(name="extract_schema", node=ExtractCommandSchema)
    store.store(name="lm_schema", node=LmCommandSchema)
