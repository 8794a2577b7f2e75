"""The vocabulary of each domain: shared words and its own, with how often each is to be used."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

from jaxsmt.demo.dice import Urn, urn
from jaxsmt.demo.lexicon import core, kitchen, software, travel
from jaxsmt.demo.words import PERSON, Adjective, Noun, Verb

MODULES: dict[str, ModuleType] = {"software": software, "kitchen": kitchen, "travel": travel}
DOMAINS: tuple[str, ...] = tuple(MODULES)

Word = TypeVar("Word", bound=Noun | Adjective | Verb)
Phrase = tuple[str, str]  # French, English

# how often a word is drawn, relative to others; a word of many senses is frequent in every domain, and
# one domain uses it so much that its sense wins in the pooled data
_WEIGHT_CORE, _WEIGHT_CORE_VERB, _WEIGHT_OWN, _WEIGHT_COMPOUND = 3, 11, 6, 2
_WEIGHT_DOMINANT, _WEIGHT_MINOR = 44, 18
_WEIGHT_VISITOR = 16


@dataclass(frozen=True)
class DomainLexicon:
    """What one domain can say. Nouns by their tag, adjectives by the tag of their noun."""

    nouns: dict[str, Urn[Noun]]
    adjectives: dict[str, Urn[Adjective]]
    transitive: Urn[Verb]
    intransitive: Urn[Verb]
    ditransitive: Urn[Verb]
    places: tuple[Phrase, ...]
    relations: dict[str, tuple[Noun, ...]]  # tag of the owner → attributes it has
    frames: tuple[Phrase, ...]


def _senses() -> dict[str, dict[str, str]]:
    """French word → domain → its English, where the domains do not agree."""
    senses: dict[str, dict[str, str]] = {}
    for domain, module in MODULES.items():
        words: tuple[Noun | Adjective | Verb, ...] = (
            *module.NOUNS,
            *module.ADJECTIVES,
            *module.TRANSITIVE,
            *module.INTRANSITIVE,
        )
        for word in words:
            senses.setdefault(word.french, {}).setdefault(domain, word.english.replace("~", ""))
    general: tuple[Noun | Adjective | Verb, ...] = (*core.TRANSITIVE, *core.INTRANSITIVE, *core.ADJECTIVES, *core.NOUNS)
    shared = {word.french for word in general}
    return {
        french: by_domain
        for french, by_domain in sorted(senses.items())
        if len(set(by_domain.values())) > 1 and french not in shared
    }


AMBIGUOUS_WORDS: dict[str, dict[str, str]] = _senses()


def _weight(word: Noun | Adjective | Verb) -> int:
    if word.french in AMBIGUOUS_WORDS:
        return _WEIGHT_DOMINANT if word.is_dominant else _WEIGHT_MINOR
    return _WEIGHT_COMPOUND if "compound" in word.tags else _WEIGHT_OWN


def _weighted(
    own: Sequence[Word], shared: Sequence[Word], visitors: Sequence[Word], shared_weight: int = _WEIGHT_CORE
) -> list[tuple[Word, int]]:
    return [
        *((word, _weight(word)) for word in own),
        *((word, shared_weight) for word in shared),
        *((word, _WEIGHT_OWN if PERSON in word.tags else _WEIGHT_VISITOR) for word in visitors),
    ]


def _by_tag(pairs: Sequence[tuple[Word, int]]) -> dict[str, Urn[Word]]:
    tags = sorted({tag for word, _ in pairs for tag in word.tags})
    return {tag: urn([(word, weight) for word, weight in pairs if tag in word.tags]) for tag in tags}


def _visitors(domain: str, kind: str) -> list:
    """Words that only other domains' training text has: `kind` names the tables to look in."""
    wanted = MODULES[domain].VISITORS.split()
    found: dict[str, Noun | Adjective | Verb] = {}
    for other in DOMAINS:
        if other != domain:
            for word in getattr(MODULES[other], kind):
                if word.french in wanted:
                    found.setdefault(word.french, word)
    return list(found.values())


def build_lexicon(domain: str, with_visitors: bool) -> DomainLexicon:
    """The words of a domain; development and test text also has visitors from the other domains."""
    module = MODULES[domain]

    def mixed(kind: str, shared: Sequence[Word], shared_weight: int = _WEIGHT_CORE) -> list[tuple[Word, int]]:
        visitors = _visitors(domain, kind) if with_visitors else []
        return _weighted(getattr(module, kind), shared, visitors, shared_weight)

    adjectives = mixed("ADJECTIVES", core.ADJECTIVES)
    return DomainLexicon(
        nouns=_by_tag(mixed("NOUNS", core.NOUNS)),
        adjectives=_by_tag(adjectives),
        transitive=urn(mixed("TRANSITIVE", core.TRANSITIVE, _WEIGHT_CORE_VERB)),
        intransitive=urn(_weighted(module.INTRANSITIVE, core.INTRANSITIVE, [], _WEIGHT_CORE_VERB)),
        ditransitive=urn([(verb, 1) for verb in core.DITRANSITIVE]),
        places=module.PLACES,
        relations=_relations(module.RELATIONS),
        frames=module.FRAMES,
    )


def _relations(attributes: Iterable[Noun]) -> dict[str, tuple[Noun, ...]]:
    by_owner: dict[str, tuple[Noun, ...]] = {}
    for attribute in attributes:
        for tag in sorted(attribute.tags - {"any"}):
            by_owner[tag] = (*by_owner.get(tag, ()), attribute)
    return by_owner
