"""How the tests compile kernels: in a third of the time, without the optimisations that do not change what they mean.

Most of the time of a first run would go into optimising thousands of programs that each run once on a few rows. The
programs are the same but for the last bits of their results, which no test may look at. With JAXSMT_TESTS=optimised
the tests compile as the commands do (`nox -s processors` asks for it); `tests/pipeline/test_optimised.py` always
compares both.
"""

import os

import jax

from jaxsmt.common.device import add_flags

CHOICE = "JAXSMT_TESTS"
VARIABLE = "JAX_DISABLE_MOST_OPTIMIZATIONS"
# XLA's newer way to make fusions takes longer; later versions have no other, earlier ones do not know it
OLD_FUSIONS = "--xla_cpu_use_fusion_emitters=false"
KNOWS_OLD_FUSIONS = (0, 10)  # of JAX, any 0.10


def compile_quickly() -> None:
    """For this process and those that it starts; before JAX first uses a device."""
    if os.environ.get(CHOICE) == "optimised":
        return
    os.environ[VARIABLE] = "1"
    jax.config.update(VARIABLE.lower(), True)
    if jax.__version_info__[:2] == KNOWS_OLD_FUSIONS:
        add_flags(OLD_FUSIONS)


def as_the_commands_do() -> dict[str, str]:
    """The environment of a process that optimises what it compiles."""
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if flag != OLD_FUSIONS]
    kept = {name: value for name, value in os.environ.items() if name not in (VARIABLE, "XLA_FLAGS")}
    return {**kept, "XLA_FLAGS": " ".join(flags)}
