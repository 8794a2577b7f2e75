"""Everything that a training would read, read: components as the text stage keeps them, all other sets beside them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import track
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.pipeline.checking.languages import check_language
from jaxsmt.pipeline.stages.texts import ComponentText, merge_sides, rewrite_rare_words, text_stage
from jaxsmt.pipeline.store import Store
from jaxsmt.text.casing import Truecaser
from jaxsmt.text.checking.folding import LinesOfText
from jaxsmt.text.checking.matching import TextPair
from jaxsmt.text.cleaning import KEPT, READ, refuse_broken_pair
from jaxsmt.text.encoding import TextConfig, TextSide
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.text.vocabulary import Vocabulary, build_vocabulary

COMPONENTS = "components"


@dataclass(frozen=True)
class SurveyedText:
    """One bitext of the corpus.

    rows: [R] the line of each pair in its file, from 0; dropped: pairs that cleaning leaves out, by reason.
    """

    part: str
    name: str
    spec: BitextSource
    source: LinesOfText
    target: LinesOfText
    rows: np.ndarray
    dropped: dict[str, int] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Where the configuration names it, without 'corpus.'."""
        return f"{self.part}.{self.name}"

    @property
    def pair(self) -> TextPair:
        return self.source, self.target


@dataclass(frozen=True)
class Survey:
    """The texts that could be read, components first, and what would stop a training, sentence by sentence."""

    components: list[SurveyedText]
    sets: list[SurveyedText]
    problems: list[str]


def survey(
    store: Store, sources: Mapping[str, Mapping[str, BitextSource]], config: TextConfig, language_check: bool
) -> Survey:
    """Reads all texts, goes on after those that cannot be read, and asks each whether its languages are right."""
    problems: list[str] = []
    texts: list[ComponentText] = []
    for name, spec in sources[COMPONENTS].items():
        try:
            texts.append(text_stage(store, name, spec, config))
        except UserError as error:
            problems.append(_told(f"corpus.{COMPONENTS}.{name}", error))
    texts = rewrite_rare_words(store, texts, config)
    components = [_component(text, sources[COMPONENTS][text.name]) for text in texts]
    sets: list[SurveyedText] = []
    others = [(part, name, spec) for part in sources if part != COMPONENTS for name, spec in sources[part].items()]
    sides = _sides(texts, others, config)
    for part, name, spec in others:
        try:
            sets.append(_set(part, name, spec, sides))
        except UserError as error:
            problems.append(_told(f"corpus.{part}.{name}", error))
    if language_check:
        problems += _language_problems([*components, *sets])
    return Survey(components, sets, problems)


def _told(key: str, error: UserError) -> str:
    return str(error) if str(error).startswith(key) else f"{key}: {error}"


def _component(text: ComponentText, spec: BitextSource) -> SurveyedText:
    source = LinesOfText(text.bitext.source, text.source.vocabulary)
    target = LinesOfText(text.bitext.target, text.target.vocabulary)
    reasons = {what: n for what, n in text.artefact.counts["cleaning"].items() if n and what not in (READ, KEPT)}
    return SurveyedText(COMPONENTS, text.name, spec, source, target, text.rows, reasons)


def _sides(
    texts: Sequence[ComponentText], others: Sequence[tuple[str, str, BitextSource]], config: TextConfig
) -> tuple[TextSide, TextSide] | None:
    """Both languages as the components write them; without components, their case stays as it is."""
    if texts:
        return merge_sides([text.source for text in texts]), merge_sides([text.target for text in texts])
    if not others:
        return None
    spec = others[0][2]
    empty = Truecaser({}) if config.case == "true" else None
    languages = spec.source_language, spec.target_language
    source, target = (TextSide(language, config, Vocabulary(()), empty) for language in languages)
    return source, target


def _set(part: str, name: str, spec: BitextSource, sides: tuple[TextSide, TextSide] | None) -> SurveyedText:
    """A development, adaptation or test set: every line is kept, its words cased as the components case theirs."""
    assert sides is not None
    refuse_control = sides[0].config.control_characters == "refuse"
    tokens: tuple[list[list[str]], list[list[str]]] = ([], [])
    for row, pair in enumerate(track(read_bitext(spec), f"reading {part}.{name}")):
        refuse_broken_pair(pair, spec.files, row + 1, refuse_control)
        for side, line, found in zip(sides, pair, tokens, strict=True):
            found.append(side.preprocess(line))
    if not tokens[0]:
        raise UserError(f"there is no pair in {' and '.join(spec.files)}: give a text, or leave the set out")
    source, target = (_lines(rows) for rows in tokens)
    return SurveyedText(part, name, spec, source, target, np.arange(len(source)))


def _lines(tokens: list[list[str]]) -> LinesOfText:
    vocabulary = build_vocabulary(Counter(token for row in tokens for token in row))
    return LinesOfText(ragged_from_rows([vocabulary.encode(row) for row in tokens]), vocabulary)


def _language_problems(texts: Sequence[SurveyedText]) -> list[str]:
    problems = []
    for text in texts:
        try:
            check_language(f"corpus.{text.key}", text.spec)
        except UserError as error:
            problems.append(str(error))
    return problems


def languages_of(text: SurveyedText) -> tuple[str, str]:
    """Of source and target."""
    return text.spec.source_language, text.spec.target_language
