import json
from dataclasses import fields, replace

import numpy as np
import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.tm.component import load_component, save_component
from jaxsmt.tm.restrict import prune_component
from tests.tm.small_models import random_model, to_component


def random_component(seed: int, size: int = 20, kind: str = "hiero", with_orientations: bool = False):
    rng = np.random.default_rng(seed)
    component = to_component(random_model(rng, size, kind), f"corpus {seed}", rng, kind)
    if with_orientations:
        counts = rng.integers(0, 5, (size, 6)).astype(np.float32)
        component = replace(component, rules=replace(component.rules, orientation_counts=counts))
    return component


def assert_equal_components(first, second):
    assert (first.name, first.kind) == (second.name, second.kind)
    assert first.source_vocabulary == second.source_vocabulary
    assert first.target_vocabulary == second.target_vocabulary
    for one, other in ((first.rules, second.rules), (first.lexical, second.lexical)):
        for field in fields(one):
            a, b = getattr(one, field.name), getattr(other, field.name)
            assert (a is None) == (b is None)
            if a is not None:
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("size", [0, 1, 20])
@pytest.mark.parametrize("with_orientations", [False, True])
def test_folders_hold_the_component_byte_for_byte(tmp_path, size, with_orientations):
    component = random_component(1, size, with_orientations=with_orientations)
    for name in ("a", "b"):
        save_component(component, tmp_path / name)
    assert_equal_components(load_component(tmp_path / "a"), component)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == ["component.json", "component.safetensors", "source.vocabulary", "target.vocabulary"]
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.fixture
def folder(tmp_path):
    save_component(random_component(2), tmp_path / "model")
    return tmp_path / "model"


def fails(folder, *words):
    with pytest.raises(UserError) as error:
        load_component(folder)
    for word in words:
        assert word in str(error.value)


def test_missing_folder_and_files_are_named(folder):
    fails(folder / "elsewhere", "elsewhere", "component.json")
    (folder / "component.safetensors").unlink()
    fails(folder, "component.safetensors", "does not exist")


def test_truncated_arrays_are_noticed(folder):
    path = folder / "component.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    fails(folder, "component.safetensors", "truncated")


def test_truncated_vocabulary_is_noticed(folder):
    path = folder / "source.vocabulary"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    fails(folder, "do not belong together")


def test_other_versions_are_named(folder):
    path = folder / "component.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format_version": 99}))
    fails(folder, "99", "make it again")


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "{}", '{"format_version": 1}', '{"format_version": 1, "shapes": {"a": [1]}}']
)
def test_damaged_manifests_are_named(folder, text):
    (folder / "component.json").write_text(text)
    fails(folder, "component.json", "damaged")


def test_unknown_kinds_are_refused(tmp_path):
    with pytest.raises(UserError, match="phrase, hiero"):
        save_component(replace(random_component(1), kind="tree"), tmp_path / "model")


@pytest.mark.parametrize("limit", [1, 2, 50])
@pytest.mark.parametrize("size", [0, 1, 40])
def test_pruning_keeps_the_most_frequent(limit, size):
    rng = np.random.default_rng(size)
    component = to_component(random_model(rng, size, num_words=2), "c", rng)
    rules = component.rules
    expected = []
    for source in range(len(rules.source_sides)):
        places = [p for p in range(len(rules)) if rules.source_index[p] == source]
        expected += sorted(sorted(places, key=lambda p: (-rules.joint_counts[p], rules.target_index[p]))[:limit])
    pruned = prune_component(component, limit).rules
    assert size < 40 or limit == 50 or len(pruned) < len(rules)
    for name in ("source_index", "target_index", "joint_counts", "links_by_target", "links_by_source"):
        np.testing.assert_array_equal(getattr(pruned, name), getattr(rules, name)[expected])
    for name in ("source_sides", "target_sides", "source_counts", "target_counts"):
        assert getattr(pruned, name) is getattr(rules, name)


def test_pruning_to_nothing_is_refused():
    with pytest.raises(UserError, match="pairs_per_source is 0"):
        prune_component(random_component(1), 0)
