"""How many threads the libraries below use: as many on every machine, so that all of them give the same bytes.

XLA and BLAS share long sums among their threads, whose number decides how they are rounded; by default it is the
number of cores. More threads than cores cost next to nothing, and where a variable is set already it stays.
"""

import os

THREADS = {
    "PJRT_NPROC": "8",  # XLA's; read when JAX first uses a processor
    "OPENBLAS_NUM_THREADS": "1",  # NumPy's, read when it is imported; no product of ours is large enough to need more
    "MKL_NUM_THREADS": "1",
}


def fix_threads() -> None:
    """To be called before JAX uses a device, and before NumPy is imported."""
    for variable, number in THREADS.items():
        os.environ.setdefault(variable, number)
