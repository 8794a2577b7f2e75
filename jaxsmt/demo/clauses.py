"""Clauses in both languages: tense, negation, clitics, passive, inversion."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jaxsmt.demo import english, french
from jaxsmt.demo.noun_phrases import NounPhrase, object_pronouns, recipient_pronouns
from jaxsmt.demo.words import Verb

Phrase = tuple[str, str]  # French, English

# tense → French verb that governs the infinitive, link before it; English auxiliary
_PERIPHRASES = {
    "going": ("aller", ""),
    "just": ("venir", "de"),
    "progressive": ("être", "en train de"),
    "can": ("pouvoir", ""),
    "must": ("devoir", ""),
    "want": ("vouloir", ""),
}
_ENGLISH_MODALS = {"future": "will", "conditional": "would", "can": "can", "must": "must"}
_ENGLISH_NEGATIONS = {"pas": "not", "plus": "no longer", "jamais": "never"}
BE = Verb("être", "be", frozenset(), is_transitive=False, has_passive=False)


@dataclass(frozen=True)
class Clause:
    """Who does what. Either `object` or `object_clitic` (the phrase that a pronoun stands for) may be given.

    tense: present, past, future, conditional, imperfect, going, just, progressive, can, must, want.
    predicate: for BE, what follows it (an adjective or a participle), already agreeing.
    """

    subject: NounPhrase
    verb: Verb
    tense: str = "present"
    object: NounPhrase | None = None
    object_clitic: NounPhrase | None = None
    recipient: NounPhrase | None = None
    recipient_clitic: NounPhrase | None = None
    negation: str = ""  # pas, plus, jamais
    adverb: Phrase | None = None  # stands next to the verb
    predicate: Phrase | None = None
    adjuncts: tuple[Phrase, ...] = ()
    double_object: bool = True  # English: gives them the map; otherwise gives the map to them


def passive(clause: Clause, agent: NounPhrase | None = None) -> Clause:
    """The object of `clause` becomes the subject: "la carte est apportée par …"."""
    patient = clause.object
    assert patient is not None
    done = french.agree(french.participle(clause.verb.french), patient.gender, patient.is_plural)
    by = ((" ".join(("par", *agent.french)), " ".join(("by", *agent.english))),) if agent else ()
    words = (english.past_participle(clause.verb.base), clause.verb.particle, clause.verb.preposition)
    predicate = (done, " ".join(word for word in words if word))
    return replace(clause, subject=patient, verb=BE, object=None, predicate=predicate, adjuncts=(*by, *clause.adjuncts))


# ------------------------------------------------------------------------------------------------ French


def french_clause(clause: Clause, inverted: bool = False) -> list[str]:
    """The tokens of a statement; `inverted` puts the subject "vous" after the verb."""
    before, finite, after = _french_verb_group(clause)
    if inverted:
        before, finite = [*before], f"{finite}-{clause.subject.french[0]}"
        return [*before, finite, *after, *_french_complements(clause)]
    return [*clause.subject.french, *before, finite, *after, *_french_complements(clause)]


def french_infinitive(clause: Clause) -> list[str]:
    """ "le donner au client": clitics, infinitive, complements."""
    return [*_clitics(clause), clause.verb.french, *_french_complements(clause)]


def french_imperative(clause: Clause) -> list[str]:
    """ "Donnez-le-lui", "Ne le donnez pas": clitics follow the verb unless it is negated."""
    form, clitics = french.imperative(clause.verb.french), _clitics(clause)
    if clause.negation:
        return ["ne", *clitics, form, clause.negation, *_french_complements(clause)]
    clitics = [{"me": "moi"}.get(clitic, clitic) for clitic in clitics]
    return ["-".join([form, *sorted(clitics, key=lambda clitic: clitic in ("lui", "leur", "moi", "nous"))]),
            *_french_complements(clause)]  # fmt: skip


def _french_verb_group(clause: Clause) -> tuple[list[str], str, list[str]]:
    """What stands before the finite verb, the finite verb, what stands after it."""
    verb, person = clause.verb.french, clause.subject.person
    clitics = _clitics(clause)
    ne = ["ne"] if clause.negation else []
    middle = ([clause.negation] if clause.negation else []) + ([clause.adverb[0]] if clause.adverb else [])
    if clause.tense == "past":
        finite = french.conjugate(clause.verb.auxiliary, "present", person)
        return [*ne, *clitics], finite, [*middle, _agreeing_participle(clause)]
    if clause.tense in _PERIPHRASES:
        governor, link = _PERIPHRASES[clause.tense]
        finite = french.conjugate(governor, "present", person)
        return ne, finite, [*middle, *link.split(), *clitics, verb]
    finite = french.conjugate(verb, clause.tense, person)
    return [*ne, *clitics], finite, middle


def _agreeing_participle(clause: Clause) -> str:
    """With être the participle agrees with the subject, with avoir with a direct object before it."""
    form = french.participle(clause.verb.french)
    model = clause.subject if clause.verb.auxiliary == "être" and clause.verb is not BE else clause.object_clitic
    return french.agree(form, model.gender, model.is_plural) if model else form


def _clitics(clause: Clause) -> list[str]:
    """me, nous, vous before le, la, les before lui, leur."""
    direct = [object_pronouns(clause.object_clitic)[0]] if clause.object_clitic else []
    indirect = [recipient_pronouns(clause.recipient_clitic)[0]] if clause.recipient_clitic else []
    return direct + indirect if indirect and indirect[0] in ("lui", "leur") else indirect + direct


def _french_complements(clause: Clause) -> list[str]:
    tokens = [clause.predicate[0]] if clause.predicate else []
    if clause.object:
        tokens += clause.object.french
    if clause.recipient:
        tokens += ["à", *clause.recipient.french]
    return tokens + [adjunct for adjunct, _ in clause.adjuncts]


# ----------------------------------------------------------------------------------------------- English


def english_clause(clause: Clause, is_question: bool = False) -> list[str]:
    """The tokens of a statement, or of a question with the auxiliary first."""
    auxiliary, rest = english_verb_group(clause, needs_auxiliary=is_question)
    if is_question:
        return [auxiliary, *clause.subject.english, *rest, *_english_complements(clause)]
    return [*clause.subject.english, auxiliary, *rest, *_english_complements(clause)]


def english_infinitive(clause: Clause, form: str = "base") -> list[str]:
    """ "give it to the customer"; form "gerund" for "giving it to the customer"."""
    verb = english.gerund(clause.verb.base) if form == "gerund" else clause.verb.base
    return [verb, *_english_complements(clause)]


def english_imperative(clause: Clause) -> list[str]:
    prefix = {"": [], "pas": ["do", "not"], "jamais": ["never"]}[clause.negation]
    return [*prefix, *english_infinitive(clause)]


def english_verb_group(clause: Clause, needs_auxiliary: bool = False) -> tuple[str, list[str]]:
    """The auxiliary ("" if none) and the rest of the verb group, with negation and adverb in place."""
    person, base = clause.subject.english_person, clause.verb.base
    negation = _ENGLISH_NEGATIONS.get(clause.negation, "")
    adverb = clause.adverb[1] if clause.adverb else ""
    auxiliary, main = _english_tense(clause.tense, base, person)
    if not auxiliary and (needs_auxiliary or negation == "not"):
        auxiliary = english.past("do") if clause.tense in ("past", "imperfect") else english.present("do", person)
        main = ["want", "to", base] if clause.tense == "want" else [base]
    return auxiliary, [word for word in (negation, adverb, *main) if word]


def _english_tense(tense: str, base: str, person: str) -> tuple[str, list[str]]:
    if tense in _ENGLISH_MODALS:
        return _ENGLISH_MODALS[tense], [base]
    if tense == "going":
        return english.present("be", person), ["going", "to", base]
    if tense == "just":
        return english.present("have", person), ["just", english.past_participle(base)]
    if tense == "progressive" and base != "be":
        return english.present("be", person), [english.gerund(base)]
    if tense == "imperfect" and base != "be":
        return english.past("be", person), [english.gerund(base)]
    if tense == "want":
        return "", [english.present("want", person), "to", base]
    form = english.past(base, person) if tense in ("past", "imperfect") else english.present(base, person)
    return (form, []) if base == "be" else ("", [form])


def _english_complements(clause: Clause) -> list[str]:
    verb = clause.verb
    tokens = [clause.predicate[1]] if clause.predicate else []
    tokens += _english_objects(clause)
    if not (clause.object or clause.object_clitic):
        tokens += [verb.particle, verb.preposition]
    return [token for token in tokens if token] + [adjunct for _, adjunct in clause.adjuncts]


def _english_objects(clause: Clause) -> list[str]:
    verb = clause.verb
    tokens: list[str] = []
    to_whom: Sequence[str] = clause.recipient.english if clause.recipient else ()
    if clause.recipient_clitic:
        to_whom = (recipient_pronouns(clause.recipient_clitic)[1],)
        if clause.double_object and clause.object:
            return [*to_whom, *clause.object.english]
    if clause.object_clitic:
        tokens += [verb.preposition, object_pronouns(clause.object_clitic)[1], verb.particle]
    elif clause.object:
        tokens += [verb.particle, verb.preposition, *clause.object.english]
    return [*tokens, *(["to", *to_whom] if to_whom else [])]
