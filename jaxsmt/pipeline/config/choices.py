"""What a training was told, room by room, in the rooms' own dataclasses."""

from dataclasses import dataclass, replace
from typing import Any

from omegaconf import DictConfig, OmegaConf

from jaxsmt.adapt.consensus.config import ConsensusTraining
from jaxsmt.align.model import AlignConfig
from jaxsmt.common.errors import UserError
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.model.mixing import MixingConfig
from jaxsmt.model.rescoring import RescoringTraining
from jaxsmt.pipeline.config.adapters import AdapterConfig, adapter_config
from jaxsmt.pipeline.config.consensus import consensus_config
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.config.schemas import LanguageModelConfig, LinksConfig, TmConfig
from jaxsmt.pipeline.config.texts import text_config
from jaxsmt.pipeline.config.tuners import tuner_or_none
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.encoding import TextConfig


@dataclass(frozen=True)
class Choices:
    """One field a group of conf/; None where a group says 'none'."""

    text: TextConfig
    align: AlignConfig
    links: LinksConfig
    extract: ExtractConfig
    tm: TmConfig
    lm: LanguageModelConfig
    mixture: MixingConfig
    search: SearchConfig
    weights: SearchWeights
    rescore: RescoringTraining
    tuner: Any | None
    adapter: AdapterConfig | None
    consensus: ConsensusTraining | None


def read_choices(config: DictConfig) -> Choices:
    """The choices of a configuration; raises UserError where a value cannot be."""
    return Choices(
        text_config(config.text),
        room_config(AlignConfig, config.align),
        _links_config(config.links),
        room_config(ExtractConfig, config.extract),
        room_config(TmConfig, config.tm),
        room_config(LanguageModelConfig, config.lm),
        room_config(MixingConfig, config.mixture),
        room_config(SearchConfig, config.search),
        room_config(SearchWeights, config.weights),
        room_config(RescoringTraining, config.rescore),
        tuner_or_none(config.tune),
        adapter_config(config.adapt),
        consensus_config(config.consensus),
    )


def _links_config(node: DictConfig) -> LinksConfig:
    for name, own in node.further.items():
        if not OmegaConf.is_dict(own):
            raise UserError(f"links.further.{name} is '{own}': name an aligner, +align@links.further.{name}=diagonal")
    further = {str(name): room_config(AlignConfig, own) for name, own in node.further.items()}
    return replace(room_config(LinksConfig, node), further=further)
