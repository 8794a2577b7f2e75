"""The device is set up as the configuration says, and compiled kernels are given back in time."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsmt.common import device
from jaxsmt.common.device import DETERMINISTIC_FLAG, FRACTION_VARIABLES, LOOP_FLAGS, DeviceConfig, release_kernels
from jaxsmt.common.errors import UserError
from tests.conftest import REPOSITORY


def test_nothing_is_released_far_from_the_limit():
    assert not release_kernels(share=1.0)


def test_kernels_are_compiled_again_after_a_release():
    if not device.MAPS.is_file():
        pytest.skip("only Linux counts memory maps")
    double = jax.jit(lambda x: 2 * x)
    before = np.asarray(double(jnp.arange(3)))
    assert double._cache_size() == 1
    assert release_kernels(share=0.0)
    assert double._cache_size() == 0
    np.testing.assert_array_equal(double(jnp.arange(3)), before)


def test_systems_that_count_no_maps_release_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(device, "MAPS", tmp_path / "missing")
    assert not release_kernels(share=0.0)


@pytest.mark.parametrize(
    ("setting", "said"),
    [({"kind": "abacus"}, "device.kind"), ({"precision": "low"}, "device.precision"),
     ({"memory_fraction": 0.0}, "memory_fraction"), ({"memory_fraction": 1.5}, "memory_fraction")],
)  # fmt: skip
def test_a_wrong_setting_is_named(setting, said):
    with pytest.raises(UserError, match=said):
        DeviceConfig(**setting)


def test_sizes_for_another_kind_end_with_the_block():
    own = device.device_kind()
    with device.sizes_for("gpu"):
        assert device.device_kind() == "gpu"
    assert device.device_kind() == own


def run(program, **variables):
    """What a process prints that has not used a device before the program."""
    environment = {key: value for key, value in os.environ.items() if key not in ("XLA_FLAGS", *FRACTION_VARIABLES)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=REPOSITORY,
        env={**environment, **variables},
    )  # fmt: skip
    return done.stdout.split()


def test_settings_reach_jax():
    program = """
import os, jax
from jaxsmt.common.device import DeviceConfig, device_name, memory_fraction, setup_device
setup_device(DeviceConfig("cpu", 0.5, "default", deterministic=True))
print(jax.default_backend(), os.environ["XLA_CLIENT_MEM_FRACTION"], jax.config.jax_default_matmul_precision)
print(os.environ["XLA_FLAGS"], memory_fraction(), device_name().split(",")[0])
jax.jit(lambda x: x + 1)(1).block_until_ready()  # an unknown flag would end the process here
"""
    assert run(program) == ["cpu", "0.5", "default", DETERMINISTIC_FLAG, "0.5", "CPU"]
    given = run(program, XLA_FLAGS="--xla_cpu_enable_fast_min_max=false", XLA_PYTHON_CLIENT_MEM_FRACTION="0.9",
                XLA_CLIENT_MEM_FRACTION="0.8")  # fmt: skip
    assert given[1] == "0.8"  # what the user set stays
    assert given[3:5] == ["--xla_cpu_enable_fast_min_max=false", DETERMINISTIC_FLAG]


def test_only_gpus_of_nvidia_are_handed_whole_loops(monkeypatch):
    def flags(config, platforms, plugin="jax_cuda12_plugin", version=(0, 10, 2)):
        monkeypatch.setenv("XLA_FLAGS", "")
        monkeypatch.setattr(device.importlib.util, "find_spec", lambda name: name == plugin or None)
        monkeypatch.setattr(device.jax, "__version_info__", version)
        monkeypatch.setattr(device, "_choose", lambda kind: None)
        before = jax.config.jax_platforms, device._settings
        jax.config.update("jax_platforms", platforms)
        try:
            device.setup_device(config)
        finally:
            jax.config.update("jax_platforms", before[0])
            device._settings = before[1]
        return os.environ["XLA_FLAGS"].split()

    asked = DeviceConfig(command_buffers=True)
    assert flags(asked, None) == list(LOOP_FLAGS)
    assert flags(DeviceConfig("gpu", command_buffers=True), "cuda,cpu") == list(LOOP_FLAGS)
    assert flags(DeviceConfig(), None) == []
    assert flags(asked, "cpu") == []
    assert flags(DeviceConfig("cpu", command_buffers=True), None) == []
    assert flags(asked, None, plugin="") == []
    assert flags(asked, None, version=(0, 9, 2)) == []


def test_flags_of_the_user_stay(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_enable_command_buffer= --other=1")
    device.add_flags(*LOOP_FLAGS)
    assert os.environ["XLA_FLAGS"].split() == ["--xla_gpu_enable_command_buffer=", "--other=1", LOOP_FLAGS[1]]


def test_a_device_that_is_not_there_is_an_error():
    program = """
import jax
from jaxsmt.common.device import DeviceConfig, setup_device
from jaxsmt.common.errors import UserError
try:
    setup_device(DeviceConfig("tpu"))
except UserError as error:
    print("found none" if "jaxsmt[tpu]" in str(error) else error)
else:
    print("found", jax.default_backend())
"""
    assert run(program) in (["found", "none"], ["found", "tpu"])


def test_the_kind_cannot_change_within_a_process():
    program = """
import jax
from jaxsmt.common.device import DeviceConfig, setup_device
jax.config.update("jax_platforms", "cpu")
jax.devices()
try:
    setup_device(DeviceConfig("gpu"))
except Exception as error:
    print(type(error).__name__, "another" in str(error))
"""
    assert run(program) == ["UserError", "True"]
