"""A model folder that is not as it was written is refused with one sentence, whatever happened to its files."""

import json
import shutil

import numpy as np
import pytest

import jaxsmt
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import MANIFEST, write_manifest
from jaxsmt.model.folder import SETTINGS
from jaxsmt.pipeline.commands.train import train
from tests.faults.conftest import QUICK
from tests.faults.damage import DAMAGE, damage_model, damage_store, flipped
from tests.pipeline.small_corpus import files_below, train_config, write_corpus


@pytest.fixture
def model(trained, tmp_path):
    shutil.copytree(trained / "model", tmp_path / "model")
    return tmp_path / "model"


def test_no_damage_to_a_model_goes_unnoticed(model):
    found = damage_model(model, dict.fromkeys(DAMAGE, 2), np.random.default_rng(0))
    assert found.number > 100
    assert (found.silent, found.tracebacks) == ([], [])


def test_damage_to_a_store_is_named_and_built_again(trained, tmp_path):
    shutil.copytree(trained / "artefacts", tmp_path / "artefacts")
    found = damage_store(tmp_path / "artefacts", dict.fromkeys(DAMAGE, 1), np.random.default_rng(0))
    assert found.number > 100
    assert (found.silent, found.tracebacks) == ([], [])


def test_the_damaged_file_is_named(model):
    path = next(model.glob("components/kitchen/*.safetensors"))
    path.write_bytes(flipped(path.read_bytes(), path.stat().st_size - 1))
    with pytest.raises(UserError, match=r"kitchen.*safetensors.*damaged"):
        jaxsmt.load_model(model)


def test_no_name_in_the_settings_leads_outside(model):
    settings = json.loads((model / SETTINGS).read_text())
    settings["components"][0] = "../../elsewhere"
    (model / SETTINGS).write_text(json.dumps(settings))
    (model / MANIFEST).unlink()
    write_manifest(model, {})
    with pytest.raises(UserError, match="no part of a model"):
        jaxsmt.load_model(model)


def test_models_and_artefacts_share_no_bytes_on_disk(trained):
    inodes = [{path.stat().st_ino for path in (trained / part).rglob("*")} for part in ("artefacts", "model")]
    assert not inodes[0] & inodes[1]


def test_a_damaged_model_leaves_the_artefacts_alone(trained):
    """The same command makes a good model of the artefacts again."""
    before = files_below(trained / "model")
    path = next((trained / "model").glob("components/travel/*.safetensors"))
    path.write_bytes(flipped(path.read_bytes(), path.stat().st_size // 2))
    corpus = write_corpus(trained / "corpus")
    train(train_config(trained, [*corpus, *QUICK]))
    assert files_below(trained / "model") == before
