"""Noun phrases in both languages: determiners, adjectives, agreement, pronouns."""

from dataclasses import dataclass

from jaxsmt.demo.french import starts_with_vowel
from jaxsmt.demo.words import Adjective, Noun

_POSSESSIVES = {  # whose → French m, f, plural; English
    "1s": ("mon", "ma", "mes", "my"),
    "3s": ("son", "sa", "ses", "his"),
    "1p": ("notre", "notre", "nos", "our"),
    "2p": ("votre", "votre", "vos", "your"),
    "3p": ("leur", "leur", "leurs", "their"),
}
_LIAISON = {"ma": "mon", "sa": "son", "ce": "cet", "nouveau": "nouvel", "vieux": "vieil", "beau": "bel"}


@dataclass(frozen=True)
class NounPhrase:
    """One phrase in both languages with what others must agree with.

    `person` is how the French verb agrees, `english_person` the English one ("on" is "we").
    """

    french: tuple[str, ...]
    english: tuple[str, ...]
    person: str = "3s"
    english_person: str = "3s"
    gender: str = "m"
    is_person: bool = False

    @property
    def is_plural(self) -> bool:
        return self.person.endswith("p")


_SUBJECTS = {
    "je": NounPhrase(("je",), ("I",), "1s", "1s", "m", True),
    "il": NounPhrase(("il",), ("he",), "3s", "3s", "m", True),
    "elle": NounPhrase(("elle",), ("she",), "3s", "3s", "f", True),
    "on": NounPhrase(("on",), ("we",), "3s", "1p", "m", True),
    "nous": NounPhrase(("nous",), ("we",), "1p", "1p", "m", True),
    "vous": NounPhrase(("vous",), ("you",), "2p", "2p", "m", True),
    "ils": NounPhrase(("ils",), ("they",), "3p", "3p", "m", True),
    "elles": NounPhrase(("elles",), ("they",), "3p", "3p", "f", True),
}
SUBJECT_PRONOUNS = tuple(_SUBJECTS.values())
THEE = NounPhrase(("tu",), ("you",), "2s", "2p", "m", True)  # as an object only: te


def pronoun(french: str) -> NounPhrase:
    """The subject pronoun "je", "il", …"""
    return _SUBJECTS[french]


def subject_pronoun_for(phrase: NounPhrase) -> NounPhrase:
    """The pronoun that takes up a phrase: il, elle, ils, elles; it for things."""
    chosen = _SUBJECTS[("elle" if phrase.gender == "f" else "il") + ("s" if phrase.is_plural else "")]
    if phrase.is_person or phrase.is_plural:
        return chosen
    return NounPhrase(chosen.french, ("it",), "3s", "3s", phrase.gender)


def object_pronouns(phrase: NounPhrase) -> tuple[str, str]:
    """The direct object pronoun: le/la/les and it/him/her/them (or me, us, you)."""
    by_person = {"1s": ("me", "me"), "2s": ("te", "you"), "1p": ("nous", "us"), "2p": ("vous", "you"),
                 "3p": ("les", "them")}  # fmt: skip
    if phrase.person != "3s":
        return by_person[phrase.person]
    if phrase.gender == "f":
        return "la", "her" if phrase.is_person else "it"
    return "le", "him" if phrase.is_person else "it"


def recipient_pronouns(phrase: NounPhrase) -> tuple[str, str]:
    """The indirect object pronoun: lui/leur and him/her/them (or me, us, you)."""
    direct, english = object_pronouns(phrase)
    return {"le": "lui", "la": "lui", "les": "leur"}.get(direct, direct), english


def name_phrase(name: str, gender: str) -> NounPhrase:
    return NounPhrase((name,), (name,), "3s", "3s", gender, True)


def noun_phrase(
    noun: Noun,
    determiner: str,
    is_plural: bool = False,
    adjective: Adjective | None = None,
    owner: NounPhrase | None = None,
    number: tuple[str, str] | None = None,
) -> NounPhrase:
    """Builds the phrase.

    determiner: "the", "a" (plural and mass: some), "this", "each", "several", "all", "number", "own", "bare".
    """
    head = noun.french_plural if is_plural else noun.french
    has_prenominal = adjective is not None and adjective.is_prenominal
    form = "" if adjective is None else adjective.form(noun.gender, is_plural)
    core = [word for word in ((form, head) if has_prenominal else (head, form)) if word]
    if has_prenominal and not is_plural and starts_with_vowel(head):
        core[0] = _LIAISON.get(core[0], core[0])
    english_head = noun.english_plural if is_plural else noun.english
    english_adjective = "" if adjective is None else adjective.english
    article: tuple[str, ...]
    if determiner == "number":
        assert number is not None
        article, english_article = number[:1], number[1]
    else:
        article, english_article = _determiner(noun, determiner, is_plural, core[0], has_prenominal, owner)
    person = "3p" if is_plural else "3s"
    return NounPhrase(
        tuple(word for word in (*article, *core) if word),
        tuple(word for word in (english_article, english_adjective, english_head) if word),
        person,
        person,
        noun.gender,
        noun.is_person,
    )


def _determiner(
    noun: Noun,
    determiner: str,
    is_plural: bool,
    following: str,
    has_prenominal: bool,
    owner: NounPhrase | None,
) -> tuple[tuple[str, ...], str]:
    feminine = noun.gender == "f"
    if determiner == "bare":
        return (), ""
    if determiner == "several":
        return ("plusieurs",), "several"
    if determiner == "each":
        return ("chaque",), "each"
    if determiner == "own":
        assert owner is not None
        return _possessive(noun.gender, is_plural, following, owner)
    if determiner == "a":
        return _indefinite(noun, is_plural, has_prenominal)
    if determiner == "this":
        return _demonstrative(feminine, is_plural, following)
    article = "LES" if is_plural else "LA" if feminine else "LE"
    if determiner == "all":
        return ("toutes" if feminine else "tous", article), "all the"
    return (article,), "the"


def _indefinite(noun: Noun, is_plural: bool, has_prenominal: bool) -> tuple[tuple[str, ...], str]:
    if is_plural:
        return ("de" if has_prenominal else "DES",), "some"
    if noun.is_mass:
        return ("de", "LA" if noun.gender == "f" else "LE"), "some"
    return ("une" if noun.gender == "f" else "un",), "a"


def _demonstrative(feminine: bool, is_plural: bool, following: str) -> tuple[tuple[str, ...], str]:
    if is_plural:
        return ("ces",), "these"
    masculine = "cet" if starts_with_vowel(following) else "ce"
    return ("cette" if feminine else masculine,), "this"


def _possessive(gender: str, is_plural: bool, following: str, owner: NounPhrase) -> tuple[tuple[str, ...], str]:
    masculine, feminine, plural, _ = _POSSESSIVES[owner.person]
    english = _POSSESSIVES[owner.english_person][3]
    if owner.english_person == "3s":
        english = ("her" if owner.gender == "f" else "his") if owner.is_person else "its"
    if is_plural:
        return (plural,), english
    word = feminine if gender == "f" else masculine
    return (_LIAISON.get(word, word) if starts_with_vowel(following) else word,), english


def of_phrase(attribute: Noun, owner: NounPhrase) -> NounPhrase:
    """ "la taille du fichier": the size of the file; of people: the customer's price."""
    head = noun_phrase(attribute, "the")
    french = (*head.french, "de", *owner.french)
    if owner.is_person:
        return NounPhrase(french, (*owner.english, "'s", attribute.english), "3s", "3s", attribute.gender)
    return NounPhrase(french, (*head.english, "of", *owner.english), "3s", "3s", attribute.gender, attribute.is_person)
