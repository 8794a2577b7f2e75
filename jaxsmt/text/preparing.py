"""From raw sentence pairs to ids: normalise, clean, tokenise, case, number.

Lines are streamed; what stays in memory are the ids and one string per distinct word. Casing and
numbering work on the distinct words and on arrays.
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jaxsmt.common.cluster.tasks import TaskRunner
from jaxsmt.common.progress import track
from jaxsmt.common.ragged import Ragged, offsets_of, ragged_from_rows
from jaxsmt.text import casing, reading_tasks
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.casing import Truecaser
from jaxsmt.text.cleaning import KEPT, Counts
from jaxsmt.text.encoding import TextConfig, TextSide, cutter
from jaxsmt.text.languages.rare_words import RareWords
from jaxsmt.text.reading_tasks import ReadingRules, TokenTable, TypeTable, read_by_tasks, read_tokens
from jaxsmt.text.typography import Typography
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN, Vocabulary, build_vocabulary


@dataclass(frozen=True)
class PreparedText:
    """A bitext as ids with both its languages.

    rows: [R] int64, the place of each pair in the input (from 0): external alignments are matched by it.
    origins: as in `Rewritten`, if rare words were rewritten.
    """

    bitext: Bitext
    source: TextSide
    target: TextSide
    rows: np.ndarray
    counts: Counts
    origins: np.ndarray | None = None


class Rewritten(NamedTuple):
    """Rows of numbered words; origins: [T] int32 which of the tokens of its line, before that, each stands for."""

    rows: Ragged
    forms: list[str]
    origins: np.ndarray


def prepare_bitext(
    pairs: Iterable[tuple[str, str]],
    config: TextConfig,
    languages: tuple[str, str],
    sides: tuple[TextSide, TextSide] | None = None,
    name: str = "bitext",
    files: Sequence[str] | None = None,
    tasks: TaskRunner | None = None,
) -> PreparedText:
    """Normalises, cleans, tokenises, cases and numbers a bitext; counts go to the log under `name`.

    languages: of source and target.
    sides: source and target of a trained model, whose vocabularies, truecasers and typography are used: words they
      lack become UNKNOWN. None: they are made from this text, the typography as that of `name`.
    files: what errors call the text, a name for both sides or one for each; None for `name`.
    tasks: who reads shards of a large text; None: this process, all of it.
    """
    learns_typography = config.typography and config.tokenise and sides is None
    how = ReadingRules(config, languages, tuple(files or (name,)), learns_typography)
    pairs, is_large = _measured(pairs) if tasks is not None else (pairs, False)
    if tasks is not None and is_large:
        text = read_by_tasks(tasks, pairs, how, f"preparing {name}")
    else:
        text = read_tokens(track(pairs, f"preparing {name}"), how)
    text.counts.add(KEPT, len(text.rows))
    text.counts.report(name)
    source, target = sides or (None, None)
    source_ids, source, origins = _finish(text.sides[0], languages[0], config, source)
    target_ids, target, _ = _finish(text.sides[1], languages[1], config, target)
    if learns_typography:
        target = dataclasses.replace(target, typography=Typography({name: dict(text.marks)}))
    rows = np.array(text.rows, np.int64)
    return PreparedText(Bitext(source_ids, target_ids), source, target, rows, text.counts, origins)


def _measured(pairs: Iterable[tuple[str, str]]) -> tuple[Iterable[tuple[str, str]], bool]:
    """The same pairs, and whether they are more than one shard."""
    rest = iter(pairs)
    first = list(itertools.islice(rest, reading_tasks.PAIRS_PER_SHARD + 1))
    return itertools.chain(first, rest), len(first) > reading_tasks.PAIRS_PER_SHARD


def prepare_lines(lines: Iterable[str], config: TextConfig, language: str) -> tuple[Ragged, TextSide]:
    """Normalises, tokenises, cases and numbers a text of one language; every line is kept."""
    tokens, cut = TokenTable(), cutter(language, config)
    for line in track(lines, "preparing text"):
        tokens.add(cut(line))
    return _finish(tokens, language, config, None)[:2]


def _finish(
    tokens: TokenTable, language: str, config: TextConfig, side: TextSide | None
) -> tuple[Ragged, TextSide, np.ndarray | None]:
    """Cases and numbers the tokens; with the given side's vocabulary and truecaser, or new ones. Also their origins."""
    rows = Ragged(np.array(tokens.values, np.int32), offsets_of(np.array(tokens.lengths, np.int64)))
    forms = list(tokens.types)
    truecaser = origins = None
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
    elif side.rare_words is not None:
        rows, forms, origins = rewritten_forms(rows, forms, side.rare_words)
    ids = np.array([side.vocabulary.id_of.get(form, UNKNOWN) for form in forms], np.int32)
    return Ragged(ids[rows.values] if len(ids) else rows.values, rows.offsets), side, origins


def rewritten_side(ids: Ragged, side: TextSide, rare_words: RareWords) -> tuple[Ragged, TextSide, np.ndarray]:
    """A training text with rare words rewritten; its side has the words that are left, and knows how. Also origins.

    ids: all of them of words of the side.
    """
    numbered = Ragged(ids.values - NUM_RESERVED, ids.offsets)
    rows, forms, origins = rewritten_forms(numbered, side.vocabulary.words, rare_words)
    side = dataclasses.replace(side, vocabulary=_vocabulary_of(rows, forms), rare_words=rare_words)
    numbers = np.array([side.vocabulary.id_of.get(form, UNKNOWN) for form in forms], np.int32)
    return Ragged(numbers[rows.values], rows.offsets), side, origins


def rewritten_forms(rows: Ragged, forms: Sequence[str], rare_words: RareWords) -> Rewritten:
    """Rows of numbered forms with rare words rewritten, and the forms of their new numbers."""
    table = TypeTable()
    parts = ragged_from_rows([[table[part] for part in rare_words.rewritten(form)] for form in forms])
    cut = parts.take(rows.values)
    place = np.arange(len(rows.values)) - rows.offsets[rows.row_index]
    origins = np.repeat(place, cut.lengths).astype(np.int32)
    return Rewritten(Ragged(cut.values, cut.offsets[rows.offsets]), list(table), origins)


def _map_forms(rows: Ragged, variants: list[list[str]], which: np.ndarray | None = None) -> tuple[Ragged, list[str]]:
    """Replaces forms by variants[which[t]] of themselves (which: [T] bool); numbers the results."""
    table = TypeTable()
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
