"""The model folder: all that decode.py needs, and nothing that lies elsewhere.

model.json                   format version, names of the components, default log-linear weights
components/<name>/           one folder a component
source.* target.*            text settings and truecaser of either language
manifest.json                size and sha256 of every file
"""

import dataclasses
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import atomic_folder, write_text
from jaxsmt.lm.automaton import Automaton, load_automaton, to_device
from jaxsmt.pipeline.components import FOLDER
from jaxsmt.pipeline.config import WeightsConfig, room_config
from jaxsmt.pipeline.lms import AUTOMATON, EQUAL, VOCABULARY, WEIGHTS, LmMixture
from jaxsmt.pipeline.store import Artefact, write_manifest
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.text.encoding import TextSide, load_side
from jaxsmt.text.vocabulary import Vocabulary, load_vocabulary, merge_vocabularies
from jaxsmt.tm.component import Component, load_component
from jaxsmt.tm.union import UnionView, build_union
from jaxsmt.tm.weights import FEATURE_NAMES, check_weights

FORMAT_VERSION = 1


@dataclass(frozen=True)
class Model:
    """A trained model, opened; big arrays are memory-mapped until they are used."""

    components: list[Component]
    source: TextSide
    target: TextSide
    automaton: Automaton
    lm_vocabulary: Vocabulary
    lm_names: tuple[str, ...]
    lm_weights: dict[str, list[float]]
    domain_boost: float
    search: SearchConfig
    weights: WeightsConfig

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(component.name for component in self.components)

    @cached_property
    def union(self) -> UnionView:
        return build_union(self.components)

    def mixture(self, domain: str | None = None, given: Sequence[float] | None = None) -> np.ndarray:
        """Component weights λ [4, D]: given ones, or all 1 with the domain's component raised.

        All 1 is the concatenation of the corpora (Sennrich et al. 2013, section 3.1).
        """
        vector = np.ones(len(self.names)) if given is None else np.asarray(given, float)
        if domain is not None:
            if domain not in self.names:
                raise UserError(f"domain '{domain}' is not in the model: choose one of {', '.join(self.names)}")
            vector = np.where(np.array(self.names) == domain, self.domain_boost, vector)
        checked = check_weights(vector, self.names)
        return np.repeat(checked[None], len(FEATURE_NAMES), axis=0)

    def lm_mixture(self, domain: str | None = None, given: Sequence[float] | None = None) -> np.ndarray:
        """Weights of the language models [D], sum 1: given ones, those fitted to the domain's text, or equal ones."""
        if given is None:
            return np.array(self.lm_weights.get(domain or EQUAL, self.lm_weights[EQUAL]))
        checked = check_weights(given, self.lm_names)
        return checked / checked.sum()


def write_model(
    folder: Path, sides: tuple[TextSide, TextSide], components: Mapping[str, Artefact], lms: LmMixture,
    domain_boost: float, search: SearchConfig, weights: WeightsConfig,
) -> None:  # fmt: skip
    """Assembles a model folder from artefacts.

    sides: source and target language; their vocabularies are not stored, being those of the components.
    """
    settings = {
        "format_version": FORMAT_VERSION,
        "components": list(components),
        "domain_boost": domain_boost,
        "search": dataclasses.asdict(search),
        "weights": dataclasses.asdict(weights),
    }
    with atomic_folder(folder) as temporary:
        for name, artefact in components.items():
            shutil.copytree(artefact.folder / FOLDER, temporary / "components" / name, copy_function=_link_or_copy)
        shutil.copytree(lms.artefact.folder, temporary / "lm", copy_function=_link_or_copy)
        for side, name in zip(sides, ("source", "target"), strict=True):
            dataclasses.replace(side, vocabulary=Vocabulary(())).save(temporary, name)
        write_text(temporary / "model.json", json.dumps(settings, indent=1, ensure_ascii=False) + "\n")
        write_manifest(temporary, {"format": FORMAT_VERSION, "stage": "model"})


def load_model(folder: str | Path) -> Model:
    """Opens a model folder."""
    folder = Path(folder)
    settings = _read_settings(folder / "model.json")
    components = [load_component(folder / "components" / name) for name in settings["components"]]
    sources, _ = merge_vocabularies([component.source_vocabulary for component in components])
    targets, _ = merge_vocabularies([component.target_vocabulary for component in components])
    mixture = json.loads((folder / "lm" / WEIGHTS).read_text(encoding="utf-8"))
    return Model(
        components,
        dataclasses.replace(load_side(folder, "source"), vocabulary=sources),
        dataclasses.replace(load_side(folder, "target"), vocabulary=targets),
        to_device(load_automaton(folder / "lm" / AUTOMATON)),
        load_vocabulary(folder / "lm" / VOCABULARY),
        tuple(mixture["names"].values()),
        mixture["weights"],
        settings["domain_boost"],
        room_config(SearchConfig, settings["search"]),
        room_config(WeightsConfig, settings["weights"]),
    )


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        version = settings["format_version"]
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"'{path.parent}' is not a model folder: give one that train.py wrote (model_dir=…)") from None
    except (ValueError, KeyError, TypeError):
        raise UserError(f"'{path}' is damaged: train the model again") from None
    if version != FORMAT_VERSION:
        raise UserError(f"'{path.parent}' has format version {version}, not {FORMAT_VERSION}: train the model again")
    return settings


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)  # artefacts never change, so both names can share the bytes
    except OSError:
        shutil.copy2(source, target)
