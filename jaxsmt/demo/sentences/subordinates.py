"""Sentences of two clauses: conditions, times, reasons, purposes, relative clauses."""

from dataclasses import replace

from jaxsmt.demo import french
from jaxsmt.demo.clauses import (
    BE,
    Clause,
    english_clause,
    english_imperative,
    english_infinitive,
    french_clause,
    french_imperative,
    french_infinitive,
)
from jaxsmt.demo.lexicon import core
from jaxsmt.demo.noun_phrases import NounPhrase, noun_phrase, object_pronouns
from jaxsmt.demo.sampler import Sampler
from jaxsmt.demo.sentences.parts import YOU, Tokens, description, finish, state
from jaxsmt.demo.words import PERSON


def _joined(first: Tokens, link: tuple[str, str], second: Tokens, link_first: bool) -> Tokens:
    """Two clauses; `link_first` puts the subordinate one (with its conjunction) in front."""
    if link_first:
        return finish([link[0], *second[0], ",", *first[0]], [link[1], *second[1], ",", *first[1]])
    return finish([*first[0], link[0], *second[0]], [*first[1], link[1], *second[1]])


def _both(clause: Clause) -> Tokens:
    return french_clause(clause), english_clause(clause)


def if_sentence(draw: Sampler) -> Tokens:
    """ "Si vous trouvez la clé, donnez-la au directeur." """
    verb, tag = draw.transitive_verb()
    while tag == PERSON:
        verb, tag = draw.transitive_verb()
    meant = draw.phrase(tag, owner=YOU, plain=True)
    condition = _both(Clause(YOU, verb, "present", meant))
    if draw.dice.chance(50):
        giver = draw.giver_for(tag)
        then = Clause(YOU, giver, object_clitic=meant, recipient=draw.person())
        return _joined((french_imperative(then), english_imperative(then)), ("si", "if"), condition, True)
    result = draw.bare_action(draw.subject(), draw.dice.choose(("future", "must", "can")))
    return _joined(_both(result), ("si", "if"), condition, draw.dice.chance(60))


def when_sentence(draw: Sampler) -> Tokens:
    """ "Quand le client arrivera, la serveuse lui apportera la carte." """
    who, other = draw.person(), draw.subject()
    tense = draw.dice.choose(("past", "future"))
    verb = draw.dice.choose([one for one in core.INTRANSITIVE if one.base in ("arrive", "answer", "come", "go")])
    trigger = Clause(who, verb, tense)
    english_trigger = english_clause(replace(trigger, tense="present" if tense == "future" else "past"))
    given = draw.transfer(other, tense)
    if given.object is None:
        given = replace(given, object=given.object_clitic, object_clitic=None)
    result = replace(given, recipient=None, recipient_clitic=who)
    link = draw.dice.choose((("quand", "when"), ("lorsque", "when"), ("dès que", "as soon as")))
    return _joined(_both(result), link, (french_clause(trigger), english_trigger), True)


def because_sentence(draw: Sampler) -> Tokens:
    """ "Il ne peut pas ouvrir le fichier parce que la clé est cassée." """
    subject, adjective, _ = description(draw)
    form = adjective.form(subject.gender, subject.is_plural)
    state = Clause(subject, BE, "present", predicate=(form, adjective.english))
    result = draw.bare_action(draw.subject(), draw.dice.choose(("can", "want", "must", "progressive")))
    if result.tense != "progressive" and draw.dice.chance(50):
        result = replace(result, negation="pas", object=None, object_clitic=result.object)
    link = draw.dice.choose((("parce que", "because"), ("car", "because"), ("même si", "even if")))
    return _joined(_both(result), link, _both(state), False)


def while_sentence(draw: Sampler) -> Tokens:
    """ "Pendant que le chef préparait la sauce, nous avons choisi une carte." """
    verb, tag = draw.transitive_verb()
    while verb.base in ("know", "recognise", "understand", "prefer", "forget", "lose", "see", "find"):
        verb, tag = draw.transitive_verb()
    background = Clause(draw.person(), verb, "imperfect", draw.topic(tag))
    event = draw.bare_action(draw.subject(), "past")
    return _joined(_both(event), ("pendant que", "while"), _both(background), draw.dice.chance(60))


def before_sentence(draw: Sampler) -> Tokens:
    """ "Avant d'ouvrir la boîte, vous devez lire la note"; "Après avoir …"; "pour …"."""
    subject = draw.subject()
    inner = draw.bare_action(subject)
    outer = draw.bare_action(subject, draw.dice.choose(("must", "past", "future", "can")))
    kind = draw.dice.below(4)
    if kind == 0:
        done = ["avoir", french.participle(inner.verb.french), *(inner.object.french if inner.object else ())]
        return _joined(_both(outer), ("après", "after"), (done, english_infinitive(inner, "gerund")), True)
    if kind == 1:
        return _joined(
            _both(outer), ("avant de", "before"), (french_infinitive(inner), english_infinitive(inner, "gerund")), True
        )
    if kind == 2:
        return _joined(_both(outer), ("pour", "to"), (french_infinitive(inner), english_infinitive(inner)), False)
    gerund = english_infinitive(inner, "gerund")
    return _joined(_both(outer), ("sans", "without"), (french_infinitive(inner), gerund), False)


def relative_sentence(draw: Sampler) -> Tokens:
    """ "La carte que le client a choisie est nouvelle"; "le client qui cherche la clé …"."""
    if draw.dice.chance(50):
        verb, tag = draw.transitive_verb()
        noun = draw.noun(tag)
        head = noun_phrase(noun, draw.dice.choose(("the", "this")), not noun.is_mass and draw.dice.chance(25))
        inside = Clause(draw.subject(), verb, "past", object_clitic=head)
        _, clitic_english = object_pronouns(head)
        clause_french = french_clause(replace(inside, object_clitic=None))
        clause_french[-1] = french.agree(french.participle(verb.french), head.gender, head.is_plural)
        clause_english = [word for word in english_clause(inside) if word != clitic_english]
        phrase = _modified(head, ["que", *clause_french], ["that", *clause_english])
        adjective = draw.adjective(noun)
        if adjective is None or adjective.english in ("other", "first", "last", "hurried"):
            place = draw.place()[0]
            return state(Clause(phrase, BE, "present", predicate=place))
        form = adjective.form(head.gender, head.is_plural)
        tense = draw.dice.choose(("present", "imperfect"))
        return state(Clause(phrase, BE, tense, predicate=(form, adjective.english)))
    head = draw.person()
    doing = draw.bare_action(head, draw.dice.choose(("past", "present", "want", "must")))
    phrase = _modified(
        head,
        ["qui", *french_clause(doing)[len(head.french) :]],
        ["who", *[word for word in english_clause(doing)[len(head.english) :] if word]],
    )
    return state(draw.bare_action(phrase, draw.dice.choose(("past", "future", "can"))))


def _modified(head: NounPhrase, french_tail: list[str], english_tail: list[str]) -> NounPhrase:
    return replace(head, french=(*head.french, *french_tail), english=(*head.english, *english_tail))


def necessity(draw: Sampler) -> Tokens:
    """ "Il faut toujours vérifier la carte avant le départ." """
    clause = draw.bare_action(YOU)
    clause = replace(clause, adjuncts=draw.place() if draw.dice.chance(40) else ())
    kind = draw.dice.below(4)
    options = (
        ("il faut", "you must"),
        ("il est possible de", "it is possible to"),
        ("il ne faut pas", "you must not"),
        ("je vous demande de", "I am asking you to"),
        ("nous essayons de", "we are trying to"),
        ("il est inutile de", "there is no need to"),
    )
    opener = options[kind] if draw.dice.chance(50) else draw.dice.choose(options)
    return finish([opener[0], *french_infinitive(clause)], [opener[1], *english_infinitive(clause)])
