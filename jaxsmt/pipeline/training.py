"""train.py: from bitexts to a model folder, and what the model does on the test sets."""

from pathlib import Path

from omegaconf import DictConfig

from jaxsmt.align.model import AlignConfig
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.demo import write_demo
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.pipeline.components import component_stage
from jaxsmt.pipeline.config import LanguageModelConfig, LinksConfig, TmConfig, WeightsConfig, bitext_source, room_config
from jaxsmt.pipeline.evaluation import evaluate_model
from jaxsmt.pipeline.links import TextLinks, dev_links, export_links, links_stage
from jaxsmt.pipeline.list_tuning import tuner_config
from jaxsmt.pipeline.lms import LmMixture, export_lms, lm_stages
from jaxsmt.pipeline.model import load_model, write_model
from jaxsmt.pipeline.report import show_components, show_lms, show_scores
from jaxsmt.pipeline.store import Store
from jaxsmt.pipeline.tables import export_components, imported_components
from jaxsmt.pipeline.texts import ComponentText, merge_sides, text_stage
from jaxsmt.pipeline.tuning import NO_TUNER, tuning_stage
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.text.casing import Truecaser
from jaxsmt.text.encoding import TextConfig, TextSide
from jaxsmt.text.reading import BitextSource
from jaxsmt.text.vocabulary import Vocabulary

Sources = dict[str, dict[str, BitextSource]]  # part of the corpus → domain → bitext


def train(config: DictConfig) -> float:
    """Trains a model and returns its mean development BLEU with in-domain weights (0 without a development set)."""
    work_dir, output_dir = Path(config.work_dir), Path(config.output_dir)
    sources = corpus_sources(config, work_dir)
    text, tm = room_config(TextConfig, config.text), room_config(TmConfig, config.tm)
    search, weights = room_config(SearchConfig, config.search), room_config(WeightsConfig, config.weights)
    extract = room_config(ExtractConfig, config.extract)
    check_names(sources, tm)
    store = Store(work_dir / "artefacts")
    texts = [text_stage(store, name, spec, text) for name, spec in sources["components"].items()]
    links = align_texts(store, texts, sources["dev"], config, output_dir)
    components = {part.name: component_stage(store, part, links[part.name], extract, tm) for part in texts}
    components |= imported_components(store, tm)
    if tm.export:
        export_components(output_dir / "moses", components)
    sides = model_sides(config, text, texts)
    lms = mix_language_models(store, texts, sources["dev"], sides[1], config, output_dir)
    show_components(texts, components)
    show_lms(lms)
    model_dir = output_dir / "model"
    write_model(model_dir, sides, components, lms, tm.domain_boost, search, weights)
    if config.tune.name != NO_TUNER:
        inputs = {f"component {name}": part.fingerprint for name, part in components.items()}
        inputs["lm"] = lms.artefact.fingerprint
        tuner = tuner_config(config.tune)
        weights = tuning_stage(store, load_model(model_dir), inputs, sources["dev"], tuner, config.nbest_size)
        write_model(model_dir, sides, components, lms, tm.domain_boost, search, weights)
    log.info("model: %s", model_dir)
    scores = evaluate_model(load_model(model_dir), {p: sources[p] for p in ("dev", "test")}, output_dir)
    show_scores(scores)
    return scores.mean("dev")


def align_texts(
    store: Store, texts: list[ComponentText], dev: dict[str, BitextSource], config: DictConfig, output_dir: Path
) -> dict[str, TextLinks]:
    """Links of the components; with links.export they and those of the development sets are written as files."""
    links_config = room_config(LinksConfig, config.links)
    links = links_stage(store, texts, room_config(AlignConfig, config.align), links_config)
    if links_config.export:
        export_links(output_dir / "links", links | dev_links(store, dev, texts, links))
    return links


def mix_language_models(
    store: Store, texts: list[ComponentText], dev: dict[str, BitextSource], target: TextSide, config: DictConfig,
    output_dir: Path,
) -> LmMixture:  # fmt: skip
    """The mixture of all language models; with lm.export they are written as ARPA files."""
    lm_config = room_config(LanguageModelConfig, config.lm)
    artefacts, mixture = lm_stages(store, texts, dev, target, lm_config)
    if lm_config.export:
        export_lms(output_dir / "lm", artefacts, mixture)
    return mixture


def model_sides(config: DictConfig, text: TextConfig, texts: list[ComponentText]) -> tuple[TextSide, TextSide]:
    """Both languages of the model; its words come from the components, its casing from their texts."""
    empty = Truecaser({}) if text.case == "true" else None
    languages = config.corpus.source_language, config.corpus.target_language
    source, target = (TextSide(language, text, Vocabulary(()), empty) for language in languages)
    return merge_sides([source, *(t.source for t in texts)]), merge_sides([target, *(t.target for t in texts)])


def corpus_sources(config: DictConfig, work_dir: Path) -> Sources:
    """The bitexts of the corpus by part (components, dev, test) and name; the demo is written to files first."""
    if config.corpus.demo:
        return _demo_sources(work_dir / "demo", config.corpus.source_language, config.corpus.target_language)
    parts = ("components", "dev", "test")
    return {part: {str(name): bitext_source(config, part, name) for name in config.corpus[part]} for part in parts}


def check_names(sources: Sources, tm: TmConfig) -> None:
    """Raises UserError where there is no component at all, or where names are taken twice or cannot be files."""
    made = [*sources["components"], *tm.folders, *tm.tables]
    if not made:
        raise UserError(
            "corpus.components is empty: name at least one training bitext, for instance "
            "+corpus.components.law.source=law.fr +corpus.components.law.target=law.en"
        )
    for name in [*made, *sources["dev"], *sources["test"]]:
        if not name.replace("-", "").replace("_", "").isalnum():
            raise UserError(f"'{name}' cannot name a corpus: use letters, digits, '-' and '_'")
        if made.count(name) > 1:
            raise UserError(f"two of corpus.components, tm.folders and tm.tables are called '{name}': rename one")


def _demo_sources(folder: Path, source_language: str, target_language: str) -> Sources:
    files = write_demo(folder)

    def spec(domain: str, split: str) -> BitextSource:
        source, target = files[domain][split]
        return BitextSource(str(source), str(target), source_language=source_language, target_language=target_language)

    splits = {"components": "train", "dev": "dev", "test": "test"}
    return {part: {domain: spec(domain, split) for domain in files} for part, split in splits.items()}
