"""Lines that show that a file is not a text with a sentence a line."""

from collections.abc import Sequence

from jaxsmt.common.errors import UserError
from jaxsmt.text.cleaning import has_control_characters
from jaxsmt.text.normalise import CONTROL_CHARACTERS

MAX_WORDS_PER_LINE = 10_000  # no sentence is that long; shorter ones are a matter of cleaning


def refuse_broken_pair(pair: tuple[str, str], files: Sequence[str], number: int, refuse_control: bool) -> None:
    """Raises UserError for a line of very many words and, if asked to, for one with control characters.

    files: the source and the target file, or one file with both; number: of the pair in it, from 1.
    """
    for side, text in enumerate(pair):
        if len(text) > MAX_WORDS_PER_LINE and (words := len(text.split())) > MAX_WORDS_PER_LINE:
            raise UserError(
                f"'{files[side % len(files)]}' line {number} has {words} words: "
                "give a file with one sentence a line (are its line ends lost?)"
            )
    if refuse_control and has_control_characters(pair):
        side = 0 if has_control_characters((pair[0], "")) else 1
        found = next(character for character in pair[side] if character in CONTROL_CHARACTERS)
        raise UserError(
            f"'{files[side % len(files)]}' line {number} has the control character U+{ord(found):04X}: "
            "check that the file is plain text, or set text.control_characters=replace"
        )
