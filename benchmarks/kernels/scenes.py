"""Runs that together call every kernel: the demo trained and translated in several ways, or texts given to a model."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import jax
from hydra import compose, initialize_config_dir

import jaxsmt
from jaxsmt.common.device import sizes_for
from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.config.folder import conf_folder
from jaxsmt.pipeline.config.keys import register_all_schemas

from .recording import Kernel, recorded

TUNING = ("loop.max_iterations=1", "nbest_size=50")
SCENES = {
    "phrases": ("search=chart",),
    "hiero": ("extract=hiero", "tune=mert", *TUNING),
    "stack": ("tune=mira", "adapt=bpa", *TUNING),
    "chains": ("tune=pro", "adapt=bpa", "adapt.sampler=mcmc", "adapt.chain_length=100", *TUNING),
    "recogniser": ("tune=mira", "adapt=recognise", "adapt.classifier=logistic", "mixture=linear", *TUNING),
    "clusters": ("mixture=clusters", "lm/classes=exchange"),
    "ensemble": ("mixture=wsum", "search=chart"),
}


@dataclass
class Recording:
    """Kernels found so far; kind: of the device that batches and tiles are chosen for while they are recorded."""

    kind: str = "gpu"
    found: dict[tuple[str, str], Kernel] = field(default_factory=dict)

    def train(self, scene: str, overrides: Sequence[str], folder: Path) -> None:
        """Trains and translates as the overrides say; artefacts are shared with other scenes in the folder."""
        register_all_schemas()
        with initialize_config_dir(str(conf_folder()), version_base="1.3"):
            places = [f"work_dir={folder}", f"output_dir={folder / 'runs' / scene}"]
            config = compose("train", [*overrides, *places])
        with self._recording(scene):
            train(config)

    def translate(self, scene: str, model: Path, lines: Sequence[str]) -> None:
        """Translates lines with a trained model."""
        with self._recording(scene):
            jaxsmt.load_model(model).translate(lines)

    @contextmanager
    def _recording(self, scene: str) -> Iterator[None]:
        jax.clear_caches()  # kernels that were traced before have the sizes of this device
        with sizes_for(self.kind), recorded(scene, self.found), redirect_stdout(io.StringIO()):
            yield
        jax.clear_caches()

    def kernels(self) -> list[Kernel]:
        """All of them by name."""
        return sorted(self.found.values(), key=lambda kernel: kernel.title)
