"""The model folder: all that decoding needs; but KenLM files that rescore stay where they are.

model.json                   format version, names of components and language models, log-linear weights, weights of
                             labels, rescoring, provenance, consensus
components/<name>/           one folder a component
lm/                          the union of the language models, and their weights: see jaxsmt.model.language_models
lm-<name>/                   further language models, each a feature of its own
osm/                         the union of the operation sequence models, if it has them: see jaxsmt.osm.models
clusters/                    how sentences without a label get one, if the model has clusters
labels/                      how text without a label gets that of the nearest development set, if it has several
adaptation/                  what the model was adapted by, if it was: see jaxsmt.model.adaptation
source.* target.*            text settings and truecaser of either language, and what they know of rare words
manifest.json                size and sha256 of every file
"""

import dataclasses
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_folder, write_manifest, write_text
from jaxsmt.common.integrity.checks import damaged_files
from jaxsmt.common.settings import from_values
from jaxsmt.model.labelling.labellers import load_clusters
from jaxsmt.model.language_models import lm_folder, load_language_models
from jaxsmt.model.mixing import MixingConfig, Rules
from jaxsmt.model.model import LabelSettings, Mixing, Model
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.encoding import TextSide, load_side
from jaxsmt.text.vocabulary import Vocabulary
from jaxsmt.tm.component import load_component
from jaxsmt.tm.gathering.components import RuleTables

FORMAT_VERSION = 5
SETTINGS, COMPONENTS, CLUSTERS, ADAPTATION = "model.json", "components", "clusters", "adaptation"
OPERATIONS, LABELS = "osm", "labels"
SIDES = ("source", "target")


@dataclass(frozen=True)
class ModelFiles:
    """Finished folders that a model folder is made of.

    components: by name; lms: of the language models, by name, in their order.
    more: by their names in the model folder (CLUSTERS, LABELS, ADAPTATION, OPERATIONS).
    """

    components: Mapping[str, Path]
    lms: Mapping[str, Path]
    more: Mapping[str, Path] = field(default_factory=dict)


def write_model(folder: Path, model: Model, files: ModelFiles) -> None:
    """Writes a model folder; vocabularies are not stored, being those of the components."""
    settings = {
        "format_version": FORMAT_VERSION,
        "components": list(files.components),
        "language_models": {part.name: part.combination for part in model.lms},
        "search": dataclasses.asdict(model.search),
        "weights": dataclasses.asdict(model.weights),
        "mixing": dataclasses.asdict(model.mixing),
    }
    if model.osm_in_search:
        settings["osm_in_search"] = True
    if model.rescoring is not None:
        settings["rescoring"] = dataclasses.asdict(model.rescoring)
    if model.provenance is not None:
        settings["provenance"] = dataclasses.asdict(model.provenance)
    if model.consensus is not None:
        settings["consensus"] = dataclasses.asdict(model.consensus)
    with atomic_folder(folder) as temporary:
        for name, part in files.components.items():
            shutil.copytree(part, temporary / COMPONENTS / name, copy_function=shutil.copyfile)
        for name, part in {**{lm_folder(name): part for name, part in files.lms.items()}, **files.more}.items():
            shutil.copytree(part, temporary / name, copy_function=shutil.copyfile)
        for side, name in zip((model.source, model.target), SIDES, strict=True):
            dataclasses.replace(side, vocabulary=Vocabulary(())).save(temporary, name)
        write_text(temporary / SETTINGS, json.dumps(settings, indent=1, ensure_ascii=False) + "\n")
        write_manifest(temporary, {"format": FORMAT_VERSION, "stage": "model"})


def open_model(folder: str | Path) -> Model:
    """Opens a model folder."""
    folder = Path(folder)
    settings = _read_settings(folder / SETTINGS)
    _check(folder, settings)
    components = [load_component(folder / COMPONENTS / name) for name in settings["components"]]
    tables = RuleTables(components)
    source, target = with_words_of(tables, (load_side(folder, SIDES[0]), load_side(folder, SIDES[1])))
    return Model(
        Rules(tables),
        source,
        target,
        tuple(
            load_language_models(folder / lm_folder(name), name, combination)
            for name, combination in settings["language_models"].items()
        ),
        from_values(SearchConfig, settings["search"]),
        from_values(SearchWeights, settings["weights"]),
        _mixing(settings["mixing"]),
        **_further_parts(folder, settings),
    )


def _check(folder: Path, settings: Mapping[str, Any]) -> None:
    """Every file has the bytes that the manifest says, and no name leads out of the folder."""
    if damaged := damaged_files(folder):
        more = f" and {len(damaged) - 1} more files" if len(damaged) > 1 else ""
        raise UserError(
            f"'{folder / damaged[0]}'{more}: not what was written when the model was trained, so it is damaged or "
            "incomplete: copy the model again, or train it again"
        )
    for name in (*settings["components"], *settings["language_models"]):
        if Path(name).name != name:
            raise UserError(f"'{folder / SETTINGS}' names '{name}', which is no part of a model: train the model again")


def with_words_of(tables: RuleTables, sides: tuple[TextSide, TextSide]) -> tuple[TextSide, TextSide]:
    """Source and target side with the vocabularies of all components."""
    source, target = (
        dataclasses.replace(side, vocabulary=words.vocabulary) for side, words in zip(sides, tables.words, strict=True)
    )
    return source, target


def _mixing(settings: dict[str, Any]) -> Mixing:
    labels = settings["labels"]
    weights = {label: from_values(SearchWeights, part) for label, part in labels["weights"].items()}
    return Mixing(
        from_values(MixingConfig, settings["config"]),
        tuple(tuple(row) for row in settings["component_weights"]),
        LabelSettings(labels["mixtures"], labels["lm_mixtures"], weights),
    )


def _further_parts(folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Fields of `Model` that few models have; what is not there need not be imported."""
    parts: dict[str, Any] = {}
    if (folder / CLUSTERS).is_dir():
        parts["clusters"] = load_clusters(folder / CLUSTERS)
    if (folder / LABELS).is_dir():
        from jaxsmt.model.labelling.nearest_labels import load_nearest_labels

        parts["finder"] = load_nearest_labels(folder / LABELS)
    if (folder / ADAPTATION).is_dir():
        from jaxsmt.model.adaptation import load_adaptation

        parts["adaptation"] = load_adaptation(folder / ADAPTATION)
    if "rescoring" in settings:
        from jaxsmt.model.rescoring import rescoring_of

        parts["rescoring"] = rescoring_of(settings["rescoring"])
    if (folder / OPERATIONS).is_dir():
        from jaxsmt.osm.models import load_operation_models

        parts["operations"] = load_operation_models(folder / OPERATIONS)
        parts["osm_in_search"] = settings.get("osm_in_search", False)
    if "provenance" in settings:
        from jaxsmt.tm.provenance import Provenance

        parts["provenance"] = from_values(Provenance, settings["provenance"])
    if "consensus" in settings:
        from jaxsmt.adapt.consensus.config import ConsensusConfig

        parts["consensus"] = from_values(ConsensusConfig, settings["consensus"])
    return parts


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        version = settings["format_version"]
    except (FileNotFoundError, NotADirectoryError):
        found = f"'{path.parent}' is not a model folder"
        raise UserError(f"{found}: give one that training wrote (model_dir=…), or train one (jaxsmt train)") from None
    except (ValueError, KeyError, TypeError):
        raise UserError(f"'{path}' is damaged: train the model again") from None
    if version != FORMAT_VERSION:
        raise UserError(f"'{path.parent}' has format version {version}, not {FORMAT_VERSION}: train the model again")
    return settings
