"""Multi-domain statistical machine translation on JAX."""

__version__ = "0.1.0"
