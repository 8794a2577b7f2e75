"""Sentence patterns of a domain, with slots for phrases."""

import re

from jaxsmt.demo.clauses import (
    english_infinitive,
    french_infinitive,
)
from jaxsmt.demo.lexicon import core
from jaxsmt.demo.noun_phrases import noun_phrase
from jaxsmt.demo.sampler import Sampler
from jaxsmt.demo.sentences.parts import YOU, Tokens


def frame(draw: Sampler) -> Tokens:
    """A sentence pattern of the domain with its slots filled: "Cliquez sur {the:widget} pour {inf}." """
    pattern_french, pattern_english = draw.dice.choose(draw.lexicon.frames)
    filled: dict[str, Tokens] = {}
    for slot in re.findall(r"\{[^}]+\}", pattern_french):
        if slot not in filled:
            filled[slot] = _fill(draw, slot[1:-1].split("#")[0])
            while list(filled.values()).count(filled[slot]) > 1:  # never "between Brest and Brest"
                filled[slot] = _fill(draw, slot[1:-1].split("#")[0])
    return _substitute(pattern_french, filled, 0), _substitute(pattern_english, filled, 1)


def _substitute(pattern: str, filled: dict[str, Tokens], side: int) -> list[str]:
    tokens: list[str] = []
    for token in pattern.split():
        tokens += filled[token][side] if token in filled else [token]
    return tokens


def _fill(draw: Sampler, slot: str) -> Tokens:
    kind, _, tag = slot.partition(":")
    if kind == "num":
        return _pair(draw.number())
    if kind == "hour":
        return _pair(draw.dice.choose(core.NUMBERS[:9]))
    if kind == "city":
        return _pair(draw.dice.choose(core.CITIES))
    if kind == "atplace":
        return _pair(draw.place()[0])
    if kind == "inf":
        clause = draw.bare_action(YOU)
        return french_infinitive(clause), english_infinitive(clause)
    if kind == "the":
        phrase = draw.topic(tag)
    elif kind == "bare":
        phrase = draw.singular(tag, "bare")
    elif kind == "bares":
        phrase = draw.plural(tag, "bare")
    elif kind == "some":
        noun = draw.noun(tag)
        phrase = noun_phrase(noun, "a", not noun.is_mass)
    else:
        phrase = draw.singular(tag, {"the1": "the", "a1": "a"}[kind])
    return list(phrase.french), list(phrase.english)


def _pair(words: tuple[str, str]) -> Tokens:
    return [words[0]], [words[1]]
