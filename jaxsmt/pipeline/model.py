"""The model folder: all that decode.py needs, and nothing that lies elsewhere.

model.json                   format version, names of the components, default log-linear weights
components/<name>/           one folder a component
source.* target.*            text settings, vocabulary and truecaser of either language
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
from jaxsmt.pipeline.components import FOLDER
from jaxsmt.pipeline.config import TmConfig
from jaxsmt.pipeline.store import Artefact, write_manifest
from jaxsmt.pipeline.texts import ComponentText, merge_sides
from jaxsmt.search.monotone import MonotoneConfig
from jaxsmt.text.encoding import TextSide, load_side
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
    tm: TmConfig
    search: MonotoneConfig

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(component.name for component in self.components)

    @cached_property
    def union(self) -> UnionView:
        return build_union(self.components)

    def weights(self, domain: str | None = None, given: Sequence[float] | None = None) -> np.ndarray:
        """Component weights λ [4, D]: given ones, or all 1 with the domain's component raised.

        All 1 is the concatenation of the corpora (Sennrich et al. 2013, section 3.1).
        """
        vector = np.ones(len(self.names)) if given is None else np.asarray(given, float)
        if domain is not None:
            if domain not in self.names:
                raise UserError(f"domain '{domain}' is not in the model: choose one of {', '.join(self.names)}")
            vector = np.where(np.array(self.names) == domain, self.tm.domain_boost, vector)
        checked = check_weights(vector, self.names)
        return np.repeat(checked[None], len(FEATURE_NAMES), axis=0)


def write_model(
    folder: Path,
    texts: Sequence[ComponentText],
    components: Mapping[str, Artefact],
    tm: TmConfig,
    search: MonotoneConfig,
) -> None:
    """Assembles a model folder from artefacts."""
    settings = {
        "format_version": FORMAT_VERSION,
        "components": list(components),
        "tm": dataclasses.asdict(tm),
        "search": dataclasses.asdict(search),
    }
    with atomic_folder(folder) as temporary:
        for name, artefact in components.items():
            shutil.copytree(artefact.folder / FOLDER, temporary / "components" / name, copy_function=_link_or_copy)
        merge_sides([text.source for text in texts]).save(temporary, "source")
        merge_sides([text.target for text in texts]).save(temporary, "target")
        write_text(temporary / "model.json", json.dumps(settings, indent=1, ensure_ascii=False) + "\n")
        write_manifest(temporary, {"format": FORMAT_VERSION, "stage": "model"})


def load_model(folder: str | Path) -> Model:
    """Opens a model folder."""
    folder = Path(folder)
    settings = _read_settings(folder / "model.json")
    components = [load_component(folder / "components" / name) for name in settings["components"]]
    search = {**settings["search"], "feature_weights": tuple(settings["search"]["feature_weights"])}
    return Model(
        components,
        load_side(folder, "source"),
        load_side(folder, "target"),
        TmConfig(**settings["tm"]),
        MonotoneConfig(**search),
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
