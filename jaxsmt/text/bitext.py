"""A parallel text as ids."""

from dataclasses import dataclass

from jaxsmt.common.ragged import Ragged


@dataclass(frozen=True)
class Bitext:
    """R sentence pairs of token ids; row r of `source` is the translation of row r of `target`."""

    source: Ragged  # values [T] int32
    target: Ragged  # values [T'] int32

    def __len__(self) -> int:
        return len(self.source)
