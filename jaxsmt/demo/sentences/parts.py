"""What the kinds of sentences share."""

from jaxsmt.demo.clauses import (
    Clause,
    english_clause,
    french_clause,
)
from jaxsmt.demo.noun_phrases import NounPhrase, pronoun
from jaxsmt.demo.sampler import Sampler
from jaxsmt.demo.words import ANYTHING, PERSON, Adjective, Noun

Tokens = tuple[list[str], list[str]]  # French, English
YOU = pronoun("vous")


def finish(french_tokens: list[str], english_tokens: list[str], mark: str = ".") -> Tokens:
    return [*french_tokens, mark], [*english_tokens, mark]


def state(clause: Clause, mark: str = ".") -> Tokens:
    return finish(french_clause(clause), english_clause(clause), mark)


def description(draw: Sampler) -> tuple[NounPhrase, Adjective, Noun]:
    """A bare topic, an adjective to say of it, and the topic's noun."""
    while True:
        noun = draw.noun(PERSON if draw.dice.chance(20) else ANYTHING)
        adjective = draw.adjective(noun)
        if adjective is not None and adjective.english not in ("other", "first", "last", "hurried"):
            return draw.definite(noun), adjective, noun
