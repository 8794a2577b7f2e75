"""From raw sentence pairs to ids: normalise, clean, tokenise, case, number.

Lines are streamed; what stays in memory are the ids and one string per distinct word. Casing and
numbering work on the distinct words and on arrays.
"""

import dataclasses
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.common.progress import track
from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.text import casing
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.casing import Truecaser
from jaxsmt.text.cleaning import KEPT, Counts, PairFilter, refuse_broken_pair
from jaxsmt.text.encoding import TextConfig, TextSide, cutter
from jaxsmt.text.normalise import make_normaliser
from jaxsmt.text.typography import Typography, TypographyCounter
from jaxsmt.text.vocabulary import UNKNOWN, Vocabulary, build_vocabulary


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
    pairs: Iterable[tuple[str, str]],
    config: TextConfig,
    languages: tuple[str, str],
    sides: tuple[TextSide, TextSide] | None = None,
    name: str = "bitext",
    files: Sequence[str] | None = None,
) -> PreparedText:
    """Normalises, cleans, tokenises, cases and numbers a bitext; counts go to the log under `name`.

    languages: of source and target.
    sides: source and target of a trained model, whose vocabularies, truecasers and typography are used: words they
      lack become UNKNOWN. None: they are made from this text, the typography as that of `name`.
    files: what errors call the text, a name for both sides or one for each; None for `name`.
    """
    counts, rows = Counts(), array("q")
    builders = _SideBuilder(), _SideBuilder()
    cutters = cutter(languages[0], config), cutter(languages[1], config)
    keep = PairFilter(config, counts)
    learns_typography = config.typography and config.tokenise and sides is None
    marks = TypographyCounter(make_normaliser(config.normalise)) if learns_typography else None
    for row, pair in enumerate(track(pairs, f"preparing {name}")):
        refuse_broken_pair(pair, files or (name,), row + 1, config.control_characters == "refuse")
        tokens = keep.tokens_of(pair, cutters)
        if tokens is not None:
            rows.append(row)
            builders[0].add(tokens[0])
            builders[1].add(tokens[1])
            if marks is not None:
                marks.add(pair[1], pair[0])
    counts.add(KEPT, len(rows))
    counts.report(name)
    source, target = sides or (None, None)
    source_ids, source = builders[0].finish(languages[0], config, source)
    target_ids, target = builders[1].finish(languages[1], config, target)
    if marks is not None:
        target = dataclasses.replace(target, typography=Typography({name: dict(marks.counts)}))
    return PreparedText(Bitext(source_ids, target_ids), source, target, np.array(rows, np.int64), counts)


def prepare_lines(lines: Iterable[str], config: TextConfig, language: str) -> tuple[Ragged, TextSide]:
    """Normalises, tokenises, cases and numbers a text of one language; every line is kept."""
    builder, cut = _SideBuilder(), cutter(language, config)
    for line in track(lines, "preparing text"):
        builder.add(cut(line))
    return builder.finish(language, config, None)


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
