"""From lines of text to translated lines: the protocol of all translators, and the plain one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.model.mixing import make_rules
from jaxsmt.model.model import Model, Profile
from jaxsmt.model.source_text import Glossary, SourceText, find_terms, links_of_words
from jaxsmt.search.decoder import Decoder, Request, SearchConfig, make_decoder
from jaxsmt.search.rules.model import RuleModel
from jaxsmt.search.statistics import SearchStatistics
from jaxsmt.search.translation import Translation, translate, translate_nbest
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.encoding import written_words
from jaxsmt.text.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from jaxsmt.adapt.consensus.config import ConsensusConfig
    from jaxsmt.model.reranking.consensus import ConsensusTranslator
    from jaxsmt.search.nbest.rescoring import FeatureVectors

_BREAKS = (".", ";", ":", ",", "!", "?", ")", "…")  # a sentence that is too long may be cut after these


@dataclass(frozen=True)
class TranslatedLine:
    """One line: its text, and the derivation it comes from."""

    text: str
    words: list[str]
    alignment: list[tuple[int, int]] = field(default_factory=list)  # word of the line, target token
    unknown: list[str] = field(default_factory=list)  # source tokens that nobody could translate
    score: float = 0.0

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class NBestList:
    """Translations of one line.

    best: the best one.
    listed: all that are listed, best first; none where the line is empty or had to be cut, for then there is no
      single derivation.
    outputs: their words.
    features: their rows, with the scores that rank them.
    origins: as in `SourceText`, of the line.
    """

    best: TranslatedLine
    listed: Sequence[Translation]
    outputs: Sequence[Sequence[str]]
    features: "FeatureVectors"
    origins: Sequence[int] | None = None

    def moses_lines(self, number: int, own_features: Sequence[str]) -> Iterator[str]:
        """In Moses' format, as sentence `number`; own_features: of the search."""
        from jaxsmt.search.nbest.moses import nbest_lines

        links = [links_of_words(self.origins, found.alignment) for found in self.listed]
        return nbest_lines(number, self.outputs, self.features, 0, own_features, alignments=links)


class Translator(Protocol):
    """What translates text with a model, each line by a profile; without profiles all as text of no label."""

    @property
    def plain(self) -> "PlainTranslator":
        """What finds derivations, ranks none anew, and translates what nobody ranks."""

    @property
    def model(self) -> Model:
        """What it translates with."""

    @property
    def statistics(self) -> SearchStatistics:
        """Of all that was searched so far."""

    @property
    def own_features(self) -> tuple[str, ...]:
        """Names of the features that not every search has."""

    def for_text(self, text: SourceText) -> "Translator":
        """Itself if it has the rules for a text, or the same with these."""

    def translate(self, text: SourceText, profiles: Sequence[Profile] | None = None) -> list[TranslatedLine]:
        """One translated line for each line; an empty line stays empty."""

    def nbest(self, text: SourceText, size: int, profiles: Sequence[Profile] | None = None) -> list[NBestList]:
        """A list of up to `size` translations for each line."""

    def line(self, text: SourceText, row: int, found: Translation, label: str | None = None) -> TranslatedLine:
        """What a translation of line `row` is as text; label: of the line."""

    def with_consensus(self, config: "ConsensusConfig") -> "ConsensusTranslator":
        """What chooses from its lists by consensus."""


@dataclass(frozen=True)
class PlainTranslator:
    """The best derivation under the weights of a line's profile.

    words: the target words by id; behind the model's come those that only the glossary has.
    profile: of lines that come without one.
    """

    model: Model
    decoder: Decoder
    words: Vocabulary
    profile: Profile
    glossary: Glossary

    def for_text(self, text: SourceText) -> "PlainTranslator":
        """Itself if it has the rules for a text, or the same with these."""
        if self.model.rules.has(text.tokens):
            return self
        model = self.model.for_text(text)
        return replace(self, model=model, decoder=self.decoder.with_rules(_rules_of(model)))

    def translate(self, text: SourceText, profiles: Sequence[Profile] | None = None) -> list[TranslatedLine]:
        """One translated line for each line; an empty line stays empty."""
        request = self.request(text, profiles)
        found = translate(self.decoder, request, self._break_ids)
        labels = self._labels(text, profiles)
        return [self.line(text, row, best, labels[row]) for row, best in enumerate(found)]

    def nbest(self, text: SourceText, size: int, profiles: Sequence[Profile] | None = None) -> list[NBestList]:
        """A list of up to `size` translations for each line."""
        from jaxsmt.search.nbest.rescoring import features_at, rescore  # who asks for the best alone needs no features

        request = self.request(text, profiles)
        lists = translate_nbest(self.decoder, request, size, break_ids=self._break_ids)
        listed = [
            found if tokens and len(found[0].parts) == 1 else []
            for tokens, found in zip(text.tokens, lists, strict=True)
        ]
        flat = [(row, item) for row, found in enumerate(listed) for item in found]
        features = rescore(self.decoder, request, [item.parts[0] for _, item in flat], [row for row, _ in flat])
        labels, made, first = self._labels(text, profiles), [], 0
        for row, found in enumerate(listed):
            part = features_at(features, np.arange(first, first + len(found)))
            outputs = [self.output(text.tokens[row], item.tokens) for item in found]
            best = self.line(text, row, lists[row][0], labels[row])
            made.append(NBestList(best, found, outputs, part, text.origins_of(row)))
            first += len(found)
        return made

    @property
    def plain(self) -> "PlainTranslator":
        """Itself."""
        return self

    def with_consensus(self, config: "ConsensusConfig") -> "ConsensusTranslator":
        """What chooses from lists by consensus, which nothing rescores."""
        from jaxsmt.model.rescoring import Rescoring

        return Rescoring((), (), config.nbest).translator(self).with_consensus(config)

    @property
    def statistics(self) -> SearchStatistics:
        """Of all that was searched so far."""
        return self.decoder.statistics

    @property
    def own_features(self) -> tuple[str, ...]:
        """Names of the features that not every search has."""
        return self.decoder.config.own_features

    @cached_property
    def _break_ids(self) -> list[int]:
        return [i for i in self.model.source.vocabulary.encode(_BREAKS) if i != UNKNOWN]

    def request(self, text: SourceText, profiles: Sequence[Profile] | None = None) -> Request:
        """What the decoder is asked for lines."""
        assert self.model.rules.has(text.tokens), "a model that was opened for a text has no rules for others"
        lms, source = self.model.lms, self.model.source.vocabulary
        own = profiles or [self.profile] * len(text)
        weights, mixture, lm_mixtures = stacked(own) if own else (self.profile.weights, None, self.profile.lm_mixtures)
        is_mixed = [part.is_mixed for part in lms]
        copies = np.array([part.encode(word for tokens in text.tokens for word in tokens) for part in lms], np.int32)
        if (models := self.model.search_operations) is not None:  # to copy a word is an unknown operation
            is_mixed.append(len(models.names) > 1)
            copies = np.concatenate([copies, np.full_like(copies[:1], UNKNOWN)])
        return Request(
            ragged_from_rows([source.encode(tokens) for tokens in text.tokens]),
            copies.T,
            weights,
            mixture,
            tuple(part if used else None for part, used in zip(lm_mixtures, is_mixed, strict=True)),
            find_terms(self.glossary, text.tokens, self.words.id_of),
        )

    def line(self, text: SourceText, row: int, found: Translation, label: str | None = None) -> TranslatedLine:
        """What a translation of line `row` is as text, with the typography of the component of that label."""
        tokens, num_known = text.tokens[row], len(self.model.target.vocabulary)
        words = self.output(tokens, found.tokens)
        unknown = [tokens[place] for place in found.unknown_positions]
        written, is_exact = written_words(words, found.tokens, tokens, text.exact[row], num_known)
        links = links_of_words(text.origins_of(row), found.alignment)
        result = self.model.target.postprocess(written, text.lines[row], label, is_exact) if words else ""
        return TranslatedLine(result, words, links, unknown, found.score)

    def _labels(self, text: SourceText, profiles: Sequence[Profile] | None) -> list[str | None]:
        return [profile.label for profile in profiles or [self.profile] * len(text)]

    def output(self, tokens: Sequence[str], ids: Iterable[int]) -> list[str]:
        """The words of output ids; −1 − n is source word n, copied."""
        return [tokens[-1 - token] if token < 0 else self.words.decode([token])[0] for token in ids]


def plain_translator(
    model: Model, profile: Profile | None = None, config: SearchConfig | None = None, glossary: Glossary | None = None
) -> PlainTranslator:
    """Makes a model ready: for a profile, or without one for text that has no label."""
    glossary = glossary or {}
    known = model.target.vocabulary
    # words with quotes, apostrophes or dashes have ids of their own, for they are written exactly as given
    terms = dict.fromkeys(word for target in glossary.values() for word in target)
    extra = [word for word in terms if word not in known.id_of or not word.isalnum()]
    words = Vocabulary((*known.words, *extra))
    matched = Vocabulary((*known.words, *map(model.target.matched, extra)))
    lms = [part.features(matched) for part in model.lms]
    decoder = make_decoder(_rules_of(model), lms, config or model.search, operations=model.search_operations)
    return PlainTranslator(model, decoder, words, profile or model.profile(), glossary)


def _rules_of(model: Model) -> RuleModel:
    mixing, rules = model.mixing, model.rules
    return make_rules(rules.union, rules.usable, mixing.config, mixing.component_weights, model.provenance)


def make_translator(model: Model, config: SearchConfig | None = None, glossary: Glossary | None = None) -> Translator:
    """Makes a model ready, with its adaptation or rescoring if it has one, and with its consensus."""
    plain = plain_translator(model, None, config, glossary)
    more = model.adaptation or model.rescoring  # training makes no model with both
    translator: Translator = plain if more is None else more.translator(plain)
    return translator if model.consensus is None else translator.with_consensus(model.consensus)


def stacked(profiles: Sequence[Profile]) -> tuple[SearchWeights, np.ndarray, tuple[np.ndarray, ...]]:
    """Log-linear weights, component weights [B, ...] and weights of each language model [B, D] of B > 0 sentences."""
    columns: dict[str, list] = {name: [] for name in vars(profiles[0].weights)}
    for profile in profiles:
        for name, value in vars(profile.weights).items():
            columns[name].append(value)
    weights = SearchWeights(**{name: np.array(values, np.float32) for name, values in columns.items()})
    lm_mixtures = zip(*(profile.lm_mixtures for profile in profiles), strict=True)
    return weights, np.stack([p.mixture for p in profiles]), tuple(np.stack(part) for part in lm_mixtures)
