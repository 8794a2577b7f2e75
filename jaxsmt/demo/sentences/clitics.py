"""Sentences with pronouns before the verb: each function draws one and returns its French and English tokens."""

from dataclasses import replace

from jaxsmt.demo.clauses import Clause, english_clause, french_clause
from jaxsmt.demo.lexicon import core
from jaxsmt.demo.noun_phrases import THEE, NounPhrase, pronoun
from jaxsmt.demo.sampler import Sampler
from jaxsmt.demo.sentences.parts import YOU, Tokens, finish, state
from jaxsmt.demo.words import PERSON

_TENSES = ("present", "present", "present", "past", "past", "future", "can", "must", "want", "going", "just")
_LASTING = ("know", "recognise")  # not "every morning"
_NEGATABLE = ("present", "past", "future", "can", "must", "want")


def two_clitics(draw: Sampler) -> Tokens:
    """ "Elle la lui donne.", "Nous ne vous les avons pas montrés." """
    clause = _transfer(draw, _frequent_subject(draw), draw.dice.choose(_TENSES))
    if clause.tense in _NEGATABLE and draw.dice.chance(25):
        return state(replace(clause, negation="pas" if draw.dice.chance(80) else _never_or_no_longer(clause.tense)))
    if clause.tense == "present" and draw.dice.chance(20):
        return state(replace(clause, adverb=draw.dice.choose(core.FREQUENCY)))
    return state(replace(clause, adjuncts=draw.time(clause.tense)) if draw.dice.chance(40) else clause)


def clitic_question(draw: Sampler) -> Tokens:
    """ "Pouvez-vous me la montrer ?", "Les lui avez-vous donnés ?", "Est-ce qu'elle le cherche ?" """
    if draw.dice.chance(50):
        clause = _transfer(draw, YOU, draw.dice.choose(("present", "past", "can", "want", "future")))
    else:
        verb, tag = draw.transitive_verb(deliberate=True)
        tense = draw.dice.choose(("past", "can", "want"))
        subject = _frequent_subject(draw)
        clause = Clause(YOU if subject.person == "1s" else subject, verb, tense, object_clitic=draw.topic(tag))
        clause = replace(clause, adjuncts=draw.time(tense) or draw.place())
    if clause.subject == YOU and draw.dice.chance(70):
        return finish(french_clause(clause, inverted=True), english_clause(clause, is_question=True), "?")
    return finish(["est-ce que", *french_clause(clause)], english_clause(clause, is_question=True), "?")


def person_clitic(draw: Sampler) -> Tokens:
    """ "Le client nous attend.", "Je ne vous reconnais pas." """
    subject = draw.subject()
    verb = draw.dice.choose([one for one in draw.lexicon.transitive.items if PERSON in one.tags])
    clause = Clause(subject, verb, draw.tense(verb), object_clitic=_person_for(draw, subject))
    if clause.tense in _NEGATABLE and draw.dice.chance(30):
        clause = replace(clause, negation="pas")
    if verb.base in _LASTING or draw.dice.chance(40):
        return state(clause)
    return state(replace(clause, adjuncts=draw.time(clause.tense) or draw.place()))


def _transfer(draw: Sampler, subject: NounPhrase, tense: str) -> Clause:
    """Someone gives it to someone, with pronouns for both."""
    verb = draw.lexicon.ditransitive.draw(draw.dice)
    tag = draw.dice.choose([tag for tag in sorted(verb.tags) if tag in draw.lexicon.nouns])
    whom = draw.recipient_for(subject)
    if whom.person == "2p" and draw.dice.chance(25):
        whom = THEE
    elif whom.person == "3p" and draw.dice.chance(50):
        whom = pronoun("il")
    return Clause(subject, verb, tense, object_clitic=draw.topic(tag), recipient_clitic=whom)


def _frequent_subject(draw: Sampler) -> NounPhrase:
    """Mostly a pronoun: sentences of pronouns alone are the ones that are turned round most."""
    if draw.dice.chance(60):
        return pronoun(draw.dice.choose(("je", "il", "elle", "on", "nous", "vous", "ils", "elles")))
    return draw.subject()


def _person_for(draw: Sampler, subject: NounPhrase) -> NounPhrase:
    """me, te, nous, vous, les: those whose English does not depend on what was said before."""
    others = [who for who in (pronoun("je"), THEE, pronoun("nous"), YOU, pronoun("ils"))
              if who.english_person[0] != subject.english_person[0] or who.person == "3p"]  # fmt: skip
    return draw.dice.choose(others)


def _never_or_no_longer(tense: str) -> str:
    return "plus" if tense in ("present", "can") else "jamais" if tense in ("past", "future") else "pas"
