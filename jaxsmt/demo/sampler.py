"""Draws phrases and clauses from a lexicon."""

from dataclasses import dataclass, replace

from jaxsmt.demo.clauses import Clause, Phrase
from jaxsmt.demo.dice import Dice
from jaxsmt.demo.lexicon import DomainLexicon, core
from jaxsmt.demo.noun_phrases import (
    SUBJECT_PRONOUNS,
    NounPhrase,
    name_phrase,
    noun_phrase,
    of_phrase,
    pronoun,
)
from jaxsmt.demo.words import ANYTHING, PERSON, Adjective, Noun, Verb

_SPEAKERS = tuple(pronoun(word) for word in ("je", "nous", "vous"))
_ONLY_DEFINITE = {"other", "first", "last"}
_STATE_VERBS = {"know", "see", "prefer", "recognise", "understand", "find", "receive", "forget", "lose", "refuse",
                "accept", "keep"}  # fmt: skip
PORTABLE = ("thing", "data", "utensil", "gear", "luggage", "paper", "dish", "vegetable")
_TENSES = ("present", "present", "past", "past", "past", "future", "can", "must", "want", "going", "just",
           "progressive")  # fmt: skip
_PURE_STATES = {"know", "prefer"}
_INVOLUNTARY = {"see", "lose", "forget", "receive", "recognise", "miss", "understand", "refuse"}
_RECURRING = ("present", "past", "future")


@dataclass(frozen=True)
class Sampler:
    """Everything random goes through `dice`, in a fixed order."""

    lexicon: DomainLexicon
    dice: Dice

    # ------------------------------------------------------------------------------------------- phrases

    def noun(self, tag: str) -> Noun:
        return self.lexicon.nouns[tag].draw(self.dice)

    def phrase(self, tag: str, owner: NounPhrase | None = None, plain: bool = False) -> NounPhrase:
        """Any phrase that can be an object or follow a preposition; `plain` ones have no complement."""
        noun = self.noun(tag)
        if tag == ANYTHING and not plain and self.dice.chance(10):
            relation = self._relation(noun)
            if relation:
                return of_phrase(relation, self.definite(noun))
        determiner, is_plural = self._determiner(noun, owner)
        return self._build(noun, determiner, is_plural, owner)

    def definite(self, noun: Noun) -> NounPhrase:
        """the, this or your noun, with no adjective."""
        is_plural = not noun.is_mass and self.dice.chance(15)
        determiner = self.dice.choose(("the", "the", "this", "own"))
        return noun_phrase(noun, determiner, is_plural, owner=self.dice.choose(_SPEAKERS))

    def topic(self, tag: str) -> NounPhrase:
        """A definite phrase with perhaps an adjective: what a sentence can be about."""
        noun = self.noun(tag)
        is_plural = not noun.is_mass and self.dice.chance(25)
        kinds = ("the", "the", "the", "the", "the", "this") if noun.is_person else ("the", "the", "the", "this", "own")
        determiner = self.dice.choose(kinds)
        return self._build(noun, determiner, is_plural, self.dice.choose(_SPEAKERS))

    def singular(self, tag: str, determiner: str) -> NounPhrase:
        return self._build(self.noun(tag), determiner, False, None)

    def plural(self, tag: str, determiner: str, number: Phrase | None = None) -> NounPhrase:
        noun = self.noun(tag)
        while noun.is_mass:
            noun = self.noun(tag)
        return noun_phrase(noun, determiner, True, number=number)

    def subject(self) -> NounPhrase:
        """A person: pronoun, name or noun."""
        kind = self.dice.below(10)
        if kind < 4:
            return self.dice.choose(SUBJECT_PRONOUNS)
        return self.person() if kind < 9 else self.name()

    def name(self) -> NounPhrase:
        return name_phrase(*self.dice.choose(core.NAMES))

    def person(self) -> NounPhrase:
        return self.topic(PERSON)

    def place(self) -> tuple[Phrase, ...]:
        return (self.dice.choose(self.lexicon.places),)

    def portable(self) -> Noun:
        """Something that can lie about."""
        tags = [tag for tag in PORTABLE if tag in self.lexicon.nouns]
        return self.noun(self.dice.choose(tags))

    def number(self) -> Phrase:
        return self.dice.choose(core.NUMBERS)

    def _relation(self, noun: Noun) -> Noun | None:
        attributes = [one for tag in sorted(noun.tags) for one in self.lexicon.relations.get(tag, ())]
        return self.dice.choose(attributes) if attributes else None

    def _determiner(self, noun: Noun, owner: NounPhrase | None) -> tuple[str, bool]:
        is_plural = not noun.is_mass and self.dice.chance(28)
        kinds = ["the", "the", "the", "the", "a", "a", "this"]
        if owner is not None and not noun.is_person:
            kinds += ["own", "own"]
        if is_plural:
            kinds += ["several", "all"]
        elif not noun.is_mass:
            kinds += ["each"] if self.dice.chance(30) else []
        return self.dice.choose(kinds), is_plural

    def _build(self, noun: Noun, determiner: str, is_plural: bool, owner: NounPhrase | None) -> NounPhrase:
        adjective = None
        if self.dice.chance(14 if noun.is_person else 30):
            adjective = self.adjective(noun)
            if adjective is not None and adjective.english in _ONLY_DEFINITE and determiner not in ("the", "own"):
                adjective = None
        is_compound = "compound" in noun.tags or " " in noun.french
        if adjective is not None and is_compound and not adjective.is_prenominal:
            adjective = None
        return noun_phrase(noun, determiner, is_plural, adjective, owner)

    def adjective(self, noun: Noun) -> Adjective | None:
        """One that goes with the noun; the domain's own tags are tried before the general ones."""
        tags = [tag for tag in sorted(noun.tags) if tag in self.lexicon.adjectives]
        if noun.is_mass or len(tags) > 1:
            tags = [tag for tag in tags if tag != ANYTHING]
        return self.lexicon.adjectives[self.dice.choose(tags)].draw(self.dice) if tags else None

    # ------------------------------------------------------------------------------------------- clauses

    def transitive_verb(self, allow_states: bool = False, deliberate: bool = False) -> tuple[Verb, str]:
        """A verb and the tag its object is to have.

        "know" and "prefer" come only where states are allowed; `deliberate` ones can be ordered or wanted.
        """
        while True:
            verb = self.lexicon.transitive.draw(self.dice)
            tags = [tag for tag in sorted(verb.tags) if tag in self.lexicon.nouns]
            if not tags or (verb.base in _PURE_STATES and not allow_states):
                continue
            if deliberate and verb.base in _INVOLUNTARY:
                continue
            tag = ANYTHING if ANYTHING in tags and not self.dice.chance(12) else self.dice.choose(tags)
            return verb, tag

    def tense(self, verb: Verb) -> str:
        if verb.base in _PURE_STATES:
            return "present"
        if verb.base in _STATE_VERBS:
            return self.dice.choose(("present", "past", "past", "future", "can"))
        return self.dice.choose(_TENSES)

    def action(self, subject: NounPhrase | None = None, tense: str | None = None) -> Clause:
        """A person does something to something; sometimes with time, place or manner."""
        subject = subject or self.subject()
        verb, tag = self.transitive_verb(allow_states=tense is None)
        clause = Clause(subject, verb, tense or self.tense(verb), self.phrase(tag, owner=subject))
        return self.circumstances(self.negated(clause, tag))

    def bare_action(self, subject: NounPhrase, tense: str = "present") -> Clause:
        """An action with nothing added; good for infinitives and second clauses."""
        verb, tag = self.transitive_verb(deliberate=tense not in ("past", "future"))
        return Clause(subject, verb, tense, self.phrase(tag, owner=subject, plain=True))

    def negated(self, clause: Clause, tag: str) -> Clause:
        """One clause in six is negative; its object is then definite (no "pas une")."""
        if not self.dice.chance(17) or clause.tense not in ("present", "past", "future", "can", "must", "want"):
            return clause
        negation = "pas"
        if clause.tense in ("present", "can") and self.dice.chance(25):
            negation = "plus"
        elif clause.tense in _RECURRING and self.dice.chance(20):
            negation = "jamais"
        return replace(clause, negation=negation, object=self.topic(tag) if clause.object else None)

    def circumstances(self, clause: Clause) -> Clause:
        """Adds a time or a place, or an adverb."""
        choice = self.dice.below(10)
        if choice < 2 and not clause.negation and clause.tense == "present":
            return replace(clause, adverb=self.dice.choose(core.FREQUENCY))
        if choice < 4:
            return replace(clause, adjuncts=(*clause.adjuncts, *self.time(clause.tense, clause.negation)))
        if choice == 4:
            return replace(clause, adjuncts=(*clause.adjuncts, *self.place()))
        if choice == 5 and not clause.negation and clause.verb.base not in _STATE_VERBS:
            return replace(clause, adjuncts=(*clause.adjuncts, self.dice.choose(core.MANNER)))
        return clause

    def time(self, tense: str, negation: str = "") -> tuple[Phrase, ...]:
        if negation in ("plus", "jamais"):
            return ()
        kind = {"going": "future", "must": "future"}.get(tense, tense)
        return (self.dice.choose(core.TIMES[kind]),) if kind in core.TIMES else ()

    def transfer(self, subject: NounPhrase | None = None, tense: str | None = None) -> Clause:
        """Someone gives something to someone, who is a noun or a pronoun."""
        subject = subject or self.subject()
        verb = self.lexicon.ditransitive.draw(self.dice)
        tag = self.dice.choose([tag for tag in sorted(verb.tags) if tag in self.lexicon.nouns])
        tense = tense or self.dice.choose(("present", "past", "past", "future", "can", "must", "just", "going"))
        given = self.phrase(tag, owner=subject, plain=True)
        to_whom = self.person() if self.dice.chance(80) else self.name()
        clause = Clause(subject, verb, tense, given, recipient=to_whom, double_object=verb.base not in core.TAKES_TO)
        choice = self.dice.below(10)
        if choice < 4:
            whom = self.recipient_for(subject)
            return replace(clause, recipient=None, recipient_clitic=whom)
        if choice < 6:
            return replace(clause, object=None, object_clitic=given)
        if choice < 7:
            whom = self.recipient_for(subject)
            return replace(clause, object=None, object_clitic=given, recipient=None, recipient_clitic=whom)
        return clause

    def giver_for(self, tag: str) -> Verb:
        """A verb of giving or showing that takes what has this tag."""
        wanted = (tag, ANYTHING)
        return self.dice.choose([verb for verb in self.lexicon.ditransitive.items if verb.tags.intersection(wanted)])

    def recipient_for(self, subject: NounPhrase) -> NounPhrase:
        """Whom a pronoun can mean when `subject` speaks of giving: not the subject itself."""
        whom = self.dice.choose([pronoun(word) for word in ("je", "nous", "vous", "il", "ils", "ils")])
        clash = {"1s": ("1s", "1p"), "1p": ("1s", "1p"), "2p": ("2p",)}.get(subject.english_person, ())
        return pronoun("ils") if whom.person in clash else whom
