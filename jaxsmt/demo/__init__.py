"""The embedded demo: a small French–English corpus of three domains, made from a grammar.

Many French words mean something else in each domain (AMBIGUOUS_WORDS), and development and test text
has words that only the training text of another domain knows: mixing domains is needed, and mixing
them blindly picks wrong senses.
"""

from jaxsmt.demo.corpus import SPLITS, generate_demo, write_demo
from jaxsmt.demo.lexicon import AMBIGUOUS_WORDS, DOMAINS

__all__ = ["AMBIGUOUS_WORDS", "DOMAINS", "SPLITS", "generate_demo", "write_demo"]
