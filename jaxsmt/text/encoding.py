"""From raw sentence pairs to ids: normalise, clean, tokenise, case, number. And the way back for output.

Lines are streamed; what stays in memory are the ids and one string per distinct word. Casing and
numbering work on the distinct words and on arrays.
"""

import dataclasses
import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import track
from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.text import casing, cleaning
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.casing import Truecaser
from jaxsmt.text.checks import refuse_broken_pair
from jaxsmt.text.cleaning import CleaningConfig, Counts
from jaxsmt.text.normalise import NormaliseConfig, Normaliser, make_normaliser
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.text.tokenising import Tokeniser, tokeniser_for
from jaxsmt.text.typography import Typography, TypographyCounter, load_typography
from jaxsmt.text.vocabulary import UNKNOWN, Vocabulary, build_vocabulary, load_vocabulary

CONTROL_CHOICES = ("refuse", "replace")


@dataclass(frozen=True)
class TextConfig:
    """How text is prepared.

    tokenise: False for text whose tokens are separated by spaces already.
    case: 'none' keeps it, 'lower' lowercases, 'true' truecases.
    recase: whether output starts with a capital where the input did ('lower' and 'true' only).
    typography: whether output has the quotes, apostrophes, hyphens and spaces of the target text, where `normalise` or
      cutting into tokens made them plain; off where text is not tokenised.
    clean: False keeps every pair, as development and test sets need it; the three limits then do nothing.
    max_length, max_ratio, remove_duplicates: see `CleaningConfig`; lengths are in tokens.
    control_characters: in training text they mean that a file is not what it seems: 'refuse' names the line,
      'replace' puts spaces in their place.
    """

    tokenise: bool = True
    case: str = "lower"
    recase: bool = True
    normalise: NormaliseConfig = field(default_factory=NormaliseConfig)
    typography: bool = True
    clean: bool = True
    max_length: int | None = 100
    max_ratio: float | None = 9.0
    remove_duplicates: bool = False
    control_characters: str = "refuse"

    def __post_init__(self) -> None:
        if self.control_characters not in CONTROL_CHOICES:
            choices = " or ".join(CONTROL_CHOICES)
            raise UserError(f"text.control_characters is '{self.control_characters}': set it to {choices}")
        if self.case not in casing.CASES:
            raise UserError(f"text.case is '{self.case}': set it to one of {', '.join(casing.CASES)}")
        self.cleaning  # noqa: B018 - checks the limits

    @property
    def cleaning(self) -> CleaningConfig:
        return CleaningConfig(self.max_length, self.max_ratio, self.remove_duplicates)


@dataclass(frozen=True)
class TextSide:
    """One language of a model: all that turns its text into ids and tokens into text."""

    language: str
    config: TextConfig
    vocabulary: Vocabulary
    truecaser: Truecaser | None = None  # with case 'true' only
    typography: Typography | None = None  # of a target language only, if it is wished

    @property
    def _normaliser(self) -> Normaliser:
        return make_normaliser(self.config.normalise)

    @property
    def _tokeniser(self) -> Tokeniser:
        return tokeniser_for(self.language)

    @cached_property
    def _cut(self) -> Callable[[str], list[str]]:
        return _cutter(self.language, self.config)

    def preprocess(self, text: str) -> list[str]:
        """The tokens of one line of raw text, as the model knows them."""
        return self._cased(self._cut(text))

    def exact_tokens(self, text: str) -> list[str]:
        """The tokens of one line with the quotes, apostrophes and dashes that it has; `matched` undoes it."""
        return self.read(text)[1]

    def read(self, text: str) -> tuple[list[str], list[str]]:
        """`preprocess` and `exact_tokens` of one line, which is cut once."""
        cuts = self._cut(text)
        tokens = self._cased(cuts)
        visible = self._tokeniser.without_marks(self._normaliser.visible(text))
        if not self.config.tokenise or self._normaliser.plain(visible) == visible:
            return tokens, tokens
        plain, letters = self._tokeniser.plain, "".join(visible.split())
        exact, place = [], 0
        for cut, token in zip(cuts, tokens, strict=True):
            form = plain(cut)
            seen = letters[place : place + len(form)]
            exact.append(self._tokeniser.with_form(token, _with_marks_of(plain(token), form, seen)))
            place += len(form)
        return tokens, exact

    def _cased(self, tokens: list[str]) -> list[str]:
        if self.config.case == "lower":
            return [token.lower() for token in tokens]
        return self.truecaser.apply(tokens) if self.truecaser else tokens

    def matched(self, token: str) -> str:
        """The token as the model knows it, of one with its own quotes, apostrophes and dashes."""
        if not self.config.tokenise:
            return token
        return self._tokeniser.with_form(token, self._normaliser.plain(self._tokeniser.plain(token)))

    def encode(self, text: str) -> np.ndarray:
        """[N] int32 ids of one line of raw text."""
        return np.array(self.vocabulary.encode(self.preprocess(text)), np.int32)

    def encode_lines(self, lines: Iterable[str]) -> Ragged:
        """Ids of many lines of raw text; no line is dropped."""
        builder = _SideBuilder()
        for line in lines:
            builder.add(self._cut(line))
        return builder.finish(self.language, self.config, self)[0]

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
        """Writes `<name>.json`, `.vocabulary.txt` and, where there is one, `.truecase.tsv` and `.typography.tsv`."""
        folder = Path(folder)
        self.vocabulary.save(folder / f"{name}.vocabulary.txt")
        if self.truecaser:
            self.truecaser.save(folder / f"{name}.truecase.tsv")
        if self.typography is not None:
            self.typography.save(folder / f"{name}.typography.tsv")
        settings = {"language": self.language, "config": dataclasses.asdict(self.config)}
        write_text(folder / f"{name}.json", json.dumps(settings, indent=1, sort_keys=True) + "\n")


def load_side(folder: str | Path, name: str) -> TextSide:
    """Reads what `TextSide.save` wrote."""
    path = Path(folder) / f"{name}.json"
    if not path.is_file():
        raise UserError(f"text settings '{path}' do not exist: the model folder is incomplete, run train.py again")
    settings = json.loads(path.read_text(encoding="utf-8"))
    normalise = NormaliseConfig(**settings["config"].pop("normalise"))
    config = TextConfig(**settings["config"], normalise=normalise)
    truecaser = casing.load_truecaser(path.with_name(f"{name}.truecase.tsv")) if config.case == "true" else None
    vocabulary = load_vocabulary(path.with_name(f"{name}.vocabulary.txt"))
    habits = path.with_name(f"{name}.typography.tsv")
    typography = load_typography(habits) if habits.is_file() else None
    return TextSide(settings["language"], config, vocabulary, truecaser, typography)


@dataclass(frozen=True)
class PreparedText:
    """A bitext as ids with both its languages.

    rows: [R] int64, the place of each pair in the input (from 0): external alignments are matched by it.
    """

    bitext: Bitext
    source: TextSide
    target: TextSide
    rows: np.ndarray
    counts: Counts


def prepare_bitext(
    pairs: BitextSource | Iterable[tuple[str, str]],
    config: TextConfig,
    source_language: str,
    target_language: str,
    *,
    source: TextSide | None = None,
    target: TextSide | None = None,
    name: str = "bitext",
) -> PreparedText:
    """Reads, normalises, cleans, tokenises, cases and numbers a bitext; counts go to the log under `name`.

    With `source` and `target` given (of a trained model) their vocabularies, truecasers and typography are used and
    words they lack become UNKNOWN; otherwise they are made from this text, the typography as that of `name`.
    """
    counts, rows = Counts(), array("q")
    builders = _SideBuilder(), _SideBuilder()
    cutters = _cutter(source_language, config), _cutter(target_language, config)
    keep = _Filter(config, counts)
    marks = TypographyCounter(make_normaliser(config.normalise)) if _learns_typography(config, target) else None
    found = read_bitext(pairs) if isinstance(pairs, BitextSource) else pairs
    files = pairs.files if isinstance(pairs, BitextSource) else (name,)
    for row, pair in enumerate(track(found, f"preparing {name}")):
        refuse_broken_pair(pair, files, row + 1, config.control_characters == "refuse")
        tokens = keep.tokens_of(pair, cutters)
        if tokens is not None:
            rows.append(row)
            builders[0].add(tokens[0])
            builders[1].add(tokens[1])
            if marks is not None:
                marks.add(pair[1], pair[0])
    counts.add(cleaning.KEPT, len(rows))
    counts.report(name)
    source_ids, source_side = builders[0].finish(source_language, config, source)
    target_ids, target_side = builders[1].finish(target_language, config, target)
    if marks is not None:
        target_side = dataclasses.replace(target_side, typography=Typography({name: dict(marks.counts)}))
    return PreparedText(Bitext(source_ids, target_ids), source_side, target_side, np.array(rows, np.int64), counts)


def _learns_typography(config: TextConfig, target: TextSide | None) -> bool:
    return config.typography and config.tokenise and target is None


def _with_marks_of(cased: str, form: str, seen: str) -> str:
    """The cased form with the characters that were made plain; a word that grew in lower case stays as it is."""
    if seen == form or len(cased) != len(form):
        return cased
    return "".join(c if f == s else s for c, f, s in zip(cased, form, seen, strict=True))


def prepare_lines(lines: Iterable[str], config: TextConfig, language: str) -> tuple[Ragged, TextSide]:
    """Normalises, tokenises, cases and numbers a text of one language; every line is kept."""
    builder, cut = _SideBuilder(), _cutter(language, config)
    for line in track(lines, "preparing text"):
        builder.add(cut(line))
    return builder.finish(language, config, None)


def _cutter(language: str, config: TextConfig) -> Callable[[str], list[str]]:
    """From raw text to tokens with their case."""
    normalise = make_normaliser(config.normalise)
    cut = tokeniser_for(language).tokenise if config.tokenise else _cut_at_spaces
    return lambda text: cut(normalise(text))


def _cut_at_spaces(text: str) -> list[str]:
    """Tokens of text that has them separated by spaces or tabs; other white space is part of a token."""
    return [token for token in text.replace("\t", " ").split(" ") if token]


class _Filter:
    """Tokenises pairs and decides which are kept."""

    def __init__(self, config: TextConfig, counts: Counts):
        self.config, self.counts = config, counts
        self.seen: set[bytes] = set()

    def tokens_of(
        self, pair: tuple[str, str], cutters: tuple[Callable[[str], list[str]], Callable[[str], list[str]]]
    ) -> tuple[list[str], list[str]] | None:
        """The tokens of both sides; None for a pair that is dropped (and counted)."""
        self.counts.add(cleaning.READ)
        self.counts.add(cleaning.CONTROL, cleaning.has_control_characters(pair))
        if self.config.clean and self._has_too_many_words(pair):
            self.counts.add(cleaning.TOO_LONG)
            return None
        tokens = cutters[0](pair[0]), cutters[1](pair[1])
        reason = self._reason_to_drop(*tokens) if self.config.clean else None
        if reason is not None:
            self.counts.add(reason)
            return None
        return tokens

    def _has_too_many_words(self, pair: tuple[str, str]) -> bool:
        # a word gives at least one token, so a line of very many need not be tokenised;
        # invisible characters between spaces look like words: twice the limit is on the safe side
        limit = self.config.max_length
        return limit is not None and any(len(side) > 2 * limit and len(side.split()) > 2 * limit for side in pair)

    def _reason_to_drop(self, source: list[str], target: list[str]) -> str | None:
        reason = cleaning.reason_by_length(len(source), len(target), self.config.cleaning)
        if reason is None and self.config.remove_duplicates:
            text = "\n".join((" ".join(source), " ".join(target)))
            key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            reason = cleaning.DUPLICATE if key in self.seen else None
            self.seen.add(key)
        return reason


class _TypeTable(dict[str, int]):
    """Numbers distinct tokens in the order they are first looked up."""

    def __missing__(self, token: str) -> int:
        self[token] = number = len(self)
        return number


class _SideBuilder:
    """Collects the tokens of one side as numbers of distinct tokens."""

    def __init__(self) -> None:
        self.types = _TypeTable()
        self.values, self.lengths = array("i"), array("q")

    def add(self, tokens: list[str]) -> None:
        self.values.extend(map(self.types.__getitem__, tokens))
        self.lengths.append(len(tokens))

    def finish(self, language: str, config: TextConfig, side: TextSide | None) -> tuple[Ragged, TextSide]:
        """Cases and numbers the tokens; with the given side's vocabulary and truecaser, or new ones."""
        rows = Ragged(np.array(self.values, np.int32), offsets_of(np.array(self.lengths, np.int64)))
        forms = list(self.types)
        truecaser = None
        if config.case == "lower":
            rows, forms = _map_forms(rows, [[form.lower() for form in forms]])
        elif config.case == "true":
            initial = _initial_mask(rows, forms)
            truecaser = side.truecaser if side else _truecaser_of(rows, forms, initial)
            assert truecaser is not None
            both = [[truecaser.form(form, is_initial) for form in forms] for is_initial in (False, True)]
            rows, forms = _map_forms(rows, both, initial)
        if side is None:
            side = TextSide(language, config, _vocabulary_of(rows, forms), truecaser)
        ids = np.array([side.vocabulary.id_of.get(form, UNKNOWN) for form in forms], np.int32)
        return Ragged(ids[rows.values] if len(ids) else rows.values, rows.offsets), side


def _map_forms(rows: Ragged, variants: list[list[str]], which: np.ndarray | None = None) -> tuple[Ragged, list[str]]:
    """Replaces forms by variants[which[t]] of themselves (which: [T] bool); numbers the results."""
    table = _TypeTable()
    maps = np.array([[table[form] for form in variant] for variant in variants], np.int32)  # [variants, types]
    values = maps[0 if which is None else which.astype(np.int8), rows.values] if len(rows.values) else rows.values
    return Ragged(values, rows.offsets), list(table)


def _initial_mask(rows: Ragged, forms: list[str]) -> np.ndarray:
    """[T] bool: `casing.initial_positions` of all rows at once."""
    if not len(rows.values):
        return np.zeros(0, bool)
    transparent = np.array([casing.is_transparent(form) for form in forms])[rows.values]
    ends = np.array([casing.ends_sentence(form) for form in forms])[rows.values]
    position = np.arange(len(rows.values))
    # the last token up to each position that says something, -1 for none
    last = np.maximum.accumulate(np.where(transparent, -1, position))
    before = np.concatenate([[-1], last[:-1]])
    start = rows.offsets[:-1][rows.row_index]
    return (before < start) | ends[np.maximum(before, 0)]


def _truecaser_of(rows: Ragged, forms: list[str], initial: np.ndarray) -> Truecaser:
    counts = np.bincount(rows.values[~initial], minlength=len(forms)).tolist()
    return Truecaser({form: n for form, n in zip(forms, counts, strict=True) if n and casing.has_case(form)})


def _vocabulary_of(rows: Ragged, forms: list[str]) -> Vocabulary:
    counts = np.bincount(rows.values, minlength=len(forms)).tolist()
    return build_vocabulary(Counter({form: n for form, n in zip(forms, counts, strict=True) if n}))
