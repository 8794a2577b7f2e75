"""Words in two languages, and how the tables of the lexicon are read."""

import re
from dataclasses import dataclass
from functools import cached_property

from jaxsmt.demo import english, french

ANYTHING = "any"  # the tag that every noun carries unless it names a person or an idea
IDEA = "idea"
PERSON = "person"


@dataclass(frozen=True)
class Noun:
    """A noun with its translation; `tags` say which verbs and adjectives it goes with."""

    french: str
    french_plural: str
    gender: str  # "m" or "f"
    english: str
    english_plural: str
    tags: frozenset[str]
    is_mass: bool = False
    is_dominant: bool = False  # of all domains this sense is to be the most frequent

    @property
    def is_person(self) -> bool:
        return PERSON in self.tags


@dataclass(frozen=True)
class Adjective:
    """An adjective; `is_prenominal` ones stand before the French noun too."""

    french: str
    french_feminine: str
    english: str
    tags: frozenset[str]
    is_prenominal: bool = False
    is_dominant: bool = False

    def form(self, gender: str, is_plural: bool) -> str:
        word = self.french if gender == "m" else self.french_feminine
        return french.plural(word) if is_plural else word


@dataclass(frozen=True)
class Verb:
    """A verb: "switch ~off" has a particle that a pronoun precedes, "look for" a preposition."""

    french: str
    english: str
    tags: frozenset[str]  # of its object, or of its subject if it is intransitive
    is_transitive: bool = True
    has_passive: bool = True
    is_dominant: bool = False

    @cached_property
    def base(self) -> str:
        return self.english.split()[0]

    @cached_property
    def preposition(self) -> str:
        return " ".join(word for word in self.english.split()[1:] if word[0] != "~")

    @cached_property
    def particle(self) -> str:
        return " ".join(word[1:] for word in self.english.split()[1:] if word[0] == "~")

    @property
    def auxiliary(self) -> str:
        return "être" if not self.is_transitive and self.french in french.WITH_ETRE else "avoir"


def _entries(table: str) -> list[str]:
    return [entry.strip() for entry in re.split("[;\n]", table) if entry.strip()]


def _sides(entry: str) -> tuple[str, str, bool]:
    left, right = entry.split(" = ")
    return left.strip(), right.strip().removesuffix("!"), entry.endswith("!")


def nouns(blocks: dict[str, str]) -> tuple[Noun, ...]:
    """Reads {"tag tag": "m fichier = file; m noyau/noyaux = kernel!; f farine = flour mass"}."""
    return tuple(noun(entry, tags) for tags, table in blocks.items() for entry in _entries(table))


def noun(entry: str, tags: str) -> Noun:
    """One noun: gender, French[/plural] = English[/plural] [mass][!]"""
    left, right, is_dominant = _sides(entry)
    gender, left = left.split(" ", 1)
    singular, _, plural = left.partition("/")
    is_mass = right.endswith(" mass")
    meaning, _, meanings = right.removesuffix(" mass").partition("/")
    kinds = set(tags.split())
    return Noun(
        french=singular,
        french_plural=plural or french.plural(singular),
        gender=gender,
        english=meaning,
        english_plural=meanings or english.plural(meaning),
        tags=frozenset(kinds if kinds & {PERSON, IDEA} else kinds | {ANYTHING}),
        is_mass=is_mass,
        is_dominant=is_dominant,
    )


def compounds(tags: str, heads: str, modifiers: str) -> tuple[Noun, ...]:
    """Head × modifier: "soupe" with "légumes = vegetable" gives "soupe de légumes", "vegetable soup"."""
    made = []
    for head in (noun(entry, tags) for entry in _entries(heads)):
        for modifier in _entries(modifiers):
            left, right = modifier.split(" = ")
            link = " d'" if french.starts_with_vowel(left) else " de "
            made.append(
                Noun(
                    head.french + link + left,
                    head.french_plural + link + left,
                    head.gender,
                    f"{right} {head.english}",
                    f"{right} {head.english_plural}",
                    head.tags | {"compound"},
                    head.is_mass,
                )
            )
    return tuple(made)


def adjectives(blocks: dict[str, str]) -> tuple[Adjective, ...]:
    """Reads {"tag tag": "<petit = small; frais/fraîche = fresh!"}; < marks the prenominal ones."""
    made = []
    for tags, table in blocks.items():
        for entry in _entries(table):
            left, right, is_dominant = _sides(entry)
            masculine, _, feminine = left.removeprefix("<").partition("/")
            feminine = feminine or french.feminine(masculine)
            kinds = frozenset(tags.split())
            made.append(Adjective(masculine, feminine, right, kinds, left.startswith("<"), is_dominant))
    return tuple(made)


def verbs(table: str, is_transitive: bool = True) -> tuple[Verb, ...]:
    """Reads "ouvrir = open : data window; *attendre = wait for : any"; * marks those without a passive."""
    made = []
    for entry in _entries(table):
        words, tags = entry.split(" : ")
        left, right, is_dominant = _sides(words.strip())
        kinds = frozenset(tags.split())
        has_passive = is_transitive and not left.startswith("*")
        made.append(Verb(left.removeprefix("*"), right, kinds, is_transitive, has_passive, is_dominant))
    return tuple(made)


def phrases(table: str) -> tuple[tuple[str, str], ...]:
    """Reads fixed phrases: "ce soir = this evening; demain = tomorrow"."""
    return tuple((left, right) for left, right, _ in map(_sides, _entries(table)))
