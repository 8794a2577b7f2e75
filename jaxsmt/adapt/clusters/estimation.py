"""Source-side language models of components, estimated for the entropies that sentences are clustered by."""

import dataclasses
from collections.abc import Mapping

from jaxsmt.adapt.clusters.entropies import EntropyModel
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.common.ragged import Ragged
from jaxsmt.lm.automaton import to_device
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.model import Lm
from jaxsmt.lm.union import build_union_automaton
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


def build_entropy_model(lms: Mapping[str, Lm]) -> EntropyModel:
    """The entropy model of given language models, by the names of their components.

    Models that know few words give each unknown word much: estimate them with one `pad_vocabulary`
    (`estimate_entropy_model` does), or their entropies do not compare.
    """
    if not lms:
        raise UserError("there is no language model to compute entropies with: give one per component")
    automaton, vocabulary = build_union_automaton(list(lms.values()), rest_costs=False)
    log.info("entropy model: %d components, %d words", len(lms), len(vocabulary.words))
    return EntropyModel(tuple(lms), to_device(automaton), vocabulary)
