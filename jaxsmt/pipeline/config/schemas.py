"""The configuration: one schema a command for Hydra, made from the rooms' own frozen dataclasses.

`conf/*.yaml` gives the values and explains them; here is what exists, with types. A key that is not in the schema
is an error.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from jaxsmt.align.model import AlignConfig
from jaxsmt.common.cluster.config import WorkersConfig
from jaxsmt.common.errors import UserError
from jaxsmt.evaluate.compare import CompareConfig
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.lm.classes.exchange import ExchangeConfig
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.mixture import MixtureConfig
from jaxsmt.lm.rescoring import RescoringFiles
from jaxsmt.model.language_models import FIRST
from jaxsmt.model.mixing import MixingConfig
from jaxsmt.model.rescoring import RescoringTraining
from jaxsmt.pipeline.config.decoding import DeviceSchema, LimitsSchema, WeightsSchema, register_decode_schema
from jaxsmt.pipeline.config.launch import explain
from jaxsmt.pipeline.config.rooms import plain, schema_of
from jaxsmt.pipeline.jobs.study_config import StudyConfig
from jaxsmt.pipeline.store import StoreConfig
from jaxsmt.search.chart.rows import COMBINATIONS, LINEAR
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.search.stack.operations.appending import NAME as OSM_FEATURE
from jaxsmt.text.encoding import TextConfig
from jaxsmt.text.reading import BitextSource
from jaxsmt.tm.provenance import Provenance
from jaxsmt.tune.loop import LoopConfig


@dataclass(frozen=True)
class TmConfig:
    """Component statistics.

    pairs_per_source: the most frequent translations kept per source side and component; null keeps all.
    folders: component folders made before, by name, that join those trained now.
    tables, lexical: Moses tables with a counts column, and the prefixes of their word counts, by name.
    export: writes all components as Moses tables to <output_dir>/moses.
    provenance: features of the rules in each component: 'none'; 'seen': whether it has them; 'counts': how often.
    count_bins: bins of such counts, see `Provenance`.
    """

    pairs_per_source: int | None = None
    folders: dict[str, str] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    lexical: dict[str, str] = field(default_factory=dict)
    export: bool = False
    provenance: str = "none"
    count_bins: tuple[float, ...] = (1.0, 3.0, 15.0)

    def __post_init__(self) -> None:
        if self.provenance not in ("none", "seen", "counts"):
            raise UserError(f"tm.provenance is '{self.provenance}': choose one of none, seen, counts")
        Provenance(self.count_bins)  # checks them
        if self.pairs_per_source is not None and self.pairs_per_source < 1:
            raise UserError(f"tm.pairs_per_source is {self.pairs_per_source}: give a number of at least 1, or null")

    @property
    def features_of_counts(self) -> Provenance | None:
        """What `provenance` asks for."""
        if self.provenance == "none":
            return None
        return Provenance(self.count_bins if self.provenance == "counts" else ())


@dataclass(frozen=True)
class LinksConfig:
    """Where word alignments come from.

    scope: 'joint' trains one aligner on the text of all components, 'separate' one for each.
    files: Pharaoh files by component, instead of training.
    development: Pharaoh files by development set, instead of aligning them with what was trained.
    aligner: the folder of an aligner trained before, instead of training.
    further: settings of aligners (`AlignConfig`), by names of their own, whose links phrases are taken from as well.
    export: writes all links as Pharaoh files to <output_dir>/links.
    """

    scope: str = "joint"
    files: dict[str, str] = field(default_factory=dict)
    development: dict[str, str] = field(default_factory=dict)
    aligner: str | None = None
    further: dict[str, Any] = field(default_factory=dict)
    export: bool = False

    def __post_init__(self) -> None:
        if self.scope not in ("joint", "separate"):
            raise UserError(f"links.scope is '{self.scope}': set it to joint or separate")


CLASS_MODEL = "classes"  # the name of the feature


@dataclass(frozen=True)
class ClassModelConfig:
    """Language models of word classes.

    num_classes: how many classes; 0 makes no such models.
    iterations, min_gain: when the exchange algorithm that finds the classes ends; see `ExchangeConfig`.
    estimation: how each component's model is estimated; combination: as in `LanguageModelConfig`.
    """

    num_classes: int = 0
    iterations: int = ExchangeConfig.iterations
    min_gain: float = ExchangeConfig.min_gain
    combination: str = LINEAR
    estimation: LmConfig = field(default_factory=LmConfig)

    def __post_init__(self) -> None:
        if self.combination not in COMBINATIONS:
            choices = ", ".join(COMBINATIONS)
            raise UserError(f"lm.classes.combination is '{self.combination}': choose one of {choices}")
        if self.num_classes < 0:
            raise UserError(f"lm.classes.num_classes is {self.num_classes}: give 1 or more, or 0 for no classes")
        if self.num_classes:
            self.exchange  # noqa: B018 - checks the rest

    @property
    def exchange(self) -> ExchangeConfig:
        return ExchangeConfig(self.num_classes, self.iterations, self.min_gain)


@dataclass(frozen=True)
class LanguageModelConfig:
    """Language models of the target side.

    estimation: how each component's model is estimated; mixture: how their weights are fitted.
    arpas: ARPA files by name that join the models estimated here.
    joint: one more model, of all components' text as if it were one; text without a label takes it alone.
    combination: 'linear': a mixture of them is one feature; 'loglinear': each is a feature of its own; 'both'.
    further: ARPA files, or folders lm/ of other models, by name, each a feature of its own.
    static: mixtures are computed beforehand, one model for each development set and label; the decoder switches.
    export: writes all models and mixtures as ARPA files to <output_dir>/lm.
    classes: models of word classes beside those of words.
    osm: an operation sequence model is one more feature of the stack search.
    """

    estimation: LmConfig = field(default_factory=LmConfig)
    classes: ClassModelConfig = field(default_factory=ClassModelConfig)
    mixture: MixtureConfig = field(default_factory=MixtureConfig)
    arpas: dict[str, str] = field(default_factory=dict)
    joint: bool = False
    combination: str = LINEAR
    further: dict[str, str] = field(default_factory=dict)
    static: bool = False
    export: bool = False
    osm: bool = False

    def __post_init__(self) -> None:
        if self.combination not in COMBINATIONS:
            raise UserError(f"lm.combination is '{self.combination}': choose one of {', '.join(COMBINATIONS)}")
        if self.static and self.combination != LINEAR:
            raise UserError(f"lm.static mixes beforehand, and lm.combination is '{self.combination}': leave one out")
        for name in self.further:
            if name == FIRST or not name.replace("-", "").replace("_", "").isalnum():
                raise UserError(f"lm.further has '{name}': use letters, digits, '-' and '_', and not '{FIRST}' alone")
        if self.osm and OSM_FEATURE in self.further:
            raise UserError(f"'{OSM_FEATURE}' is the name of the operation models (lm.osm): rename it in lm.further")
        if self.classes.num_classes and CLASS_MODEL in self.further:
            raise UserError(f"'{CLASS_MODEL}' is the name of the class models (lm.classes): rename it in lm.further")


BitextSchema = schema_of(BitextSource)
TextSchema = schema_of(TextConfig)
AlignSchema = schema_of(AlignConfig)
ClusterSchema = schema_of(WorkersConfig)
LinksSchema = schema_of(LinksConfig)
ExtractSchema = schema_of(ExtractConfig)
TmSchema = schema_of(TmConfig)
MixingSchema = schema_of(MixingConfig)
LanguageModelSchema = schema_of(LanguageModelConfig)
SearchSchema = schema_of(SearchConfig)
CompareSchema = schema_of(CompareConfig)
LoopSchema = schema_of(LoopConfig)
RescoringSchema = schema_of(RescoringTraining)
StoreSchema = schema_of(StoreConfig)
StudySchema = schema_of(StudyConfig)
RescoringFilesSchema = schema_of(RescoringFiles)


@dataclass
class CorpusSchema:
    """The parallel texts: one training bitext per component, and texts to develop and test on.

    A bitext has the keys of `BitextSource`; `bitext_source` checks them, since Hydra cannot add single keys to a
    typed entry (+corpus.components.law.source=law.fr).
    language_check: stops a training whose texts have their sides swapped, or both in one language.
    groups: names of sets that a comparison scores together as well, by the name of the group.
    """

    name: str = MISSING
    demo: bool = False
    source_language: str = MISSING
    target_language: str = MISSING
    language_check: bool = True
    components: dict[str, Any] = field(default_factory=dict)
    dev: dict[str, Any] = field(default_factory=dict)
    adapt: dict[str, Any] = field(default_factory=dict)
    test: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class TrainSchema:
    """Everything train.py can be told."""

    corpus: CorpusSchema = field(default_factory=CorpusSchema)
    text: TextSchema = field(default_factory=TextSchema)  # type: ignore[valid-type]
    align: AlignSchema = field(default_factory=AlignSchema)  # type: ignore[valid-type]
    links: LinksSchema = field(default_factory=LinksSchema)  # type: ignore[valid-type]
    extract: ExtractSchema = field(default_factory=ExtractSchema)  # type: ignore[valid-type]
    lm: LanguageModelSchema = field(default_factory=LanguageModelSchema)  # type: ignore[valid-type]
    tm: TmSchema = field(default_factory=TmSchema)  # type: ignore[valid-type]
    mixture: MixingSchema = field(default_factory=MixingSchema)  # type: ignore[valid-type]
    search: SearchSchema = field(default_factory=SearchSchema)  # type: ignore[valid-type]
    weights: WeightsSchema = field(default_factory=WeightsSchema)
    tune: dict[str, Any] = field(default_factory=dict)
    adapt: dict[str, Any] = field(default_factory=dict)
    consensus: dict[str, Any] = field(default_factory=dict)
    evaluate: CompareSchema = field(default_factory=CompareSchema)  # type: ignore[valid-type]
    rescore: RescoringSchema = field(default_factory=RescoringSchema)  # type: ignore[valid-type]
    store: StoreSchema = field(default_factory=StoreSchema)  # type: ignore[valid-type]
    nbest_size: int = 100
    tune_sentences: int | None = None
    loop: LoopSchema = field(default_factory=LoopSchema)  # type: ignore[valid-type]
    translate: list[str] = field(default_factory=lambda: ["dev", "test"])
    all_ways: bool = True
    report: bool = True
    check: bool = False
    check_output: str | None = None
    work_dir: str = MISSING
    output_dir: str = MISSING
    cluster: ClusterSchema = field(default_factory=ClusterSchema)  # type: ignore[valid-type]
    device: DeviceSchema = field(default_factory=DeviceSchema)
    limits: LimitsSchema = field(default_factory=LimitsSchema)
    quiet: bool = False
    debug: bool = False


@dataclass
class ExperimentSchema:
    """Everything `jaxsmt experiment` can be told; `read_experiment` checks what an experiment has."""

    experiment: dict[str, Any] = field(default_factory=dict)
    corpus: CorpusSchema = field(default_factory=CorpusSchema)
    evaluate: CompareSchema = field(default_factory=CompareSchema)  # type: ignore[valid-type]
    train: dict[str, Any] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=lambda: [1])
    work_dir: str = MISSING
    output_dir: str = MISSING
    page: str = MISSING
    device: DeviceSchema = field(default_factory=DeviceSchema)
    limits: LimitsSchema = field(default_factory=LimitsSchema)
    quiet: bool = False
    debug: bool = False


@dataclass
class SweepSchema:
    """Everything `jaxsmt sweep` can be told; `read_space` checks what a space has."""

    space: dict[str, Any] = field(default_factory=dict)
    study: StudySchema = field(default_factory=StudySchema)  # type: ignore[valid-type]
    corpus: CorpusSchema = field(default_factory=CorpusSchema)
    train: list[str] = field(default_factory=list)
    keep_models: bool = False
    job: int = 1
    work_dir: str = MISSING
    output_dir: str = MISSING
    device: DeviceSchema = field(default_factory=DeviceSchema)
    limits: LimitsSchema = field(default_factory=LimitsSchema)
    quiet: bool = False
    debug: bool = False


@dataclass
class ListTuningSchema:
    """Everything list_tuning can be told."""

    nbest: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    start: dict[str, float] = field(default_factory=dict)
    output: str | None = None
    rescore: RescoringFilesSchema = field(default_factory=RescoringFilesSchema)  # type: ignore[valid-type]
    tune: dict[str, Any] = field(default_factory=dict)
    device: DeviceSchema = field(default_factory=DeviceSchema)
    limits: LimitsSchema = field(default_factory=LimitsSchema)
    quiet: bool = False
    debug: bool = False


@dataclass
class ListAdaptationSchema:
    """Everything list_adaptation can be told."""

    adaptation_nbest: list[str] = field(default_factory=list)
    adaptation_references: list[str] = field(default_factory=list)
    dev_nbest: list[str] = field(default_factory=list)
    dev_references: list[str] = field(default_factory=list)
    nbest: list[str] = field(default_factory=list)
    online: bool = False
    references: list[str] = field(default_factory=list)
    weights_file: str | None = None
    rescore: RescoringFilesSchema = field(default_factory=RescoringFilesSchema)  # type: ignore[valid-type]
    output: str | None = None
    member_weights: str | None = None
    adapt: dict[str, Any] = field(default_factory=dict)
    device: DeviceSchema = field(default_factory=DeviceSchema)
    limits: LimitsSchema = field(default_factory=LimitsSchema)
    quiet: bool = False
    debug: bool = False


@dataclass
class ListConsensusSchema:
    """Everything consensus_lists can be told."""

    nbest: list[str] = field(default_factory=list)
    dev_nbest: list[str] = field(default_factory=list)
    dev_references: list[str] = field(default_factory=list)
    weights_file: str | None = None
    output: str | None = None
    consensus: dict[str, Any] = field(default_factory=dict)
    device: DeviceSchema = field(default_factory=DeviceSchema)
    limits: LimitsSchema = field(default_factory=LimitsSchema)
    quiet: bool = False
    debug: bool = False


@dataclass
class ComparisonSchema:
    """Everything comparison can be told."""

    references: list[str] = field(default_factory=list)
    systems: dict[str, Any] = field(default_factory=dict)
    evaluate: CompareSchema = field(default_factory=CompareSchema)  # type: ignore[valid-type]
    device: DeviceSchema = field(default_factory=DeviceSchema)
    limits: LimitsSchema = field(default_factory=LimitsSchema)
    quiet: bool = False
    debug: bool = False


def register_schemas() -> None:
    """Makes the schemas known to Hydra, under names the yaml files begin their defaults with."""
    store = ConfigStore.instance()
    store.store(name="train_schema", node=_with_open_nodes(TrainSchema, "tune", "adapt", "consensus"))
    register_decode_schema()
    store.store(name="tune_lists_schema", node=_with_open_nodes(ListTuningSchema, "tune"))
    store.store(name="adapt_lists_schema", node=_with_open_nodes(ListAdaptationSchema, "adapt"))
    store.store(name="consensus_lists_schema", node=_with_open_nodes(ListConsensusSchema, "consensus"))
    store.store(name="compare_schema", node=ComparisonSchema)
    store.store(name="experiment_schema", node=_with_open_nodes(ExperimentSchema, "train"))
    store.store(name="sweep_schema", node=_with_open_nodes(SweepSchema, "space"))


def _with_open_nodes(schema: type, *groups: str) -> DictConfig:
    """The schema, with groups whose keys differ from choice to choice: `named_room` checks them.

    A sweep over choices first composes the default one, and must not miss the others' keys there.
    """
    config = OmegaConf.structured(schema)
    for group in groups:
        OmegaConf.set_struct(config[group], False)
    return config


def bitext_source(config: DictConfig, part: str, name: str) -> BitextSource:
    """The bitext corpus.<part>.<name>; its languages are those of the corpus unless it has its own."""
    key = f"corpus.{part}.{name}"
    languages = {side: config.corpus[side] for side in ("source_language", "target_language")}
    given = config.corpus[part][name]
    if given is not None and not OmegaConf.is_dict(given):
        raise UserError(f"{key} is '{given}': give it two files, {key}.source and {key}.target, or one, {key}.path")
    try:
        node = OmegaConf.merge(OmegaConf.structured(BitextSchema), languages, given or {})
        return BitextSource(**plain(node))
    except OmegaConfBaseException as error:
        known = [column.name for column in dataclasses.fields(BitextSource)]
        raise UserError(f"{key}: {explain(error, known)}") from None
    except UserError as error:
        raise UserError(f"{key}: {error}") from None
