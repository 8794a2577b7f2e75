"""Work on one device or on several of a machine: the same bytes, whatever is done, also on nothing and on one piece."""

import os
import subprocess
import sys

import pytest

from jaxsmt.common.arrays import open_arrays
from jaxsmt.common.devices.spreading import Replicas, placed, spread
from tests.conftest import REPOSITORY

FLAG = "--xla_force_host_platform_device_count"
KINDS = ["align", "bpa", "bag", "fits", "search"]
NUMBERS = (1, 2, 4)


def test_results_come_in_order():
    seen = []

    def work(number, piece):
        seen.append(number)
        return [piece] * piece

    assert list(spread(work, [2, 0, 1])) == [2, 2, 1]
    assert list(spread(work, [])) == []
    assert seen == [0, 1, 2]


def test_one_device_needs_no_copies():
    value = object()
    assert Replicas(value).on(5) is value
    assert placed(value, 5) is value


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What `device_pieces` writes in processes that have so many devices."""
    folder = tmp_path_factory.mktemp("devices")
    for number in NUMBERS:
        flags = f"{os.environ.get('XLA_FLAGS', '')} {FLAG}={number}"
        command = [sys.executable, "-m", "tests.common.device_pieces", folder / str(number)]
        subprocess.run(command, check=True, cwd=REPOSITORY, env={**os.environ, "XLA_FLAGS": flags.strip()})
    return {number: open_arrays(folder / str(number)) for number in NUMBERS}


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_devices_changes_no_byte(found, kind):
    names = [name for name in found[1] if name.startswith(f"{kind}/")]
    assert len(names) >= 5
    for number in NUMBERS:
        assert found[number]["devices"] == number
        assert set(found[number]) == set(found[1])
        for name in names:
            one, several = found[1][name], found[number][name]
            assert (one.dtype, one.shape, one.tobytes()) == (several.dtype, several.shape, several.tobytes()), name


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_every_device_has_work(found, kind):
    """A program is compiled for the device that it runs on."""
    names = [name for name in found[1] if name.startswith(f"programs/{kind}/")]
    assert names
    for name in names:
        assert found[1][name] < found[2][name] <= found[4][name] <= 4 * found[1][name], name
