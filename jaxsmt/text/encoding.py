"""One language of a model: from a line of text to tokens and ids, and from output tokens to text."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.common.settings import SettingError, from_values
from jaxsmt.text import casing
from jaxsmt.text.casing import Truecaser
from jaxsmt.text.languages.rare_words import RareWords, RareWordsConfig, load_rare_words
from jaxsmt.text.languages.segmenters import check_segmenters, segmenter_of
from jaxsmt.text.normalise import NormaliseConfig, Normaliser, make_normaliser
from jaxsmt.text.tokenising import JOINER, Tokeniser, tokeniser_for
from jaxsmt.text.typography import Typography, load_typography
from jaxsmt.text.vocabulary import Vocabulary, load_vocabulary

CONTROL_CHOICES = ("refuse", "replace")


@dataclass(frozen=True)
class TextConfig:
    """How text is prepared.

    tokenise: False for text whose tokens are separated by spaces already.
    segmenters: Python functions, by language, that cut text without spaces into words; see `languages.segmenters`.
    case: 'none' keeps it, 'lower' lowercases, 'true' truecases.
    recase: whether output starts with a capital where the input did ('lower' and 'true' only).
    typography: whether output has the quotes, apostrophes, hyphens and spaces of the target text, where `normalise` or
      cutting into tokens made them plain; off where text is not tokenised.
    rare_words: which rare words of the source language are rewritten as others; none where text is not tokenised.
    clean: False keeps every pair, as development and test sets need it; the three limits then do nothing.
    max_length: tokens on either side at most; None for no limit.
    max_ratio: the longer side has at most this many times the tokens of the shorter one; None for no limit.
    remove_duplicates: of equal pairs only the first is kept.
    control_characters: in training text they mean that a file is not what it seems: 'refuse' names the line,
      'replace' puts spaces in their place.
    """

    tokenise: bool = True
    segmenters: dict[str, str] = field(default_factory=dict)
    case: str = "lower"
    recase: bool = True
    normalise: NormaliseConfig = field(default_factory=NormaliseConfig)
    typography: bool = True
    rare_words: RareWordsConfig = field(default_factory=RareWordsConfig)
    clean: bool = True
    max_length: int | None = 100
    max_ratio: float | None = 9.0
    remove_duplicates: bool = False
    control_characters: str = "refuse"

    def __post_init__(self) -> None:
        if self.control_characters not in CONTROL_CHOICES:
            choices = " or ".join(CONTROL_CHOICES)
            raise UserError(f"text.control_characters is '{self.control_characters}': set it to {choices}")
        check_segmenters(self.segmenters)
        if self.case not in casing.CASES:
            raise UserError(f"text.case is '{self.case}': set it to one of {', '.join(casing.CASES)}")
        for name, unit in {"max_length": "number of words", "max_ratio": "ratio"}.items():
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise SettingError("text", name, f"is {value}: give a {unit} of at least 1, or null")


class ReadLine(NamedTuple):
    """A line as a model reads it.

    tokens: as the model knows them; exact: with the quotes, apostrophes and dashes that they have.
    origins: which of the line's `cut_words` each of them stands for.
    """

    tokens: list[str]
    exact: list[str]
    origins: list[int]


@dataclass(frozen=True)
class TextSide:
    """One language of a model: all that turns its text into ids and tokens into text."""

    language: str
    config: TextConfig
    vocabulary: Vocabulary
    truecaser: Truecaser | None = None  # with case 'true' only
    typography: Typography | None = None  # of a target language only, if it is wished
    rare_words: RareWords | None = None  # of a source language only, if it is wished

    @property
    def _normaliser(self) -> Normaliser:
        return make_normaliser(self.config.normalise)

    @property
    def _tokeniser(self) -> Tokeniser:
        return tokeniser_for(self.language, segmenter_of(self.language, self.config.segmenters))

    @cached_property
    def _cut(self) -> Callable[[str], list[str]]:
        return cutter(self.language, self.config)

    def preprocess(self, text: str) -> list[str]:
        """The tokens of one line of raw text, as the model knows them."""
        tokens = self.cut_words(text)
        return tokens if self.rare_words is None else self.rare_words.rewrite(tokens)

    def cut_words(self, text: str) -> list[str]:
        """The tokens of one line of raw text, with rare words as they are."""
        return self._cased(self._cut(text))

    def exact_tokens(self, text: str) -> list[str]:
        """The tokens of one line with the quotes, apostrophes and dashes that it has; `matched` undoes it."""
        return self.read(text).exact

    def read(self, text: str) -> "ReadLine":
        """`preprocess` and `exact_tokens` of one line, which is cut once."""
        cuts = self._cut(text)
        tokens = self._cased(cuts)
        visible = self._tokeniser.without_marks(self._normaliser.visible(text))
        if not self.config.tokenise or self._normaliser.plain(visible) == visible:
            return self._rewritten(tokens, tokens)
        plain, letters = self._tokeniser.plain, "".join(visible.split())
        exact, place = [], 0
        for cut, token in zip(cuts, tokens, strict=True):
            form = plain(cut)
            seen = letters[place : place + len(form)]
            exact.append(self._tokeniser.with_form(token, _with_marks_of(plain(token), form, seen)))
            place += len(form)
        return self._rewritten(tokens, exact)

    def _rewritten(self, tokens: list[str], exact: list[str]) -> "ReadLine":
        """Both with rare words rewritten; a word that becomes another one alone keeps its exact form."""
        if self.rare_words is None:
            return ReadLine(tokens, exact, list(range(len(tokens))))
        parts = [self.rare_words.rewritten(token) for token in tokens]
        kept = [own if len(own) > 1 else (form,) for own, form in zip(parts, exact, strict=True)]
        origins = [number for number, own in enumerate(parts) for _ in own]
        return ReadLine([part for own in parts for part in own], [part for own in kept for part in own], origins)

    def _cased(self, tokens: list[str]) -> list[str]:
        if self.config.case == "lower":
            return [token.lower() for token in tokens]
        return self.truecaser.apply(tokens) if self.truecaser else tokens

    def plain(self, token: str) -> str:
        """The token without the marks that say how it sits."""
        return self._tokeniser.plain(token) if self.config.tokenise else token

    def matched(self, token: str) -> str:
        """The token as the model knows it, of one with its own quotes, apostrophes and dashes."""
        if not self.config.tokenise:
            return token
        return self._tokeniser.with_form(token, self._normaliser.plain(self._tokeniser.plain(token)))

    def encode_lines(self, lines: Iterable[str]) -> Ragged:
        """Ids of many lines of raw text; no line is dropped."""
        return ragged_from_rows([self.vocabulary.encode(self.preprocess(line)) for line in lines])

    def postprocess(
        self, tokens: Sequence[str], source_text: str | None = None, component: str | None = None,
        is_exact: Sequence[bool] | None = None,
    ) -> str:  # fmt: skip
        """A line of text from output tokens; it starts with a capital unless `source_text` starts without one.

        component: whose typography the line gets; None or one that is not known: that of all text.
        is_exact: for each token whether its characters stay as they are (case aside).
        """
        if self.config.case != "none" and self.config.recase:
            tokens = casing.recase(tokens, source_text is None or casing.starts_with_capital(source_text))
        if not self.config.tokenise:
            return " ".join(tokens)
        text, starts = self._tokeniser.lay_out(tokens)
        if self.typography is None:
            return text
        restored = self.typography.restore(self._normaliser.plain(text), component, source_text)
        for token, start, keep in zip(tokens, starts, is_exact or [False] * len(tokens), strict=True):
            if keep:
                end = start + len(self._tokeniser.plain(token))
                restored[start:end] = text[start:end]
        return "".join(restored)

    def save(self, folder: str | Path, name: str) -> None:
        """Writes `<name>.json`, `.vocabulary.txt`, and what it has of truecasing, typography and rare words."""
        folder = Path(folder)
        self.vocabulary.save(folder / f"{name}.vocabulary.txt")
        if self.truecaser:
            self.truecaser.save(folder / f"{name}.truecase.tsv")
        if self.typography is not None:
            self.typography.save(folder / f"{name}.typography.tsv")
        if self.rare_words is not None:
            self.rare_words.save(folder, name)
        settings = {"language": self.language, "config": dataclasses.asdict(self.config)}
        write_text(folder / f"{name}.json", json.dumps(settings, indent=1, sort_keys=True) + "\n")


def load_side(folder: str | Path, name: str) -> TextSide:
    """Reads what `TextSide.save` wrote."""
    path = Path(folder) / f"{name}.json"
    if not path.is_file():
        raise UserError(f"text settings '{path}' do not exist: the model folder is incomplete, run train.py again")
    settings = json.loads(path.read_text(encoding="utf-8"))
    config = from_values(TextConfig, settings["config"])
    truecaser = casing.load_truecaser(path.with_name(f"{name}.truecase.tsv")) if config.case == "true" else None
    vocabulary = load_vocabulary(path.with_name(f"{name}.vocabulary.txt"))
    habits = path.with_name(f"{name}.typography.tsv")
    typography = load_typography(habits) if habits.is_file() else None
    rare_words = load_rare_words(path.parent, name, settings["language"], config.rare_words)
    return TextSide(settings["language"], config, vocabulary, truecaser, typography, rare_words)


def _with_marks_of(cased: str, form: str, seen: str) -> str:
    """The cased form with the characters that were made plain; a word that grew in lower case stays as it is."""
    if seen == form or len(cased) != len(form):
        return cased
    return "".join(c if f == s else s for c, f, s in zip(cased, form, seen, strict=True))


def cutter(language: str, config: TextConfig) -> Callable[[str], list[str]]:
    """From raw text to tokens with their case."""
    normalise = make_normaliser(config.normalise)
    if not config.tokenise:
        return lambda text: _cut_at_spaces(normalise(text))
    cut = tokeniser_for(language, segmenter_of(language, config.segmenters)).tokenise
    return lambda text: cut(normalise(text))


def _cut_at_spaces(text: str) -> list[str]:
    """Tokens of text that has them separated by spaces or tabs; other white space is part of a token."""
    return [token for token in text.replace("\t", " ").split(" ") if token]


def written_words(
    words: Sequence[str], ids: Sequence[int], tokens: Sequence[str], exact: Sequence[str], num_known: int
) -> tuple[list[str], list[bool]]:
    """Output words as they are to be written, and which of them keep their characters.

    ids: of the words; −1 − n is source token n, copied; from num_known on they are the glossary's own.
    tokens, exact: the source tokens as the model knows them, and with their own quotes, apostrophes and dashes.

    Copied punctuation is written as the model writes its own, unless it is inside a copied word.
    """
    result, is_exact = list(words), [number >= num_known for number in ids]
    for place, number in enumerate(ids):
        source = -1 - number if number < 0 else _inside_of_copied(ids, place)
        if source is None or words[place] != tokens[source]:
            continue
        if number >= 0 or _is_inner(words[place]) or any(map(str.isalnum, words[place])):
            result[place], is_exact[place] = exact[source], True
    return result, is_exact


def _is_inner(token: str) -> bool:
    return len(token) > 2 and token[0] == token[-1] == JOINER


def _inside_of_copied(ids: Sequence[int], place: int) -> int | None:
    """The source token between the two that are copied on either side of the place."""
    if not 0 < place < len(ids) - 1 or max(ids[place - 1], ids[place + 1]) >= 0:
        return None
    return -ids[place - 1] if ids[place - 1] - ids[place + 1] == 2 else None
