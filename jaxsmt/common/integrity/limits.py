"""How much of an input is taken in at once, so that no file, however hostile, fills the memory."""

from dataclasses import dataclass

from jaxsmt.common.settings import check_ranges

FREE_BYTES = 1 << 26  # that any archive may unpack to; a file with the same word in every line shrinks a thousandfold
BYTES_AN_ELEMENT = 32  # of XML at least, on average, in a document


@dataclass(frozen=True)
class InputLimits:
    """What is refused.

    line: the most bytes of a line, or of one text of an XML file.
    document: the most bytes, unpacked, of a file that is read whole: catalogues, and all that decoding fills in.
    unpacked: an archive of more than FREE_BYTES has at most so many times the bytes of its file.
    """

    line: int = 1_000_000
    document: int = 64_000_000
    unpacked: int = 200

    def __post_init__(self) -> None:
        least_most = {"line": (100, 1 << 30), "document": (100, 1 << 36), "unpacked": (1, 100_000)}
        check_ranges(self, "limits", least_most)


_limits = InputLimits()


def setup_limits(limits: InputLimits | None = None) -> None:
    """Sets the limits of this process; the usual ones without an argument."""
    global _limits
    _limits = limits or InputLimits()


def input_limits() -> InputLimits:
    """Those that hold now."""
    return _limits
