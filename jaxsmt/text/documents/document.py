"""What every kind of document is: segments to translate, and the file with their translations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Segment:
    """A text that has no translation yet.

    text: as the document has it; is_xml: whether that is XML, with elements and entities.
    line: of the file, for messages to people.
    is_c: whether it has directives as C has them.
    """

    text: str
    line: int
    is_xml: bool = False
    is_c: bool = False


@dataclass(frozen=True)
class FinishedText:
    """A text with a translation that waits for nobody's review."""

    source: Segment
    target: str


class TranslatableDocument(Protocol):
    """A document with texts that lack a translation."""

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target, '' where the document does not say."""

    @property
    def segments(self) -> Sequence[Segment]:
        """What lacks a translation, in the order of the file."""

    @property
    def num_translated(self) -> int:
        """Texts that have one; they are left alone."""

    @property
    def finished(self) -> Sequence[FinishedText]:
        """Texts whose translation nobody has to look at again, in the order of the file."""

    def filled(self, translations: Sequence[str | None]) -> bytes:
        """The file with translations of the segments, marked as a machine's; None leaves one as it was."""
