"""Commands: each function draws one and returns its French and English tokens."""

from dataclasses import replace

from jaxsmt.demo.clauses import (
    Clause,
    english_imperative,
    english_infinitive,
    french_imperative,
    french_infinitive,
)
from jaxsmt.demo.lexicon import core
from jaxsmt.demo.noun_phrases import pronoun
from jaxsmt.demo.sampler import Sampler
from jaxsmt.demo.sentences.parts import YOU, Tokens, finish
from jaxsmt.demo.words import PERSON


def command(draw: Sampler) -> Tokens:
    """ "Ouvrez le fichier", "N'oubliez pas la clé", "Veuillez choisir une carte." """
    clause = draw.bare_action(YOU)
    if draw.dice.chance(25):
        clause = replace(clause, adjuncts=draw.place())
    if draw.dice.chance(25):
        return finish(["veuillez", *french_infinitive(clause)], ["please", *english_infinitive(clause)])
    if draw.dice.chance(25):
        verb, tag = draw.transitive_verb()
        clause = replace(clause, verb=verb, object=draw.topic(tag), negation="pas")
    return finish(french_imperative(clause), english_imperative(clause))


def command_with_clitic(draw: Sampler) -> Tokens:
    """ "Prenez le couteau et lavez-le." """
    verb, tag = draw.transitive_verb(deliberate=True)
    while tag == PERSON:
        verb, tag = draw.transitive_verb(deliberate=True)
    others = [one for one in draw.lexicon.transitive.items if tag in one.tags and one is not verb]
    second = draw.dice.choose(others or [core.TRANSITIVE[0]])
    meant = draw.topic(tag)
    first = Clause(YOU, verb, object=meant)
    then = Clause(YOU, second, object_clitic=meant)
    if draw.dice.chance(40):
        to_whom = draw.person()
        giver = draw.giver_for(tag)
        then = Clause(YOU, giver, object_clitic=meant, recipient=to_whom)
    link = draw.dice.choose((("et", "and"), (", puis", ", then")))
    return finish(
        [*french_imperative(first), link[0], *french_imperative(then)],
        [*english_imperative(first), link[1], *english_imperative(then)],
    )


def give_me(draw: Sampler) -> Tokens:
    """ "Montrez-leur la carte." """
    clause = draw.transfer(YOU, "present")
    if clause.recipient_clitic is not None and clause.recipient_clitic.person == "2p":
        clause = replace(clause, recipient_clitic=pronoun("je"))
    return finish(french_imperative(clause), english_imperative(clause))
