"""Rare words of a source language as words that training text has more often.

What training text hardly has can hardly be translated. Before texts are aligned and searched

    a compound becomes its parts               Serverzertifikat: Server Zertifikat        see `compounds`
    a word with hyphens becomes its parts      Combattons-les: combattons les
    a form becomes the usual one of its word   offrirai: offrir                           see `inflections`

Frequent words stay as they are, for what they mean was seen often enough.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from jaxsmt.common.settings import LARGEST_NUMBER, check_ranges
from jaxsmt.text.languages.codes import base_code
from jaxsmt.text.languages.compounds import MOST_LETTERS, MOST_PARTS, CompoundCutter, writes_compounds
from jaxsmt.text.languages.forms import load_forms, load_stems, most_frequent_forms, save_forms, save_stems
from jaxsmt.text.languages.inflections import capitalises_nouns, has_stems, may_inflect, stem_of

HYPHEN = "-"
_SILENT = {"fr": "t"}  # stands between two parts for the sound: "va-t-il"
WORDS, STEMS = "words.tsv", "stems.tsv"
_MOST_FOUND = 1 << 17


@dataclass(frozen=True)
class RareWordsConfig:
    """Which words are rewritten.

    compounds, hyphens, forms: those that all training text has less often than this; 0: none.
    part_length: letters of a compound's part at the least; part_count: how often training text has it at the least, and
      parts between hyphens.
    """

    compounds: int = 5
    hyphens: int = 5
    forms: int = 3
    part_length: int = 4
    part_count: int = 3

    def __post_init__(self) -> None:
        kinds = dict.fromkeys(("compounds", "hyphens", "forms"), (0, LARGEST_NUMBER))
        ranges = {**kinds, "part_length": (1, 100), "part_count": (1, LARGEST_NUMBER)}
        check_ranges(self, "text.rare_words", ranges)

    def for_language(self, language: str) -> "RareWordsConfig":
        """Without what the language does not have."""
        return RareWordsConfig(
            self.compounds if writes_compounds(language) else 0,
            self.hyphens,
            self.forms if has_stems(language) else 0,
            self.part_length,
            self.part_count,
        )

    @property
    def most(self) -> int:
        """No word is rewritten that is as frequent as this."""
        return max(self.compounds, self.hyphens, self.forms)

    @property
    def least(self) -> int:
        """Words that are rarer than this are like those that are not there."""
        return min(limit for limit in (self.compounds, self.hyphens, self.forms, self.part_count) if limit)


@dataclass(frozen=True)
class RareWords:
    """Rewrites words.

    counts: how often training text has each form of a word, as the model knows it; those of `config.least` and more.
    usual: the most frequent form of the words of each stem.
    """

    language: str
    config: RareWordsConfig
    counts: Mapping[str, int]
    usual: Mapping[str, str]
    _found: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)

    def rewritten(self, token: str) -> tuple[str, ...]:
        """The words that stand for a token; the token alone if it stays as it is."""
        if self.totals[token.lower()] >= self._own.most or len(token) > MOST_LETTERS:
            return (token,)
        found = self._found.get(token)
        if found is None:
            if len(self._found) >= _MOST_FOUND:  # a stream of lines has no end
                self._found.clear()
            found = self._found[token] = self._rewritten(token)
        return found

    def rewrite(self, tokens: Sequence[str]) -> list[str]:
        """All tokens of a line."""
        return [word for token in tokens for word in self.rewritten(token)]

    def save(self, folder: Path, name: str) -> None:
        """Writes `<name>.words.tsv` and `<name>.stems.tsv`."""
        save_forms(folder / f"{name}.{WORDS}", self.counts)
        save_stems(folder / f"{name}.{STEMS}", self.usual)

    @cached_property
    def totals(self) -> Counter[str]:
        """Counts of words, whatever their case."""
        return totals_of(self.counts)

    @cached_property
    def _own(self) -> RareWordsConfig:
        return self.config.for_language(self.language)

    @cached_property
    def _form_of(self) -> dict[str, str]:
        return most_frequent_forms(self.counts)

    @cached_property
    def _cutter(self) -> CompoundCutter:
        return CompoundCutter(
            self.language, self.totals, self._form_of, self.config.part_length, self.config.part_count
        )

    def _rewritten(self, token: str) -> tuple[str, ...]:
        total = self.totals[token.lower()]
        if HYPHEN in token:
            return self._between_hyphens(token) if total < self._own.hyphens else (token,)
        form = self._usual_form(token)
        # a form of a frequent word is no compound, whatever it could be read as
        if total < self._own.compounds and self.totals[form.lower()] < self._own.compounds:
            parts = self._cutter.parts(token)
            if len(parts) > 1:
                return parts
        return (form,) if total < self._own.forms else (token,)

    def _usual_form(self, token: str) -> str:
        """The most frequent form of the token's word; of a word that is not known the token."""
        if not (self._own.forms and may_inflect(token, self.language)):
            return token
        return self.usual.get(stem_of(token, self.language), token)

    def _between_hyphens(self, token: str) -> tuple[str, ...]:
        """The parts of a word with hyphens; the whole word if one of them is not known, or it is a name."""
        parts = token.split(HYPHEN)
        if not (len(parts) <= MOST_PARTS and all(map(str.isalpha, parts))) or self._is_name(parts):
            return (token,)
        silent = _SILENT.get(base_code(self.language))
        words = [self._known(part) for n, part in enumerate(parts) if part != silent or n in (0, len(parts) - 1)]
        return (token,) if "" in words else tuple(words)

    def _is_name(self, parts: list[str]) -> bool:
        return not capitalises_nouns(self.language) and any(part != part.lower() for part in parts[1:])

    def _known(self, part: str) -> str:
        """The most frequent form of a part; of a rare one that of its word, or nothing."""
        word = part.lower()
        if self.totals[word] >= self.config.part_count:
            return self._form_of[word]
        form = self._usual_form(part if capitalises_nouns(self.language) else word)
        return form if self.totals[form.lower()] >= self.config.part_count else ""


def totals_of(counts: Mapping[str, int]) -> Counter[str]:
    """Counts of words, whatever their case, from those of their forms."""
    totals: Counter[str] = Counter()
    for form, count in counts.items():
        totals[form.lower()] += count
    return totals


def learn_rare_words(
    language: str, config: RareWordsConfig, texts: Sequence[tuple[Sequence[str], Sequence[int]]]
) -> RareWords:
    """What rewrites training texts, each given by its words and how often it has them."""
    counts: Counter[str] = Counter()
    for words, numbers in texts:
        for word, number in zip(words, numbers, strict=True):
            if word.replace(HYPHEN, "").isalpha():
                counts[word] += number
    totals, own = totals_of(counts), config.for_language(language)
    usual = _usual_forms(language, counts, totals) if own.forms else {}
    kept = {form: n for form, n in counts.items() if totals[form.lower()] >= own.least}
    return RareWords(language, config, kept, usual)


def _usual_forms(language: str, counts: Mapping[str, int], totals: Mapping[str, int]) -> dict[str, str]:
    """The most frequent word of each stem as it is mostly written; of equals the last in code-point order."""
    best: dict[str, tuple[int, str]] = {}
    for word, form in most_frequent_forms(counts).items():
        if may_inflect(form, language):
            stem = stem_of(word, language)
            best[stem] = max(best.get(stem, (0, "")), (totals[word], form))
    return {stem: form for stem, (_, form) in best.items()}


def load_rare_words(folder: Path, name: str, language: str, config: RareWordsConfig) -> RareWords | None:
    """Reads what `RareWords.save` wrote; None if nothing was."""
    words, stems = (folder / f"{name}.{kind}" for kind in (WORDS, STEMS))
    if not words.is_file():
        return None
    return RareWords(language, config, load_forms(words, "word counts"), load_stems(stems))
