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
from jaxsmt.text.normalise import NormaliseConfig, make_normaliser
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.text.tokenising import tokeniser_for
from jaxsmt.text.vocabulary import UNKNOWN, Vocabulary, build_vocabulary, load_vocabulary

CONTROL_CHOICES = ("refuse", "replace")


@dataclass(frozen=True)
class TextConfig:
    """How text is prepared.

    tokenise: False for text whose tokens are separated by spaces already.
    case: 'none' keeps it, 'lower' lowercases, 'true' truecases.
    recase: whether output starts with a capital where the input did ('lower' and 'true' only).
    clean: False keeps every pair, as development and test sets need it; the three limits then do nothing.
    max_length, max_ratio, remove_duplicates: see `CleaningConfig`; lengths are in tokens.
    control_characters: in training text they mean that a file is not what it seems: 'refuse' names the line,
      'replace' puts spaces in their place.
    """

    tokenise: bool = True
    case: str = "lower"
    recase: bool = True
    normalise: NormaliseConfig = field(default_factory=NormaliseConfig)
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

    @cached_property
    def _cut(self) -> Callable[[str], list[str]]:
        return _cutter(self.language, self.config)

    def preprocess(self, text: str) -> list[str]:
        """The tokens of one line of raw text, as the model knows them."""
        tokens = self._cut(text)
        if self.config.case == "lower":
            return [token.lower() for token in tokens]
        return self.truecaser.apply(tokens) if self.truecaser else tokens

    def encode(self, text: str) -> np.ndarray:
        """[N] int32 ids of one line of raw text."""
        return np.array(self.vocabulary.encode(self.preprocess(text)), np.int32)

    def encode_lines(self, lines: Iterable[str]) -> Ragged:
        """Ids of many lines of raw text; no line is dropped."""
        builder = _SideBuilder()
        for line in lines:
            builder.add(self._cut(line))
        return builder.finish(self.language, self.config, self)[0]

    def postprocess(self, tokens: Sequence[str], source_text: str | None = None) -> str:
        """A line of text from output tokens; it starts with a capital unless `source_text` starts without one."""
        if self.config.case != "none" and self.config.recase:
            tokens = casing.recase(tokens, source_text is None or casing.starts_with_capital(source_text))
        return tokeniser_for(self.language).detokenise(tokens) if self.config.tokenise else " ".join(tokens)

    def save(self, folder: str | Path, name: str) -> None:
        """Writes `<name>.json`, `<name>.vocabulary.txt` and, with case 'true', `<name>.truecase.tsv`."""
        folder = Path(folder)
        self.vocabulary.save(folder / f"{name}.vocabulary.txt")
        if self.truecaser:
            self.truecaser.save(folder / f"{name}.truecase.tsv")
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
    return TextSide(settings["language"], config, vocabulary, truecaser)


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

    With `source` and `target` given (of a trained model) their vocabularies and truecasers are used and words
    they lack become UNKNOWN; otherwise both are made from this text.
    """
    counts, rows = Counts(), array("q")
    builders = _SideBuilder(), _SideBuilder()
    cutters = _cutter(source_language, config), _cutter(target_language, config)
    keep = _Filter(config, counts)
    found = read_bitext(pairs) if isinstance(pairs, BitextSource) else pairs
    files = pairs.files if isinstance(pairs, BitextSource) else (name,)
    for row, pair in enumerate(track(found, f"preparing {name}")):
        refuse_broken_pair(pair, files, row + 1, config.control_characters == "refuse")
        tokens = keep.tokens_of(pair, cutters)
        if tokens is not None:
            rows.append(row)
            builders[0].add(tokens[0])
            builders[1].add(tokens[1])
    counts.add(cleaning.KEPT, len(rows))
    counts.report(name)
    source_ids, source_side = builders[0].finish(source_language, config, source)
    target_ids, target_side = builders[1].finish(target_language, config, target)
    return PreparedText(Bitext(source_ids, target_ids), source_side, target_side, np.array(rows, np.int64), counts)


def prepare_lines(lines: Iterable[str], config: TextConfig, language: str) -> tuple[Ragged, TextSide]:
    """Normalises, tokenises, cases and numbers a text of one language; every line is kept."""
    builder, cut = _SideBuilder(), _cutter(language, config)
    for line in track(lines, "preparing text"):
        builder.add(cut(line))
    return builder.finish(language, config, None)


def _cutter(language: str, config: TextConfig) -> Callable[[str], list[str]]:
    """From raw text to tokens with their case."""
    normalise = make_normaliser(config.normalise)
    cut = tokeniser_for(language).tokenise if config.tokenise else str.split
    return lambda text: cut(normalise(text))


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
