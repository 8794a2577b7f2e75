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


def folder_or_skip(variable: str, name: str) -> Path:
    """A folder that lies beside the repository or where the environment variable says."""
    folder = Path(os.environ.get(variable, REPOSITORY.parent / "shared" / name))
    if not (folder / "README.md").is_file():
        pytest.skip(f"'{folder}' is not there (set {variable})")
    return folder


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder with outputs of established tools; tests that need it run where it is there."""
    return folder_or_skip("JAXSMT_REFERENCE", "reference")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with real parallel text by domain; tests that need it run where it is there."""
    return folder_or_skip("JAXSMT_DATA", "data")
