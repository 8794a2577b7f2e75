"""How JAX is set up for a run, and how a long run gives back what it compiled."""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jax

from jaxsmt.common.devices.threads import fix_threads
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import cache_folder
from jaxsmt.common.settings import check_choices

KINDS = ("auto", "cpu", "gpu", "tpu")
PRECISIONS = ("highest", "high", "default")
FRACTION_VARIABLES = ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION")
# scatters add in a fixed order, after a sort, instead of atomically; products choose no algorithm by measuring
DETERMINISTIC_FLAG = "--xla_gpu_deterministic_ops=true"
# loops and branches go to the device inside of the command buffer that they are part of (CUDA 12.3 and newer), even if
# the program has few launches beside them; else the host asks for a condition after every iteration
LOOP_FLAGS = ("--xla_gpu_enable_command_buffer=+WHILE,+CONDITIONAL", "--xla_gpu_graph_min_graph_size=1")
LOOPS_SINCE = (0, 10)  # of JAX: before, loops in command buffers crashed when they ran again (openxla/xla#35760)
MAPS = Path("/proc/self/maps")
MAPS_LIMIT = Path("/proc/sys/vm/max_map_count")
MAPS_SHARE = 0.3  # of the limit; one stage, or one file of tests, adds less than the rest


@dataclass(frozen=True)
class DeviceConfig:
    """Where programs run, and how.

    kind: 'cpu', 'gpu' or 'tpu'; 'auto' takes what JAX finds.
    memory_fraction: how much of the device's memory may be used.
    precision: of matrix products that state none of their own (those inside of optimisers do not): 'highest' is
      float32, 'high' and 'default' are as many bits as the device likes. What decides results always states 'highest'.
    deterministic: XLA adds in a fixed order everywhere, for more time; only on a GPU does it differ.
    command_buffers: a GPU is handed whole programs with their loops, and asks the host nothing on the way. XLA does
      not do so by itself, and nobody has tried it with these programs.
    """

    kind: str = "auto"
    memory_fraction: float = 0.75
    precision: str = "highest"
    deterministic: bool = False
    command_buffers: bool = False

    def __post_init__(self) -> None:
        check_choices(self, "device", {"kind": KINDS, "precision": PRECISIONS})
        if not 0 < self.memory_fraction <= 1:
            raise UserError(
                f"device.memory_fraction is {self.memory_fraction}: give a number above 0 and up to 1, such as 0.75"
            )


_settings = DeviceConfig()
_is_set_up = False
_sizes_for: str | None = None


def setup_device(config: DeviceConfig | None = None) -> None:
    """Prepares JAX as the configuration says, with the persistent compilation cache: a second process starts warm.

    Kind, memory, determinism and threads must be known before JAX first uses a device; a later change of the kind is an
    error. The cache lies in jaxsmt.common.files.cache_folder.
    """
    global _settings, _is_set_up
    _is_set_up = True
    folder = cache_folder() / "compiled"
    folder.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    _settings = config or DeviceConfig()
    jax.config.update("jax_default_matmul_precision", _settings.precision)
    if not any(variable in os.environ for variable in FRACTION_VARIABLES):
        os.environ[FRACTION_VARIABLES[0]] = str(_settings.memory_fraction)
    fix_threads()
    if _settings.deterministic:
        add_flags(DETERMINISTIC_FLAG)
    if _settings.command_buffers and _may_use_cuda(_settings.kind):
        add_flags(*LOOP_FLAGS)
    if _settings.kind != "auto":
        _choose(_settings.kind)


def add_flags(*flags: str) -> None:
    """Gives XLA flags that it is not given yet; what the user says of them stays. Before a device is first used."""
    given = os.environ.get("XLA_FLAGS", "").split()
    names = {flag.partition("=")[0] for flag in given}
    os.environ["XLA_FLAGS"] = " ".join([*given, *(flag for flag in flags if flag.partition("=")[0] not in names)])


def _may_use_cuda(kind: str) -> bool:
    """Whether JAX would find one of NVIDIA's GPUs if it is there, and knows how to hand it loops."""
    platforms = getattr(jax.config, "jax_platforms", None) or "cuda"  # a setting that is not declared
    is_allowed = kind in ("auto", "gpu") and any(name in platforms.split(",") for name in ("cuda", "gpu"))
    has_plugin = any(importlib.util.find_spec(f"jax_cuda{number}_plugin") for number in (12, 13))
    return is_allowed and has_plugin and jax.__version_info__ >= LOOPS_SINCE


def _choose(kind: str) -> None:
    """Makes JAX use a kind of device, or says why it cannot."""
    jax.config.update("jax_platforms", {"gpu": "cuda,rocm"}.get(kind, kind))
    try:
        found = jax.default_backend()
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"device.kind is '{kind}', and JAX finds none ({reason}): {_advice(kind)}") from None
    if found != kind:
        raise UserError(f"device.kind is '{kind}', and this process already uses '{found}': start another one")


def _advice(kind: str) -> str:
    wheels = {"gpu": "install jaxsmt[cuda12] or jaxsmt[cuda13]", "tpu": "install jaxsmt[tpu]"}
    return f"{wheels.get(kind, 'look at JAX_PLATFORMS')}, or set device.kind to auto"


def device_settings() -> DeviceConfig:
    """Those that this process was set up with."""
    return _settings


def is_set_up() -> bool:
    """Whether `setup_device` was called: what is compiled goes to the user's cache."""
    return _is_set_up


def memory_fraction() -> float:
    """How much of the device's memory may be used."""
    return _settings.memory_fraction


def device_kind() -> str:
    """cpu, gpu or tpu: what sizes of batches and tiles are chosen for. No result depends on it."""
    return _sizes_for or jax.default_backend()


@contextmanager
def sizes_for(kind: str) -> Iterator[None]:
    """Chooses batches and tiles as on another kind of device, to see on a CPU what a GPU would be given."""
    global _sizes_for
    before, _sizes_for = _sizes_for, kind
    try:
        yield
    finally:
        _sizes_for = before


def device_name() -> str:
    """For reports: the device that programs run on, and how many there are of it."""
    devices = jax.devices()
    name = devices[0].device_kind
    if jax.default_backend() == "cpu":
        name = f"CPU, {os.cpu_count()} cores"
    return name if len(devices) == 1 else f"{len(devices)} × {name}"


def release_kernels(share: float = MAPS_SHARE) -> bool:
    """Drops all compiled kernels if they use more than a share of the memory maps that a process may have; says so.

    On the CPU a compiled kernel holds dozens of memory maps for as long as JAX remembers it. Linux grants a process
    65,530 of them, and XLA crashes where there are no more: a sweep of many jobs, or all tests in one process, would
    come to that. What is needed again is read from the persistent cache.
    """
    if not (MAPS.is_file() and MAPS_LIMIT.is_file()):
        return False  # only Linux counts them
    with MAPS.open("rb") as maps:
        num_maps = sum(1 for _ in maps)
    if num_maps <= share * int(MAPS_LIMIT.read_text()):
        return False
    jax.clear_caches()
    return True
