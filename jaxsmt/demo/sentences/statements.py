"""Single statements: each function draws one and returns its French and English tokens."""

from dataclasses import replace

from jaxsmt.demo import english
from jaxsmt.demo.clauses import (
    BE,
    Clause,
    english_clause,
    french_clause,
    passive,
)
from jaxsmt.demo.lexicon import core
from jaxsmt.demo.noun_phrases import noun_phrase, subject_pronoun_for
from jaxsmt.demo.sampler import PORTABLE, Sampler
from jaxsmt.demo.sentences.parts import YOU, Tokens, description, finish, state
from jaxsmt.demo.words import PERSON

_BELIEVERS = (
    ("je crois que", "I think that"),
    ("nous savons que", "we know that"),
    ("il est clair que", "it is clear that"),
    ("tout le monde dit que", "everybody says that"),
)


def statement(draw: Sampler) -> Tokens:
    """ "La serveuse cherche la nouvelle carte." """
    clause = draw.action()
    french_tokens, english_tokens = state(clause)
    if draw.dice.chance(12) and not clause.adjuncts and clause.tense in ("present", "past", "future"):
        opener = draw.dice.choose(core.OPENERS)
        return [opener[0], ",", *french_tokens], [opener[1], ",", *english_tokens]
    return french_tokens, english_tokens


def clitic_statement(draw: Sampler) -> Tokens:
    """ "Nous ne le voyons pas." """
    subject = draw.subject()
    verb, tag = draw.transitive_verb()
    while tag == PERSON:
        verb, tag = draw.transitive_verb()
    meant = draw.topic(tag)
    clause = Clause(subject, verb, draw.tense(verb), object_clitic=meant)
    if draw.dice.chance(30) and clause.tense in ("present", "past", "future", "can", "must", "want"):
        clause = replace(clause, negation="pas")
    times = draw.time(clause.tense)
    return state(replace(clause, adjuncts=times or draw.place()))


def topic_and_clitic(draw: Sampler) -> Tokens:
    """ "La carte est ici , mais je ne la vois pas." """
    subject = draw.subject()
    verb, tag = draw.transitive_verb()
    meant = draw.topic(tag)
    places = draw.lexicon.places if tag in PORTABLE or tag == PERSON else ()
    there = draw.dice.choose((("ici", "here"), ("là-bas", "over there"), *places))
    first = Clause(meant, BE, draw.dice.choose(("present", "imperfect")), predicate=there)
    tense = draw.dice.choose(("can", "want", "must") if first.tense == "present" else ("past",))
    second = Clause(subject, verb, tense, object_clitic=meant, negation=draw.dice.choose(("", "pas")))
    link = ("mais", "but") if second.negation else ("et", "and")
    return finish(
        [*french_clause(first), ",", link[0], *french_clause(second)],
        [*english_clause(first), ",", link[1], *english_clause(second)],
    )


def transfer_statement(draw: Sampler) -> Tokens:
    """ "Elle leur donne la carte." """
    clause = draw.transfer()
    return state(replace(clause, adjuncts=draw.time(clause.tense)) if draw.dice.chance(35) else clause)


def passive_statement(draw: Sampler) -> Tokens:
    """ "Les fichiers ont été supprimés par l'administrateur." """
    verb, tag = draw.transitive_verb()
    while not verb.has_passive:
        verb, tag = draw.transitive_verb()
    tense = draw.dice.choose(("present", "past", "past", "future", "must", "can", "going"))
    agent = draw.person() if draw.dice.chance(45) else None
    clause = passive(Clause(YOU, verb, tense, draw.topic(tag)), agent)
    if draw.dice.chance(15):
        clause = replace(clause, negation="pas")
    extra = draw.time(tense) if draw.dice.chance(40) else draw.place() if draw.dice.chance(30) else ()
    return state(replace(clause, adjuncts=(*clause.adjuncts, *extra)))


def intransitive_statement(draw: Sampler) -> Tokens:
    """ "Le train partira demain." """
    verb = draw.lexicon.intransitive.draw(draw.dice)
    tag = draw.dice.choose([tag for tag in sorted(verb.tags) if tag in draw.lexicon.nouns])
    subject = draw.subject() if tag == PERSON else draw.topic(tag)
    tense = draw.dice.choose(("present", "past", "past", "future", "going", "can", "must"))
    clause = Clause(subject, verb, tense)
    if draw.dice.chance(25):
        clause = replace(clause, negation="pas")
    return state(replace(clause, adjuncts=draw.time(tense) or draw.place()))


def describing(draw: Sampler) -> Tokens:
    """ "La sauce était trop salée." """
    subject, adjective, _ = description(draw)
    form = adjective.form(subject.gender, subject.is_plural)
    degree = draw.dice.choose((("", ""), ("très", "very"), ("trop", "too")) if adjective.english in core.GRADABLE
                              else (("", ""),))  # fmt: skip
    tenses = ("present", "imperfect") if subject.is_person else ("present", "present", "imperfect", "future")
    clause = Clause(subject, BE, draw.dice.choose(tenses))
    clause = replace(clause, predicate=(f"{degree[0]} {form}", f"{degree[1]} {adjective.english}"))
    if draw.dice.chance(20):
        clause = replace(clause, negation="pas")
    if draw.dice.chance(30):
        believer = draw.dice.choose(_BELIEVERS)
        return finish([believer[0], *french_clause(clause)], [believer[1], *english_clause(clause)])
    return state(clause)


def comparing(draw: Sampler) -> Tokens:
    """ "Cette carte est plus grande que l'autre." """
    subject, adjective, noun = description(draw)
    while adjective.english not in core.GRADABLE:
        subject, adjective, noun = description(draw)
    form = adjective.form(subject.gender, subject.is_plural)
    other = draw.definite(draw.noun(draw.dice.choose([tag for tag in sorted(adjective.tags) if tag in noun.tags])))
    comparative = english.comparison(adjective.english)[0]
    if draw.dice.chance(60) or not comparative.startswith("more "):
        predicate = (f"plus {form} que", comparative + " than")
    else:
        predicate = (f"moins {form} que", f"less {adjective.english} than")
    clause = Clause(subject, BE, "present", predicate=predicate, object=other)
    return state(clause)


def existential(draw: Sampler) -> Tokens:
    """ "Il y a trois cartes sur la table", "Il n'y a pas de carte …" """
    place_french, place_english = draw.place()[0]
    noun = draw.portable()
    choice = draw.dice.below(3)
    if choice == 0 or noun.is_mass:
        bare = noun_phrase(noun, "bare", not noun.is_mass and draw.dice.chance(60))
        verb = "are" if bare.is_plural else "is"
        none = ["there", verb, "no", *bare.english, place_english]
        return finish(["il n'y a pas de", *bare.french, place_french], none)
    if choice == 1:
        counted = noun_phrase(noun, "number", True, number=draw.number())
        return finish(["il y a", *counted.french, place_french], ["there are", *counted.english, place_english])
    one = noun_phrase(noun, "a", draw.dice.chance(30))
    verb = "are" if one.is_plural else "is"
    return finish(["il y a", *one.french, place_french], ["there", verb, *one.english, place_english])


def two_statements(draw: Sampler) -> Tokens:
    """ "Le client a vu la carte, mais il ne l'a pas choisie." """
    subject = draw.person()
    first = draw.action(subject, draw.dice.choose(("past", "past", "future")))
    again = subject_pronoun_for(subject)
    if draw.dice.chance(40) and first.object is not None and not first.negation:
        verb, _ = draw.transitive_verb()
        verb = verb if first.verb.tags & verb.tags and verb is not first.verb else core.TRANSITIVE[0]
        second = Clause(again, verb, first.tense, object_clitic=first.object, negation="pas")
    else:
        second = draw.bare_action(again, first.tense)
    link = ("mais", "but") if second.negation or first.negation else ("et", "and")
    return finish(
        [*french_clause(first), ",", link[0], *french_clause(second)],
        [*english_clause(first), ",", link[1], *english_clause(second)],
    )
