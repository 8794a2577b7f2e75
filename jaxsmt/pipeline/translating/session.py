"""A model that is ready to translate, with what the command line changes in it."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from omegaconf import DictConfig

from jaxsmt.model.explaining.explanation import Explanation
from jaxsmt.model.labelling.labellers import Labeller
from jaxsmt.model.model import Model, Profile
from jaxsmt.model.source_text import Glossary, SourceText
from jaxsmt.model.translation import NBestList, TranslatedLine, Translator
from jaxsmt.pipeline.config.rooms import with_overrides


@dataclass(frozen=True)
class Answer:
    """What a line became.

    profile: how it was translated; listed: several translations, where they were asked for.
    """

    line: TranslatedLine
    profile: Profile
    listed: NBestList | None = None


@dataclass(frozen=True)
class DocumentText:
    """What a document has to translate.

    source: all lines that may be asked for; labels: of the first of them.
    labeller: what found these labels.
    glossary: terms that are translated as given.
    """

    source: SourceText
    labels: Sequence[str | None]
    labeller: Labeller
    glossary: Glossary


@dataclass(frozen=True)
class Session:
    """Translates lines whose labels are known.

    config: of decode; its component_weights, lm_mixture and weights change what labels have.
    mixture: component weights of all text, as in `Profile`, in place of those of its labels.
    """

    config: DictConfig
    translator: Translator
    mixture: np.ndarray | None = None

    @property
    def model(self) -> Model:
        """What it translates with."""
        return self.translator.model

    def answers(self, text: SourceText, labels: Sequence[str | None], size: int = 0) -> list[Answer]:
        """One for each line; size: of n-best lists, whose best is the translation then."""
        profiles, translator = self.profiles(labels), self.translator.for_text(text)
        if not size:
            lines = translator.translate(text, profiles)
            return [Answer(line, profile) for line, profile in zip(lines, profiles, strict=True)]
        listed = translator.nbest(text, size, profiles)
        return [Answer(ranked.best, profile, ranked) for ranked, profile in zip(listed, profiles, strict=True)]

    def explanations(self, text: SourceText, answers: Sequence[Answer]) -> list[Explanation]:
        """How answers with lists came about."""
        from jaxsmt.model.explaining.explaining import explain  # few ask for it, and it loads n-best lists

        lists = [answer.listed for answer in answers if answer.listed is not None]
        return explain(self.translator.for_text(text), text, [answer.profile for answer in answers], lists)

    def profiles(self, labels: Sequence[str | None]) -> list[Profile]:
        """One a line; lines with the same label share it."""
        made = cache(self._profile)
        return [made(label) for label in labels]

    def _profile(self, label: str | None) -> Profile:
        profile = self.model.profile(label, self.config.component_weights, self.config.lm_mixture)
        if self.mixture is not None:
            profile = dataclasses.replace(profile, mixture=self.mixture)
        return dataclasses.replace(profile, weights=with_overrides(profile.weights, self.config.weights))
