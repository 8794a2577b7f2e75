"""Label files, what labels have in common, and classes put together."""

import itertools

import numpy as np
import pytest

from jaxsmt.adapt.clusters.labels import (
    Labels,
    contingency,
    join_labels,
    make_labels,
    merge_smallest,
    read_labels,
)
from jaxsmt.common.errors import UserError


def test_label_file_comes_back(tmp_path):
    labels = make_labels(["law", "it", "law", "médecine"])
    assert labels.names == ("it", "law", "médecine")
    assert labels.counts.tolist() == [1, 2, 1]
    assert labels.rows_of("law").tolist() == [0, 2]
    (tmp_path / "labels.txt").write_text("law\nit\nlaw\nmédecine\n", encoding="utf-8")
    again = read_labels(tmp_path / "labels.txt", 4)
    assert again.names == labels.names
    np.testing.assert_array_equal(again.index, labels.index)
    named = read_labels(tmp_path / "labels.txt", names=("médecine", "law", "game", "it"))
    assert named.index.tolist() == [1, 3, 1, 0]
    assert named.per_sentence == labels.per_sentence
    (tmp_path / "none.txt").touch()
    assert len(read_labels(tmp_path / "none.txt", 0)) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("it\nlwa\nlaw\n", "labels.txt' line 2 has the label 'lwa', .* did you mean 'law'. use one of it, law$"),
        ("it\nlaw\nquite other\n", "line 3 has the label 'quite other', which is not known: use one of it, law$"),
        ("it\n \nlaw\n", "labels.txt' line 2 is empty: give every sentence a label"),
        ("it\nlaw\n", "labels.txt' has 2 labels for 3 sentences"),
        ("it\nlaw\nit\nlaw\n", "has 4 labels for 3 sentences"),
        ("", "labels.txt' is empty"),
    ],
)
def test_bad_label_files_are_named(tmp_path, text, message):
    (tmp_path / "labels.txt").write_text(text)
    with pytest.raises(UserError, match=message):
        read_labels(tmp_path / "labels.txt", 3, ("it", "law"))


def test_bad_labels_are_named():
    with pytest.raises(UserError, match=r"sentence 2 has the label 'lawe', .* did you mean 'law'"):
        make_labels(["it", "lawe"], ("it", "law"))
    with pytest.raises(UserError, match="2 labels and 1 gold labels"):
        contingency(make_labels(["a", "b"]), make_labels(["a"]))


def test_joined_labels():
    joined = join_labels([Labels(("b", "z"), np.array([0, 0])), Labels(("a", "b"), np.array([1, 0]))])
    assert joined.names == ("b", "z", "a")
    assert joined.per_sentence == ["b", "b", "b", "a"]


@pytest.mark.parametrize("seed", range(3))
def test_the_contingency_table_equals_its_definition(seed):
    rng = np.random.default_rng(seed)
    labels, gold = (Labels(tuple("abcd"), rng.integers(0, size, 30).astype(np.int32)) for size in (3, 4))
    pairs = list(zip(labels.per_sentence, gold.per_sentence, strict=True))
    table = contingency(labels, gold)
    for (i, name), (j, other) in itertools.product(enumerate("abcd"), repeat=2):
        assert table[i, j] == pairs.count((name, other))
    assert not contingency(labels.take(np.arange(0)), gold.take(np.arange(0))).any()


def test_smallest_classes_are_merged_step_by_step():
    sizes = {"a": 50, "b": 10, "c": 40, "d": 15, "e": 30}
    dev = make_labels([name for name, size in sizes.items() for _ in range(size)])
    expected = {
        5: ("a", "b", "c", "d", "e"),
        4: ("a", "b+d", "c", "e"),  # 50 25 40 30
        3: ("a", "b+d+e", "c"),  # 50 55 40
        2: ("a+c", "b+d+e"),
        1: ("a+c+b+d+e",),
    }
    test = make_labels(list("badec"), dev.names)
    for num_classes, names in expected.items():
        merging = merge_smallest(dev, num_classes)
        assert merging.names == names
        merged = merging.apply(test)
        assert all(old in new.split("+") for old, new in zip("badec", merged.per_sentence, strict=True))
        assert merging.apply(dev).counts.sum() == len(dev)
    for num_classes in (0, 6):
        with pytest.raises(UserError, match=f"cannot be merged into {num_classes}: give 1 to 5"):
            merge_smallest(dev, num_classes)
    with pytest.raises(ValueError, match="the merging is of"):
        merging.apply(make_labels(["a"]))


def test_equal_and_absent_classes_merge_in_order():
    dev = make_labels(["a", "b", "c", "c"], ("a", "b", "c", "nobody"))
    assert merge_smallest(dev, 3).names == ("a+nobody", "b", "c")
    assert merge_smallest(dev, 2).names == ("a+nobody+b", "c")
