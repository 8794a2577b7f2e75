"""Settings and paths that all tests share."""

import os
from pathlib import Path

import jax
import pytest

from jaxsmt.common.device import setup_device

setup_device()  # kernels are compiled once for all tests and processes
# the strictest rules of JAX: no silent widening of dtypes or ranks
jax.config.update("jax_numpy_rank_promotion", "raise")

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder with outputs of established tools; tests that need it run where it is there."""
    folder = Path(os.environ.get("JAXSMT_REFERENCE", REPOSITORY.parent / "shared" / "reference"))
    if not (folder / "README.md").is_file():
        pytest.skip(f"no reference outputs at '{folder}' (set JAXSMT_REFERENCE)")
    return folder


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with real parallel text by domain; tests that need it run where it is there."""
    folder = Path(os.environ.get("JAXSMT_DATA", REPOSITORY.parent / "shared" / "data"))
    if not (folder / "README.md").is_file():
        pytest.skip(f"no parallel text at '{folder}' (set JAXSMT_DATA)")
    return folder
