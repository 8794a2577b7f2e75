"""Questions: each function draws one and returns its French and English tokens."""

from dataclasses import replace

from jaxsmt.demo import english, french
from jaxsmt.demo.clauses import (
    Clause,
    english_clause,
    french_clause,
)
from jaxsmt.demo.lexicon import core
from jaxsmt.demo.noun_phrases import NounPhrase, noun_phrase, pronoun
from jaxsmt.demo.sampler import Sampler
from jaxsmt.demo.sentences.parts import YOU, Tokens, finish
from jaxsmt.demo.words import ANYTHING


def yes_no_question(draw: Sampler) -> Tokens:
    """ "Est-ce que le client a choisi une carte ?", "Avez-vous vu la clé ?" """
    if draw.dice.chance(50):
        tense = draw.dice.choose(("past", "can", "want"))
        verb, tag = draw.transitive_verb()
        if tense != "past":
            verb, tag = draw.transitive_verb(deliberate=True)
        clause = Clause(YOU, verb, tense, draw.phrase(tag, owner=YOU))
        clause = replace(clause, adjuncts=draw.place() if draw.dice.chance(25) else ())
        return finish(french_clause(clause, inverted=True), english_clause(clause, is_question=True), "?")
    clause = replace(draw.action(), negation="")
    return finish(["est-ce que", *french_clause(clause)], english_clause(clause, is_question=True), "?")


def where_question(draw: Sampler) -> Tokens:
    """ "Où est la clé ?" """
    subject = draw.topic(ANYTHING)
    tense = draw.dice.choose(("present", "present", "imperfect"))
    verb = french.conjugate("être", tense, subject.person)
    be = english.present("be", subject.person) if tense == "present" else english.past("be", subject.person)
    when = {"present": ("maintenant", "now"), "imperfect": ("hier", "yesterday")}[tense]
    extra = when if draw.dice.chance(25) else ("", "")
    return finish(["où", verb, *subject.french, extra[0]], ["where", be, *subject.english, extra[1]], "?")


def why_question(draw: Sampler) -> Tokens:
    """ "Pourquoi est-ce que vous cherchez la carte ?" """
    word = draw.dice.choose((("pourquoi", "why"), ("comment", "how"), ("quand", "when")))
    tense = draw.dice.choose(("past", "must", "future") if word[1] == "when" else ("past", "must", "want"))
    if word[1] == "how":
        tense = draw.dice.choose(("past", "can"))
    clause = draw.bare_action(draw.dice.choose((YOU, pronoun("ils"), draw.person())), tense)
    return finish([word[0], "est-ce que", *french_clause(clause)], [word[1], *english_clause(clause, True)], "?")


def who_question(draw: Sampler) -> Tokens:
    """ "Qui a choisi cette carte ?" """
    who = NounPhrase(("qui",), ("who",), "3s", "3s", "m", True)
    clause = draw.bare_action(who, draw.dice.choose(("past", "past", "can", "future", "want")))
    if clause.object is not None and {"son", "sa", "ses"} & set(clause.object.french):
        clause = replace(clause, object=draw.topic(ANYTHING), verb=core.TRANSITIVE[0])
    return finish(french_clause(clause), english_clause(clause), "?")


def which_question(draw: Sampler) -> Tokens:
    """ "Quelle carte avez-vous choisie ?" """
    verb, tag = draw.transitive_verb()
    noun = draw.noun(tag)
    while noun.is_mass:
        noun = draw.noun(tag)
    is_plural = draw.dice.chance(30)
    bare = noun_phrase(noun, "bare", is_plural)
    which = french.plural("quel" if noun.gender == "m" else "quelle") if is_plural else (
        "quel" if noun.gender == "m" else "quelle")  # fmt: skip
    done = french.agree(french.participle(verb.french), bare.gender, is_plural)
    tail = [word for word in (verb.base, verb.particle, verb.preposition) if word]
    place = draw.place()[0] if draw.dice.chance(20) else ("", "")
    return finish(
        [which, *bare.french, "avez-vous", done, place[0]], ["which", *bare.english, "did you", *tail, place[1]], "?"
    )


def how_many_question(draw: Sampler) -> Tokens:
    """ "Combien de cartes y a-t-il sur la table ?" """
    noun = draw.portable()
    while noun.is_mass:
        noun = draw.portable()
    things = noun_phrase(noun, "bare", True)
    place = draw.place()[0]
    return finish(
        ["combien de", *things.french, "y a-t-il", place[0]], ["how many", *things.english, "are there", place[1]], "?"
    )
