"""Source-side language models of components, estimated for the entropies that sentences are clustered by."""

import dataclasses
from collections.abc import Mapping

from jaxsmt.adapt.clusters.entropies import EntropyModel, build_entropy_model
from jaxsmt.common.ragged import Ragged
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.text.vocabulary import Vocabulary, merge_vocabularies


def estimate_entropy_model(
    texts: Mapping[str, tuple[Ragged, Vocabulary]], config: LmConfig | None = None
) -> EntropyModel:
    """Estimates one model per component on its text: sentences as ids, and what these mean.

    All models are smoothed towards the same number of words, unless the configuration has another one.
    """
    config = config or LmConfig(order=3)
    words, _ = merge_vocabularies([vocabulary for _, vocabulary in texts.values()])
    padding = config.pad_vocabulary or len(words.words) + 2  # with <unk> and </s>
    config = dataclasses.replace(config, pad_vocabulary=padding, rest_costs=False)
    return build_entropy_model({name: estimate_lm(*text, config) for name, text in texts.items()})
