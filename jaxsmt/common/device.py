"""How JAX is set up for a run."""

import os
from pathlib import Path

import jax


def setup_device() -> None:
    """Turns on the persistent compilation cache: a second process starts warm.

    The cache lies in $JAXSMT_CACHE, or else where the user's caches lie ($XDG_CACHE_HOME or ~/.cache).
    """
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jaxsmt"
    folder = Path(os.environ.get("JAXSMT_CACHE", default)) / "compiled"
    folder.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
