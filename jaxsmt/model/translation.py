"""From lines of text to translated lines: batches in, order kept."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from jaxsmt.model.glossary import Glossary, find_terms
from jaxsmt.model.model import Model, Profile
from jaxsmt.model.rule_model import make_rules
from jaxsmt.search.decoder import Decoder, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.moses import nbest_lines
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.translation import Translation, translate, translate_nbest
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.copies import written_words
from jaxsmt.text.vocabulary import UNKNOWN, Vocabulary

LINES_PER_BLOCK = 500  # read, translated and written at a time
_BREAKS = (".", ";", ":", ",", "!", "?", ")", "…")  # a sentence that is too long may be cut after these


@dataclass(frozen=True)
class TranslatedLine:
    """One line: its text, and the derivation it comes from."""

    text: str
    words: list[str]
    alignment: list[tuple[int, int]] = field(default_factory=list)  # source token, target token
    unknown: list[str] = field(default_factory=list)  # source tokens that nobody could translate
    score: float = 0.0


@dataclass(frozen=True)
class LineTranslator:
    """Translates raw lines with one model, each line by a profile.

    words: the target words by id; behind the model's come those that only the glossary has.
    profile: of lines that come without one.
    """

    model: Model
    decoder: Decoder
    words: Vocabulary
    profile: Profile
    glossary: Glossary

    def translate(self, lines: Sequence[str], profiles: Sequence[Profile] | None = None) -> list[TranslatedLine]:
        """One translated line for each line; an empty line stays empty."""
        request, tokens = self.request(lines, profiles)
        found = translate(self.decoder, request, self._break_ids)
        labels = [profile.label for profile in profiles or [self.profile] * len(lines)]
        return [self.line(*item) for item in zip(lines, tokens, found, labels, strict=True)]

    def nbest(
        self, lines: Sequence[str], size: int, first_number: int = 0, profiles: Sequence[Profile] | None = None
    ) -> Iterator[str]:
        """Lines of an n-best list in Moses' format, sentences numbered from `first_number`."""
        request, tokens = self.request(lines, profiles)
        lists = translate_nbest(self.decoder, request, size, break_ids=self._break_ids)
        # a sentence that was cut has no single derivation, an empty one has nothing to list
        listed = {row: found for row, found in enumerate(lists) if tokens[row] and len(found[0].parts) == 1}
        flat = [(row, item) for row, found in listed.items() for item in found]
        features = rescore(self.decoder, request, [item.parts[0] for _, item in flat], [row for row, _ in flat])
        first = 0
        for row, found in listed.items():
            outputs, links = (
                [self.output(tokens[row], item.tokens) for item in found],
                [item.alignment for item in found],
            )
            yield from nbest_lines(
                first_number + row, outputs, features, first, with_swaps=self.swaps_blocks, alignments=links
            )
            first += len(found)

    @property
    def swaps_blocks(self) -> bool:
        """Whether translations have a feature of swapped blocks."""
        return self.decoder.config.swap_span > 1

    @property
    def _break_ids(self) -> list[int]:
        return [i for i in self.model.source.vocabulary.encode(_BREAKS) if i != UNKNOWN]

    def request(
        self, lines: Sequence[str], profiles: Sequence[Profile] | None = None
    ) -> tuple[Request, list[list[str]]]:
        """What the decoder is asked for raw lines, and their tokens."""
        tokens = [self.model.source.preprocess(line) for line in lines]
        is_known = self.model.sentences is None or self.model.sentences.issuperset(map(tuple, tokens))
        assert is_known, "a model that was opened for certain lines has no rules for others"
        forced = find_terms(self.glossary, tokens, self.words.id_of)
        sentences = self.model.source.encode_lines(lines)
        weights, mixture, lm_mixture = stacked(profiles or [self.profile] * len(lines))
        if self.model.automaton.num_models == 1:
            lm_mixture = None
        return Request(sentences, self._copy_ids(tokens), weights, mixture, lm_mixture, forced), tokens

    def _copy_ids(self, tokens: list[list[str]]) -> np.ndarray:
        ids = self.model.lm_vocabulary.id_of
        return np.array([ids.get(token, UNKNOWN) for line in tokens for token in line], np.int32)

    def line(
        self, line: str, tokens: Sequence[str], found: Translation, label: str | None = None
    ) -> TranslatedLine:  # fmt: skip
        """What a translation of the line's tokens is as text, with the typography of the component of that label."""
        words = self.output(tokens, found.tokens)
        unknown = [tokens[place] for place in found.unknown_positions]
        num_known, exact = len(self.model.rules.union.target_vocabulary), self.model.source.exact_tokens(line)
        written, is_exact = written_words(words, found.tokens, tokens, exact, num_known)
        text = self.model.target.postprocess(written, line, label, is_exact) if words else ""
        return TranslatedLine(text, words, found.alignment, unknown, found.score)

    def output(self, tokens: Sequence[str], ids: Iterable[int]) -> list[str]:
        """The words of output ids; −1 − n is source word n, copied."""
        return [tokens[-1 - token] if token < 0 else self.words.decode([token])[0] for token in ids]


def blocks_of(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines in blocks of LINES_PER_BLOCK."""
    block: list[str] = []
    for line in lines:
        block.append(line)
        if len(block) == LINES_PER_BLOCK:
            yield block
            block = []
    if block:
        yield block


def make_line_translator(
    model: Model, profile: Profile | None = None, config: SearchConfig | None = None, glossary: Glossary | None = None
) -> LineTranslator:
    """Makes a model ready: for a profile, or without one for text that has no label."""
    glossary = glossary or {}
    known = model.rules.union.target_vocabulary
    # words with quotes, apostrophes or dashes have ids of their own, for they are written exactly as given
    terms = dict.fromkeys(word for target in glossary.values() for word in target)
    extra = [word for word in terms if word not in known.id_of or not word.isalnum()]
    words = Vocabulary((*known.words, *extra))
    matched = Vocabulary((*known.words, *map(model.target.matched, extra)))
    rules = make_rules(model.rules.union, model.rules.components, model.mixing.config, model.mixing.component_weights)
    decoder = make_decoder(rules, model.automaton, config or model.search, matched.ids_in(model.lm_vocabulary))
    return LineTranslator(model, decoder, words, profile or model.profile(), glossary)


def stacked(profiles: Sequence[Profile]) -> tuple[SearchWeights, np.ndarray | None, np.ndarray | None]:
    """Log-linear weights, component weights [B, ...] and language-model weights [B, D] of B sentences."""
    if not profiles:
        return SearchWeights(), None, None
    columns: dict[str, list] = {name: [] for name in vars(profiles[0].weights)}
    for profile in profiles:
        for name, value in vars(profile.weights).items():
            columns[name].append(value)
    weights = SearchWeights(**{name: np.array(values, np.float32) for name, values in columns.items()})
    return weights, np.stack([p.mixture for p in profiles]), np.stack([p.lm_mixture for p in profiles])
