"""Extraction: phrase pairs, hierarchical rules and reordering orientations from aligned text, and their counts."""

from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.counts import LexicalCounts, RuleCounts
from jaxsmt.extract.extraction import extract_counts
from jaxsmt.extract.lexical import count_words

__all__ = ["ExtractConfig", "LexicalCounts", "RuleCounts", "count_words", "extract_counts"]
