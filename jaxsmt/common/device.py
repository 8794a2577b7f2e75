"""How JAX is set up for a run, and how a long run gives back what it compiled."""

from pathlib import Path

import jax

from jaxsmt.common.files import cache_folder

MAPS = Path("/proc/self/maps")
MAPS_LIMIT = Path("/proc/sys/vm/max_map_count")
MAPS_SHARE = 0.3  # of the limit; one stage, or one file of tests, adds less than the rest


def setup_device() -> None:
    """Turns on the persistent compilation cache: a second process starts warm.

    The cache lies in jaxsmt.common.files.cache_folder.
    """
    folder = cache_folder() / "compiled"
    folder.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


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
