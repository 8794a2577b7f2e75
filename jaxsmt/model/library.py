"""The front door for programs: a model folder as an object that translates lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.model.folder import open_model
from jaxsmt.model.labelling.labellers import GivenLabels, Labeller, same_label
from jaxsmt.model.model import Model, Profile
from jaxsmt.model.source_text import NO_TEXT, SourceText, blocks_of
from jaxsmt.model.translation import NBestList, TranslatedLine, Translator, make_translator

Labels = Sequence[str | None]


@dataclass(frozen=True)
class LoadedModel:
    """A model that is ready to translate; it is made so when the first line comes.

    model: what it is made of.
    """

    model: Model

    @property
    def domains(self) -> tuple[str, ...]:
        """Kinds of text that the model has weights for."""
        return self.model.labels

    @cached_property
    def translator(self) -> Translator:
        """What translates: plain, voting, bagged, rescoring, or a consensus of their lists.

        It has no rules yet; `for_text` of it has those of a text.
        """
        return make_translator(self.model.for_text(NO_TEXT))

    def translate(
        self, lines: Sequence[str], domain: str | None = None, labels: Labels | None = None
    ) -> list[TranslatedLine]:
        """One translated line for each line; `.text` is what to show.

        domain: the kind of text, one of `domains`, or 'none'; labels: or one for each line, None for no kind.
          Without either, what the model finds by itself (clusters, classes), or text of no particular kind.
        """
        found: list[TranslatedLine] = []
        for text, profiles in self._profiled(lines, self._labeller(domain, labels)):
            found += self.translator.for_text(text).translate(text, profiles)
        return found

    def nbest(
        self, lines: Sequence[str], size: int, domain: str | None = None, labels: Labels | None = None
    ) -> list[list[TranslatedLine]]:
        """Up to `size` different translations of each line, best first; of a line that is cut, the best alone."""
        if size < 1:
            raise UserError(f"lists of {size} translations are asked for: ask for at least 1")
        found: list[list[TranslatedLine]] = []
        for text, profiles in self._profiled(lines, self._labeller(domain, labels)):
            lists = self.translator.for_text(text).nbest(text, size, profiles)
            found += [self._lines(text, row, ranked, profiles[row]) for row, ranked in enumerate(lists)]
        return found

    def _lines(self, text: SourceText, row: int, ranked: NBestList, profile: Profile) -> list[TranslatedLine]:
        lines = [
            replace(self.translator.line(text, row, item, profile.label), score=float(score))
            for item, score in zip(ranked.listed, ranked.features.score, strict=True)
        ]
        return lines or [ranked.best]

    def _labeller(self, domain: str | None, labels: Labels | None) -> Labeller:
        if labels is not None and domain is not None:
            raise UserError("domain and labels exclude each other: labels gives every line its own domain")
        if labels is not None:
            return GivenLabels(labels, "labels")
        return self.model.labeller() if domain is None else same_label(domain)

    def _profiled(self, lines: Sequence[str], labeller: Labeller) -> Iterator[tuple[SourceText, list[Profile]]]:
        start = 0
        for text in blocks_of(self.model.source, lines):
            yield text, self.model.profiles(labeller.labels_of(text.tokens, start))
            start += len(text)


def load_model(folder: str | Path) -> LoadedModel:
    """Opens a model folder that train.py wrote."""
    return LoadedModel(open_model(folder))
