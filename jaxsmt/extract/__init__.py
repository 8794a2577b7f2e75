"""Extraction: phrase pairs, hierarchical rules and reordering orientations from aligned text, and their counts."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxsmt.extract.config import ExtractConfig
    from jaxsmt.extract.counts import LexicalCounts, RuleCounts
    from jaxsmt.extract.extraction import extract_counts
    from jaxsmt.extract.lexical import count_words

__all__ = ["ExtractConfig", "LexicalCounts", "RuleCounts", "count_words", "extract_counts"]
_HOMES = {
    "ExtractConfig": "config", "LexicalCounts": "counts", "RuleCounts": "counts", "count_words": "lexical",
    "extract_counts": "extraction",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names of the room are imported when they are used: who only holds counts need not load what counts."""
    if name not in _HOMES:
        raise AttributeError(f"module 'jaxsmt.extract' has no attribute '{name}'")
    return getattr(import_module(f"jaxsmt.extract.{_HOMES[name]}"), name)
