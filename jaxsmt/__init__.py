"""Multi-domain statistical machine translation on JAX.

`load_model(folder)` opens a trained model: `.translate(lines, domain=…)`, `.nbest(lines, size, domain=…)`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxsmt.model.library import LoadedModel, load_model
    from jaxsmt.model.translation import TranslatedLine, Translator

__version__ = "0.1.0"
__all__ = ["LoadedModel", "TranslatedLine", "Translator", "load_model"]


def __getattr__(name: str) -> Any:
    """Names of the library are imported when they are used, so that `import jaxsmt` is light."""
    if name in ("load_model", "LoadedModel"):
        from jaxsmt.model import library

        return getattr(library, name)
    if name in ("Translator", "TranslatedLine"):
        from jaxsmt.model import translation

        return getattr(translation, name)
    raise AttributeError(f"module 'jaxsmt' has no attribute '{name}'")
