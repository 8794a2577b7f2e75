"""train.py: from bitexts to a model folder, and what the model does on the test sets."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from omegaconf import DictConfig, OmegaConf

from jaxsmt.common.cluster.tasks import TaskRunner
from jaxsmt.common.errors import UserError
from jaxsmt.demo import write_demo
from jaxsmt.evaluate.compare import CompareConfig
from jaxsmt.extract.config import HIERO, ExtractConfig
from jaxsmt.model.mixing import TARGET_CLUSTERS, MixingConfig
from jaxsmt.model.rescoring import Rescoring
from jaxsmt.pipeline.assembly import (
    Draft,
    check_provenance,
    first_draft,
    mixed_model,
    tuned_model,
    with_provenance,
    with_static_lms,
)
from jaxsmt.pipeline.checking.given_files import (
    check_links_files,
    check_models,
    check_parts,
    check_texts,
    warn_of_equal_texts,
)
from jaxsmt.pipeline.checking.languages import check_languages
from jaxsmt.pipeline.checking.outputs import check_folders
from jaxsmt.pipeline.checking.run import CheckRequest, check_training
from jaxsmt.pipeline.class_lms import class_lm_stages
from jaxsmt.pipeline.config.choices import Choices, read_choices
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.config.schemas import CLASS_MODEL, LanguageModelConfig, LinksConfig, TmConfig, bitext_source
from jaxsmt.pipeline.consensus import check_consensus, with_consensus
from jaxsmt.pipeline.evaluation import evaluate_model
from jaxsmt.pipeline.jobs.cluster import opened_tasks
from jaxsmt.pipeline.operation_models import check_operations, weights_without_operations, with_operation_models
from jaxsmt.pipeline.page.gathering import FinishedRun
from jaxsmt.pipeline.page.run_page import write_report
from jaxsmt.pipeline.report import show_components, show_lms, show_scores
from jaxsmt.pipeline.rescoring import chosen_rescoring
from jaxsmt.pipeline.stages.adapting import adapted_model, check_adaptation
from jaxsmt.pipeline.stages.components import component_stage
from jaxsmt.pipeline.stages.links import TextLinks, export_links, links_stage
from jaxsmt.pipeline.stages.lms import LmMixture, LmText, export_lms, lm_features, lm_stages
from jaxsmt.pipeline.stages.mixing import develop
from jaxsmt.pipeline.stages.tables import export_components, imported_components
from jaxsmt.pipeline.stages.target_clusters import target_cluster_stage
from jaxsmt.pipeline.stages.texts import ComponentText, merge_sides, rewrite_rare_words, text_stage
from jaxsmt.pipeline.stages.tuning import ListsConfig, TuningTask, check_augmented
from jaxsmt.pipeline.store import Artefact, Store, StoreConfig
from jaxsmt.pipeline.terminal.ending import show_ending
from jaxsmt.pipeline.trained_mixtures import check_trained
from jaxsmt.search.weights import NUM_ORIENTATIONS, SearchWeights
from jaxsmt.text.casing import Truecaser
from jaxsmt.text.encoding import TextConfig, TextSide
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.text.vocabulary import Vocabulary
from jaxsmt.tune.loop import LoopConfig, WatchFn

NUM_RULE_WEIGHTS = len(SearchWeights.rule)  # log p(s|t), lex(s|t), p(t|s), lex(t|s)
LONGEST_CORPUS_NAME = 100  # bytes; names of folders have it beside other things
Sources = dict[str, dict[str, BitextSource]]  # part of the corpus → domain → bitext


def train(config: DictConfig, watch_fn: WatchFn | None = None) -> float:
    """Trains a model and returns its mean development BLEU with in-domain weights (0 without a development set).

    watch_fn: is told how tuning goes, and may end it.
    """
    with opened_tasks(config.cluster, Path(config.work_dir)) as tasks:
        return trained(config, tasks, watch_fn)


def trained(config: DictConfig, tasks: TaskRunner | None, watch_fn: WatchFn | None) -> float:
    """`train`, with somebody to run the tasks of stages."""
    work_dir, output_dir = Path(config.work_dir), Path(config.output_dir)
    check_folders({"work_dir": config.work_dir, "output_dir": config.output_dir})
    sources, chosen = corpus_sources(config, work_dir), read_choices(config)
    if config.check:
        return check(config, sources, chosen)
    rescoring = check_choices(chosen, sources)
    lists = ListsConfig(config.nbest_size, room_config(LoopConfig, config.loop), config.tune_sentences)
    room_config(CompareConfig, config.evaluate)  # which the end of a sweep needs
    check_files(config, chosen, sources)
    if config.corpus.language_check:
        check_languages(sources)
    store = opened_store(config, tasks)
    texts = [text_stage(store, name, spec, chosen.text) for name, spec in sources["components"].items()]
    imported = imported_components(store, chosen.tm)
    if not (chosen.links.files or chosen.links.development):  # which count words that are whole
        texts = rewrite_rare_words(store, texts, chosen.text, imported)
    links = links_stage(store, texts, chosen.align, chosen.links)
    components = component_stages(store, texts, links, chosen) | imported
    if chosen.tm.export:
        export_components(output_dir / "moses", components)
    sides = model_sides(config, chosen.text, texts)
    lm_text = LmText(texts, sources["dev"], sides[1], target_clusters(store, texts, chosen.mixture))
    mixture, classes = language_models(store, lm_text, chosen.lm, output_dir)
    lms = lm_features(store, mixture, chosen.lm, classes)
    if tasks is not None:
        tasks.release()  # from here on a single machine has the work
    show_components(texts, components)
    show_lms(mixture)
    if classes is not None:
        show_lms(classes, "class language models")
    development = develop(store, sources["dev"], texts, links, chosen.links.development)
    if chosen.links.export:
        of_dev = {part.text.name: (part.text, part.links) for part in development if part.links}
        export_links(output_dir / "links", {text.name: (text, links[text.name]) for text in texts} | of_dev)
    weights, osm_weight = weights_without_operations(chosen.weights, chosen.lm, len(lms))
    draft = first_draft(sides, components, mixture, lms, chosen.search, weights)
    draft = draft.for_lines(lines_to_translate(sources, config.translate))
    draft = with_provenance(draft, chosen.tm.features_of_counts)
    draft = mixed_model(store, draft, texts, development, chosen.extract, chosen.mixture)
    if chosen.lm.static:
        draft = with_static_lms(store, draft)
    linked = {part.name: (part, links[part.name]) for part in texts}
    draft = with_operation_models(store, draft, linked, development, chosen, osm_weight)
    task = TuningTask(sources["dev"], chosen.tuner, lists, rescoring, watch_fn)
    draft = finished(store, draft, sources, chosen, task)
    draft.write(output_dir / "model")
    with store.watched("translate and score"):
        scores = evaluate_model(draft.model, {p: sources[p] for p in config.translate}, output_dir, config.all_ways)
    show_scores(scores)
    of_words_and_classes = {"language models": mixture} | ({} if classes is None else {CLASS_MODEL: classes})
    run = FinishedRun(config, store, texts, development, draft, of_words_and_classes, sources, scores)
    report = write_report(run) if config.report else None
    show_ending(output_dir / "model", report, config.corpus.demo, chosen.tuner is not None)
    return scores.mean("dev")


def opened_store(config: DictConfig, tasks: TaskRunner | None = None) -> Store:
    """Where artefacts are kept; tasks: who helps to make them."""
    return Store(Path(config.work_dir) / "artefacts", room_config(StoreConfig, config.store), tasks=tasks)


def check(config: DictConfig, sources: Sources, chosen: Choices) -> float:
    """Reads everything and reports it; what would stop the training later raises UserError."""
    request = CheckRequest(
        sources, chosen, lambda: check_choices(chosen, sources), config.corpus.language_check, config.check_output
    )
    return check_training(opened_store(config), request)


def check_choices(chosen: Choices, sources: Sources) -> Rescoring | None:
    """Raises UserError, before any work is done, where choices do not go together; returns what rescores, if any."""
    tuner, mixture, adapter = chosen.tuner, chosen.mixture, chosen.adapter
    check_names(sources, chosen.tm, chosen.extract)
    check_alignments(chosen.links, chosen.extract, sources)
    for key, number in {"rule": NUM_RULE_WEIGHTS, "reordering": NUM_ORIENTATIONS}.items():
        if np.shape(getattr(chosen.weights, key)) != (number,):
            raise UserError(f"weights.{key} is {getattr(chosen.weights, key)}: give {number} numbers, [a,b,…]")
    check_adaptation(adapter, mixture, sources["dev"], sources["adapt"], tuner)
    check_consensus(chosen.consensus, sources["dev"])
    check_provenance(chosen.tm.features_of_counts, mixture, tuner)
    rescoring = chosen_rescoring(chosen.rescore, mixture, tuner, adapter)
    check_trained(mixture, tuner, rescoring is not None)
    check_augmented(tuner, mixture, rescoring is not None)
    check_operations(chosen.lm, "chart" if chosen.extract.kind == HIERO else chosen.search.kind)
    return rescoring


def check_files(config: DictConfig, chosen: Choices, sources: Sources) -> None:
    """Raises UserError for what the stages would stumble over: files that are missing, are none, or do not fit."""
    check_parts(list(config.translate), {str(name): list(sets) for name, sets in config.corpus.groups.items()}, sources)
    check_models(chosen.lm, chosen.tm)
    check_links_files(chosen.links, sources, check_texts(sources))
    warn_of_equal_texts(sources)


def component_stages(
    store: Store, texts: list[ComponentText], links: dict[str, TextLinks], chosen: Choices
) -> dict[str, Artefact]:
    """Statistics of all components that are made of text, by name."""
    extract, tm = chosen.extract, chosen.tm
    return {
        part.name: component_stage(store, part, links[part.name], extract.of_component(part.name), tm) for part in texts
    }


def lines_to_translate(sources: Sources, parts: Iterable[str]) -> list[str]:
    """Source lines of all that is translated before the model is written, and after."""
    used = [spec for part in dict.fromkeys(("dev", "adapt", *parts)) for spec in sources[part].values()]
    return [source for spec in used for source, _ in read_bitext(spec)]


def finished(store: Store, draft: Draft, sources: Sources, chosen: Choices, task: TuningTask) -> Draft:
    """The model tuned, adapted and given a consensus, as far as that was chosen."""
    if chosen.tuner is not None:
        draft = tuned_model(store, draft, task)
    if chosen.adapter is not None:
        draft = adapted_model(store, draft, sources["adapt"], chosen.adapter, task)
    if chosen.consensus is not None:
        draft = with_consensus(store, draft, sources["dev"], chosen.consensus)
    return draft


def language_models(
    store: Store, text: LmText, config: LanguageModelConfig, output_dir: Path
) -> tuple[LmMixture, LmMixture | None]:
    """The mixture of all language models, and that of class models; with lm.export all are written as ARPA files."""
    lms, classes = lm_stages(store, text, config), class_lm_stages(store, text, config)
    if config.export:
        export_lms(output_dir / "lm", lms)
    if config.export and classes is not None:
        export_lms(output_dir / "lm" / CLASS_MODEL, classes)
    return lms, classes


def target_clusters(store: Store, texts: list[ComponentText], config: MixingConfig) -> Artefact | None:
    """Those of the target sides, where the model goes by them."""
    if config.labels != TARGET_CLUSTERS:
        return None
    return target_cluster_stage(store, texts, config.num_clusters, config.cluster_seed)


def model_sides(config: DictConfig, text: TextConfig, texts: list[ComponentText]) -> tuple[TextSide, TextSide]:
    """Both languages of the model; its words come from the components, its casing from their texts."""
    empty = Truecaser({}) if text.case == "true" else None
    languages = config.corpus.source_language, config.corpus.target_language
    source, target = (TextSide(language, text, Vocabulary(()), empty) for language in languages)
    return merge_sides([source, *(t.source for t in texts)]), merge_sides([target, *(t.target for t in texts)])


def corpus_sources(config: DictConfig, work_dir: Path) -> Sources:
    """The bitexts of the corpus by part (components, dev, adapt, test) and name; the demo is written to files first."""
    if config.corpus.demo:
        return _demo_sources(config, work_dir / "demo")
    parts = ("components", "dev", "adapt", "test")
    return {part: {str(name): bitext_source(config, part, name) for name in config.corpus[part]} for part in parts}


def check_names(sources: Sources, tm: TmConfig, extract: ExtractConfig) -> None:
    """Raises UserError where there is no component at all, or where names are taken twice or cannot be files."""
    made = [*sources["components"], *tm.folders, *tm.tables]
    if not made:
        raise UserError(
            "corpus.components is empty: name at least one training bitext, for instance "
            "+corpus.components.law.source=law.fr +corpus.components.law.target=law.en"
        )
    for name in extract.kinds:
        if name not in sources["components"]:
            raise UserError(
                f"extract.kinds has '{name}', which is no component: choose of {', '.join(sources['components'])}"
            )
    for name in [*made, *(name for part in ("dev", "adapt", "test") for name in sources[part])]:
        if not name.replace("-", "").replace("_", "").isalnum():
            raise UserError(f"'{name}' cannot name a corpus: use letters, digits, '-' and '_'")
        if len(name.encode()) > LONGEST_CORPUS_NAME:
            raise UserError(f"'{name[:40]}…' is too long to name a corpus: use at most {LONGEST_CORPUS_NAME} bytes")
        if made.count(name) > 1:
            raise UserError(f"two of corpus.components, tm.folders and tm.tables are called '{name}': rename one")


def check_alignments(links: LinksConfig, extract: ExtractConfig, sources: Sources) -> None:
    """Raises UserError where rules with gaps would be taken from several alignments."""
    with_gaps = [name for name in sources["components"] if extract.of_component(name).is_hiero]
    if links.further and with_gaps:
        raise UserError(
            f"links.further has {', '.join(links.further)}, and component '{with_gaps[0]}' is "
            "hierarchical: leave links.further out, or choose extract=phrase"
        )


def _demo_sources(config: DictConfig, folder: Path) -> Sources:
    """The demo's domains, or of a part of the corpus those that it names; texts to adapt to are development sets."""
    files = write_demo(folder)
    splits = {"components": "train", "dev": "dev", "adapt": "dev", "test": "test"}
    found: Sources = {part: {} for part in splits}
    for part, split in splits.items():
        for name in [*config.corpus[part]] or ([] if part == "adapt" else files):
            if name not in files:
                raise UserError(f"corpus.{part}.{name}: the demo has no such domain, choose of {', '.join(files)}")
            source, target = map(str, files[name][split])
            given = {part: {name: {"source": source, "target": target, **(config.corpus[part].get(name) or {})}}}
            languages = {side: config.corpus[side] for side in ("source_language", "target_language")}
            found[part][name] = bitext_source(OmegaConf.create({"corpus": {**languages, **given}}), part, name)
    return found
