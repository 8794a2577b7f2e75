"""From lines of text to translated lines: batches in, order kept."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.pipeline.model import Model
from jaxsmt.search.monotone import MonotoneConfig, MonotoneTranslator, Translation, make_translator
from jaxsmt.text.buckets import make_batches

LINES_PER_BLOCK = 1000  # read, translated and written at a time


@dataclass(frozen=True)
class LineTranslator:
    """Translates raw lines with one model and one vector of component weights."""

    model: Model
    translator: MonotoneTranslator
    batch_cells: int

    def translate(self, lines: Sequence[str]) -> list[str]:
        """One translated line for each line; an empty line stays empty."""
        tokens = [self.model.source.preprocess(line) for line in lines]
        ids = self.model.source.encode_lines(lines)
        found: list[Translation | None] = [None] * len(lines)
        for batch in make_batches(ids.lengths, cells_per_batch=self.batch_cells):
            translations = self.translator.translate(batch.padded(ids, batch.width_source))
            for row, translation in zip(batch.rows, translations, strict=True):
                if row >= 0:
                    found[row] = translation
        return [self._text(*item) for item in zip(lines, tokens, found, strict=True)]

    def translate_stream(self, lines: Iterable[str]) -> Iterator[str]:
        """Translates block by block, for input of any length."""
        block: list[str] = []
        for line in lines:
            block.append(line)
            if len(block) == LINES_PER_BLOCK:
                yield from self.translate(block)
                block = []
        yield from self.translate(block)

    def _text(self, line: str, tokens: list[str], translation: Translation | None) -> str:
        if translation is None or not tokens:
            return ""
        words = self.model.target.vocabulary
        output = [tokens[-1 - word] if word < 0 else words.decode([word])[0] for word in translation.words]
        return self.model.target.postprocess(output, line)


def make_line_translator(
    model: Model, weights: np.ndarray, config: MonotoneConfig | None = None, batch_cells: int = 16384
) -> LineTranslator:
    """Makes a model ready for component weights λ [4, D]; log-linear weights are the model's unless given."""
    return LineTranslator(model, make_translator(model.union, weights, config or model.search), batch_cells)
