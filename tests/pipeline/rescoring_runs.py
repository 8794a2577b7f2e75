"""What tests of rescoring share: a quick training, its model with other weights, and decode.py on a test set."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from jaxsmt.common.files import MANIFEST, write_manifest
from jaxsmt.model.folder import SETTINGS
from jaxsmt.pipeline.commands.decode import decode
from tests.pipeline.small_corpus import compose_config

QUICK = ["align=ibm1", "align.ibm1_iterations=2", "lm=trigram", "translate=[test]"]


def with_weights(run: Path, copy: Path, weights: Sequence[float]) -> Path:
    """A copy of a run's model whose further features have these weights; it needs nothing but its folder."""
    shutil.copytree(run / "model", copy / "model")
    settings = json.loads((copy / "model" / SETTINGS).read_text())
    settings["rescoring"]["weights"] = list(weights)
    write_settings(copy / "model", settings)
    return copy


def write_settings(model: Path, settings: dict) -> None:
    """Gives a model other settings, as if it had been trained with them."""
    (model / SETTINGS).write_text(json.dumps(settings))
    (model / MANIFEST).unlink()
    write_manifest(model, {})


def source_lines(folder: Path) -> list[str]:
    """The test set of travel; folder: where `write_corpus` wrote folder/corpus."""
    return (folder / "corpus" / "travel.test.fr").read_text(encoding="utf-8").splitlines()


def decoded(folder: Path, run: Path, *options: str) -> list[str]:
    """What decode.py makes of it with the model of a run; as text of no domain, unless the options name one."""
    files = [f"input={folder / 'corpus' / 'travel.test.fr'}", f"output={folder / 'out'}"]
    domain = [] if any(option.startswith("domain=") for option in options) else ["domain=none"]
    decode(compose_config("decode", [f"model_dir={run / 'model'}", *files, *domain, *options]))
    return (folder / "out").read_text(encoding="utf-8").splitlines()
