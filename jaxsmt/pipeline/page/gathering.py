"""From a finished run to its record: what its model, artefacts and translations say."""

import dataclasses
import json
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from jaxsmt import __version__
from jaxsmt.adapt.clusters.clustering import centre
from jaxsmt.adapt.clusters.labels import contingency, join_labels, make_labels
from jaxsmt.adapt.clusters.plots import project
from jaxsmt.common.device import device_name
from jaxsmt.evaluate.compare import CompareConfig, compare_systems
from jaxsmt.model.labelling.source_clusters import SourceClusters
from jaxsmt.pipeline.assembly import Draft
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.evaluation import ScoreTable, output_file
from jaxsmt.pipeline.page.model_weights import log_linear_rows, weight_tables
from jaxsmt.pipeline.page.records import (
    ClusterPicture,
    ComponentSizes,
    RunRecord,
    Sample,
    SetRecord,
    Setup,
    TuningCurve,
    WayScores,
)
from jaxsmt.pipeline.page.samples import PickedLines, chosen_lines, explain_lines, picked_lines
from jaxsmt.pipeline.stages.lms import LmMixture
from jaxsmt.pipeline.stages.mixing import FIT, DevelopmentSet
from jaxsmt.pipeline.stages.source_clusters import tokens_of
from jaxsmt.pipeline.stages.texts import ComponentText
from jaxsmt.pipeline.stages.tuning import CURVE
from jaxsmt.pipeline.store import Artefact, Store
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.text.streams import read_lines

PACKAGES = ("jax", "jaxlib", "numpy", "optax", "hydra-core", "sacrebleu")
MOST_POINTS, MOST_UNKNOWN = 900, 60  # of a picture, of a list
TEST = "test"


@dataclass(frozen=True)
class FinishedRun:
    """What training leaves in memory; lms: by what they are models of."""

    config: DictConfig
    store: Store
    texts: Sequence[ComponentText]
    development: Sequence[DevelopmentSet]
    draft: Draft
    lms: Mapping[str, LmMixture]
    sources: Mapping[str, Mapping[str, BitextSource]]
    scores: ScoreTable

    @property
    def output_dir(self) -> Path:
        return Path(self.config.output_dir)


def run_record(run: FinishedRun) -> RunRecord:
    """All that the page of a run says."""
    signatures = {
        name: value
        for own in run.scores.scores.values()
        for name, value in (("BLEU", own.bleu_signature), ("TER", own.ter_signature), ("chrF2", own.chrf_signature))
    }
    config = run.config
    return RunRecord(
        name=config.corpus.name,
        languages=(config.corpus.source_language, config.corpus.target_language),
        sets=set_records(run),
        components=component_sizes(run),
        weights=weight_tables(run.draft.model, _fit(run.store)),
        log_linear=log_linear_rows(run.draft.model),
        clusters=cluster_picture(run),
        curves=tuning_curves(run.store),
        test=f"{config.evaluate.test}, {config.evaluate.trials:,} trials, seed {config.evaluate.seed}",
        signatures=signatures,
        perplexities={name: part.perplexities for name, part in run.lms.items() if part.perplexities},
        members=_members(run.output_dir, run.scores),
        setup=setup_of(config, run.store),
    )


def setup_of(config: DictConfig, store: Store) -> Setup:
    """What was run; stages last, so that what came before is among them."""
    told = list(HydraConfig.get().overrides.task) if HydraConfig.initialized() else []
    versions = {"jaxsmt": __version__, "Python": platform.python_version(), **_versions()}
    return Setup(told, OmegaConf.to_yaml(config), versions, device_name(), tuple(store.runs))


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def component_sizes(run: FinishedRun) -> list[ComponentSizes]:
    """Of all components, in the order of the model."""
    sides = {text.name: (text.bitext.source, text.bitext.target) for text in run.texts}
    made = []
    for name, artefact in run.draft.components.items():
        of_text: tuple[int | None, int | None, int | None] = (None, None, None)
        if name in sides:
            source, target = sides[name]
            of_text = len(source), len(source.values), len(target.values)
        made.append(ComponentSizes(name, *of_text, artefact.counts["pairs"], artefact.counts["word_pairs"]))
    return made


def _fit(store: Store) -> dict | None:
    """What the fit of component weights found, if there was one."""
    folders = [stage.folder for stage in store.runs if stage.stage == "mixture" and stage.folder is not None]
    return json.loads((folders[-1] / FIT).read_text(encoding="utf-8")) if folders else None


def tuning_curves(store: Store) -> list[TuningCurve]:
    """One for each tuning of the run."""
    made = {}
    for stage in store.runs:
        if stage.folder is None or not (stage.folder / CURVE).is_file():
            continue
        label, component = Artefact(stage.folder).manifest["config"].get("label", (None, None))
        name = f"{component} alone" if component else label or "all development text"
        found = json.loads((stage.folder / CURVE).read_text(encoding="utf-8"))
        made[stage.folder] = TuningCurve(name, found["iterations"], found["chosen"], found["has_converged"])
    return list(made.values())


def cluster_picture(run: FinishedRun) -> ClusterPicture | None:
    """Clusters of development sentences in a plane; of the target sides' clusters only their sizes."""
    if run.draft.clusters is None:
        return None
    own = run.draft.model.clusters
    if not isinstance(own, SourceClusters):
        counts = run.draft.clusters.counts
        return ClusterPicture(list(counts), list(counts.values()))
    clusters = own.clusters
    gold = join_labels([make_labels([part.name] * len(part.text.bitext)) for part in run.development])
    tokens = [sentence for part in run.development for sentence in tokens_of(part.text)]
    sizes = clusters.labels.counts
    shares = contingency(clusters.labels, gold) / np.maximum(sizes, 1)[:, None]
    step = max(1, -(-len(tokens) // MOST_POINTS))
    vectors = own.entropies.vectors_of_tokens(tokens)
    points, _ = project(centre(vectors, clusters.centring))
    return ClusterPicture(
        list(clusters.names), sizes.tolist(), list(gold.names), shares.tolist(),
        [(float(x), float(y)) for x, y in points[::step]], clusters.assignment[::step].tolist(),
    )  # fmt: skip


def set_records(run: FinishedRun) -> list[SetRecord]:
    """Of all sets that were translated; samples of test sets, or of all where there are none."""
    keys = list(dict.fromkeys((part, domain) for part, domain, _ in run.scores.scores))
    shown = [key for key in keys if key[0] == TEST] or keys
    records = {key: _set_record(run, *key) for key in keys}
    with_samples = {f"{part} {domain}": (part, domain) for part, domain in shown}
    outputs = {name: _outputs(run, *key) for name, key in with_samples.items()}
    pairs = {name: list(read_bitext(run.sources[part][domain])) for name, (part, domain) in with_samples.items()}
    for name, samples in _samples(run, with_samples, pairs, outputs).items():
        key = with_samples[name]
        records[key] = dataclasses.replace(records[key], samples=samples)
    return list(records.values())


def _outputs(run: FinishedRun, part: str, domain: str) -> dict[str, list[str]]:
    """Translations of a set by way."""
    ways = [way for of, name, way in run.scores.scores if (of, name) == (part, domain)]
    files = {way: output_file(run.output_dir, part, domain, way) for way in ways}
    return {way: list(read_lines(str(path), may_be_empty=True)) for way, path in files.items()}


def _set_record(run: FinishedRun, part: str, domain: str) -> SetRecord:
    outputs = _outputs(run, part, domain)
    references = [target for _, target in read_bitext(run.sources[part][domain])]
    settings = room_config(CompareConfig, run.config.evaluate)
    systems = {way: [lines] for way, lines in outputs.items()}
    compared = compare_systems(systems, [[line] for line in references], settings) if len(outputs) > 1 else {}
    ways = {}
    for way in outputs:
        key, found = (part, domain, way), run.scores.scores[part, domain, way]
        tests = {metric: score.versus.p_value for metric, score in compared.get(way, {}).items() if score.versus}
        ways[way] = WayScores(
            found.bleu, found.ter, found.chrf, tests, run.scores.unknown[key], run.scores.searches.get(key)
        )
    words = run.scores.unknown_words.get((part, domain, list(outputs)[-1]), Counter())
    most = sorted(words.items(), key=lambda item: (-item[1], item[0]))[:MOST_UNKNOWN]
    return SetRecord(part, domain, len(references), ways, most)


def _samples(
    run: FinishedRun, sets: Mapping[str, tuple[str, str]], pairs: Mapping[str, Sequence[tuple[str, str]]],
    outputs: Mapping[str, Mapping[str, Sequence[str]]],
) -> dict[str, list[Sample]]:  # fmt: skip
    rows, picked, ways = {}, dict[str, PickedLines](), {}
    for name, (_, domain) in sets.items():
        systems = list(outputs[name])
        first, last = outputs[name][systems[0]], outputs[name][systems[-1]]
        rows[name] = chosen_lines(first, last, [target for _, target in pairs[name]])
        picked[name] = picked_lines(run.draft.model, [source for source, _ in pairs[name]], domain, list(rows[name]))
        ways[name] = tuple(dict.fromkeys((systems[0], systems[-1])))
    told = explain_lines(run.draft.model, picked, ways)
    return {
        name: [
            Sample(
                row + 1, *pairs[name][row], {way: lines[row] for way, lines in outputs[name].items()}, why,
                {way: told[name, way][place] for way in ways[name]},
            )
            for place, (row, why) in enumerate(rows[name].items())
        ]
        for name in sets
    }  # fmt: skip


def _members(output_dir: Path, scores: ScoreTable) -> dict[str, list[list[str]]]:
    """What bags of different sizes make of each part: rows of its table, heads first."""
    parts = dict.fromkeys(part for part, _, _ in scores.scores)
    files = {part: output_dir / "translations" / f"{part}.members.txt" for part in parts}
    return {
        part: [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
        for part, path in files.items()
        if path.is_file()
    }
