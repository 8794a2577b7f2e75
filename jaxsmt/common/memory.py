"""How the C library hands memory out."""

import numpy as np

_LARGE = 30 << 20  # bytes; just below the largest size up to which glibc learns


def keep_freed_memory() -> None:
    """Lets loops over arrays of a few megabytes reuse their memory.

    By default glibc gives such arrays back to the system when they are freed, and every new one is then faulted in page
    by page, which can cost more than the work on it. Having seen a larger array come and go (never touched, so it costs
    nothing) it keeps them. Elsewhere this does nothing.
    """
    np.empty(_LARGE, np.uint8)
