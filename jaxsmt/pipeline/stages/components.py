"""The component stage: an aligned text becomes sufficient statistics."""

import dataclasses
from pathlib import Path

from jaxsmt.common.cluster.tasks import TaskRunner
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.extraction import extract_counts
from jaxsmt.extract.lexical import count_words
from jaxsmt.pipeline.config.schemas import TmConfig
from jaxsmt.pipeline.stages.links import TextLinks
from jaxsmt.pipeline.stages.texts import FOLDER, ComponentText
from jaxsmt.pipeline.store import Artefact, Counts, Store
from jaxsmt.tm.component import Component, save_component


def component_stage(
    store: Store, text: ComponentText, aligned: TextLinks, extract: ExtractConfig, tm: TmConfig
) -> Artefact:
    """Extracts and counts one component, keeping what it is asked to."""

    def build(folder: Path) -> Counts:
        component = count_component(text, aligned, extract, folder, tm.pairs_per_source, store.tasks)
        save_component(component, folder / FOLDER)
        return {"pairs": len(component), "word_pairs": len(component.lexical.joint_counts)}

    config = dataclasses.asdict(extract)
    for key in ("memory_budget_gb", "kinds"):  # the way, not the result; other components
        del config[key]
    if not extract.leaves_out:  # what was counted before there were these keys is found
        del config["min_count"], config["min_source_count"]
    config["pairs_per_source"] = tm.pairs_per_source
    inputs = {"text": text.artefact.fingerprint, "links": aligned.artefact.fingerprint}
    inputs |= {f"links{number}": more.artefact.fingerprint for number, more in enumerate(aligned.further, 2)}
    return store.run(f"component-{text.name}", config, inputs, build)


def count_component(
    text: ComponentText, aligned: TextLinks, config: ExtractConfig, scratch: Path,
    pairs_per_source: int | None = None, tasks: TaskRunner | None = None,
) -> Component:  # fmt: skip
    """Counts rules of one aligned text, those that any of its alignments allows, and word pairs of the first one.

    pairs_per_source: the most frequent ones kept of each source side, all if None; tasks: as in `extract_counts`.
    """
    more = [part.links for part in aligned.further]
    sizes = len(text.source.vocabulary), len(text.target.vocabulary)
    return Component(
        text.name,
        config.kind,
        extract_counts(
            text.bitext, aligned.links, config, more_links=more, pairs_per_source=pairs_per_source,
            scratch_folder=scratch, tasks=tasks,
        ),
        count_words(text.bitext, aligned.links, *sizes),
        text.source.vocabulary,
        text.target.vocabulary,
    )
