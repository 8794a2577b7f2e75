"""train.py: from bitexts to a model folder, and what the model does on the test sets."""

from pathlib import Path

from omegaconf import DictConfig

from jaxsmt.align.model import AlignConfig
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.demo import write_demo
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.pipeline.components import component_stage
from jaxsmt.pipeline.config import LinksConfig, TmConfig, bitext_source, room_config
from jaxsmt.pipeline.evaluation import evaluate_model
from jaxsmt.pipeline.links import dev_links, export_links, links_stage
from jaxsmt.pipeline.model import load_model, write_model
from jaxsmt.pipeline.report import show_components, show_scores
from jaxsmt.pipeline.store import Store
from jaxsmt.pipeline.texts import text_stage
from jaxsmt.search.monotone import MonotoneConfig
from jaxsmt.text.encoding import TextConfig
from jaxsmt.text.reading import BitextSource

Sources = dict[str, dict[str, BitextSource]]  # part of the corpus → domain → bitext


def train(config: DictConfig) -> float:
    """Trains a model and returns its mean development BLEU with in-domain weights (0 without a development set)."""
    work_dir, output_dir = Path(config.work_dir), Path(config.output_dir)
    sources = corpus_sources(config, work_dir)
    tm, search = room_config(TmConfig, config.tm), room_config(MonotoneConfig, config.search)
    extract = room_config(ExtractConfig, config.extract)
    store = Store(work_dir / "artefacts")
    text_config = room_config(TextConfig, config.text)
    links_config = room_config(LinksConfig, config.links)
    texts = [text_stage(store, name, spec, text_config) for name, spec in sources["components"].items()]
    links = links_stage(store, texts, room_config(AlignConfig, config.align), links_config)
    components = {text.name: component_stage(store, text, links[text.name], extract, tm) for text in texts}
    if links_config.export:
        export_links(output_dir / "links", links | dev_links(store, sources["dev"], texts, links))
    model_dir = output_dir / "model"
    write_model(model_dir, texts, components, tm, search)
    log.info("model: %s", model_dir)
    model = load_model(model_dir)
    show_components(texts, components)
    scores = evaluate_model(model, {part: sources[part] for part in ("dev", "test")}, output_dir)
    show_scores(scores)
    return scores.mean("dev")


def corpus_sources(config: DictConfig, work_dir: Path) -> Sources:
    """The bitexts of the corpus by part (components, dev, test) and name; the demo is written to files first."""
    if config.corpus.demo:
        return _demo_sources(work_dir / "demo", config.corpus.source_language, config.corpus.target_language)
    parts = ("components", "dev", "test")
    sources = {part: {str(name): bitext_source(config, part, name) for name in config.corpus[part]} for part in parts}
    if not sources["components"]:
        raise UserError(
            "corpus.components is empty: name at least one training bitext, for instance "
            "+corpus.components.law.source=law.fr +corpus.components.law.target=law.en"
        )
    for name in [name for part in parts for name in sources[part]]:
        if not name.replace("-", "").replace("_", "").isalnum():
            raise UserError(f"'{name}' cannot name a corpus: use letters, digits, '-' and '_'")
    return sources


def _demo_sources(folder: Path, source_language: str, target_language: str) -> Sources:
    files = write_demo(folder)

    def spec(domain: str, split: str) -> BitextSource:
        source, target = files[domain][split]
        return BitextSource(str(source), str(target), source_language=source_language, target_language=target_language)

    splits = {"components": "train", "dev": "dev", "test": "test"}
    return {part: {domain: spec(domain, split) for domain in files} for part, split in splits.items()}
