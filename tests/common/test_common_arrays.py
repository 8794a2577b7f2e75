"""Arrays on disk: what was saved is what is opened, and other readers agree."""

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from jaxsmt.common import arrays as arrays_module
from jaxsmt.common.arrays import open_arrays, release_pages, save_arrays, take_rows
from jaxsmt.common.errors import UserError

DTYPES = st.sampled_from(["bool", "uint8", "int16", "uint16", "int32", "int64", "uint64", "float32", "float64"])
ARRAYS = DTYPES.flatmap(
    lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)


@settings(max_examples=50)
@given(arrays=st.dictionaries(st.text("abcxyz_", min_size=1, max_size=5), ARRAYS, max_size=5))
def test_what_is_saved_is_what_safetensors_and_we_open(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("arrays") / "a.safetensors"
    save_arrays(path, arrays)
    for opened in (open_arrays(path), safetensors.numpy.load_file(path)):
        assert opened.keys() == arrays.keys()
        for name, array in arrays.items():
            assert opened[name].dtype == array.dtype
            assert opened[name].shape == array.shape
            np.testing.assert_array_equal(opened[name], array)


def test_order_of_names_does_not_change_the_bytes(tmp_path):
    one, two = np.arange(3, dtype=np.int32), np.arange(4.0)
    save_arrays(tmp_path / "a", {"one": one, "two": two})
    save_arrays(tmp_path / "b", {"two": two, "one": one})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_opened_arrays_are_mapped_and_read_only(tmp_path):
    save_arrays(tmp_path / "a", {"x": np.arange(1000)})
    opened = open_arrays(tmp_path / "a")["x"]
    assert not opened.flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        opened[0] = 1


@pytest.mark.parametrize("kept", [0, 4, 20, 100, 8000])
def test_a_truncated_file_is_named(tmp_path, kept):
    save_arrays(tmp_path / "a", {"x": np.arange(1000)})
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:kept])
    with pytest.raises(UserError, match=r"a' is .*truncated.*make it again"):
        open_arrays(tmp_path / "a")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"nothing' does not exist"):
        open_arrays(tmp_path / "nothing")


def test_a_failed_save_leaves_nothing(tmp_path):
    with pytest.raises(KeyError):
        save_arrays(tmp_path / "a", {"x": np.array(["text"])})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("large", [0, 1 << 30])
def test_rows_are_taken_from_the_disk_and_from_memory(tmp_path, monkeypatch, large):
    monkeypatch.setattr(arrays_module, "LARGE_BYTES", large)
    monkeypatch.setattr(arrays_module, "ROWS_AT_ONCE", 3)
    table = np.arange(40, dtype=np.int32).reshape(20, 2)
    save_arrays(tmp_path / "a.safetensors", {"table": table, "empty": table[:0]})
    opened = open_arrays(tmp_path / "a.safetensors")
    for rows in ([], [7], [19, 0, 0, 5, 6, 7, 3]):
        for array in (table, opened["table"]):
            taken = take_rows(array, np.array(rows, np.int64))
            np.testing.assert_array_equal(taken, table[rows])
            assert taken.dtype == table.dtype
    assert take_rows(opened["empty"], np.zeros(0, np.int64)).shape == (0, 2)
    release_pages(opened["table"])
    np.testing.assert_array_equal(opened["table"], table)
