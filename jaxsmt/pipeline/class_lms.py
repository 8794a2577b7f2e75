"""The stages of class language models: words in classes, then models of these, as of words."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.lm.classes.clustering import cluster_words
from jaxsmt.model.language_models import CLASSES
from jaxsmt.pipeline.config.schemas import LanguageModelConfig
from jaxsmt.pipeline.stages.lms import LmMixture, LmText, lm_stages
from jaxsmt.pipeline.stages.texts import ComponentText, join_texts
from jaxsmt.pipeline.store import Artefact, Counts, Store


def class_lm_stages(store: Store, text: LmText, config: LanguageModelConfig) -> LmMixture | None:
    """Models of word classes, estimated and mixed as those of words are; None where none are wished."""
    if not config.classes.num_classes:
        return None
    if not text.texts:
        raise UserError("lm.classes finds classes in training text, and there is none: leave it out (lm/classes=none)")
    classes = class_stage(store, text.texts, config)
    own = dataclasses.replace(config, estimation=config.classes.estimation, arpas={})
    return lm_stages(store, dataclasses.replace(text, classes=classes), own)


def class_stage(store: Store, texts: Sequence[ComponentText], config: LanguageModelConfig) -> Artefact:
    """The words of all components in classes."""

    def build(folder: Path) -> Counts:
        joint = join_texts(texts)
        table, perplexities = cluster_words(joint.bitext.target, joint.target, config.classes.exchange)
        table.save(folder / CLASSES)
        return {
            "words": len(table.class_of),
            "classes": len(set(table.class_of.values())),
            "passes": len(perplexities) - 1,
            "bigram_perplexity": round(float(perplexities[-1]), 4),
        }

    inputs = {f"text {text.name}": text.artefact.fingerprint for text in texts}
    return store.run("classes", dataclasses.asdict(config.classes.exchange), inputs, build)
