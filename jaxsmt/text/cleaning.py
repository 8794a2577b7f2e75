"""Sentence pairs that training is better off without, and how many there were of each kind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.text.encoding import TextConfig
from jaxsmt.text.normalise import CONTROL_CHARACTERS

_CONTROL = {ord(character): " " for character in CONTROL_CHARACTERS}
READ, KEPT, CONTROL = "read", "kept", "control characters replaced"
EMPTY, TOO_LONG, RATIO, DUPLICATE = "empty", "too long", "length ratio", "duplicate"
MAX_WORDS_PER_LINE = 10_000  # no sentence is that long; shorter ones are a matter of cleaning


@dataclass
class Counts:
    """How many pairs were read, dropped for each reason, and kept; in the order of the checks."""

    table: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((READ, CONTROL, EMPTY, TOO_LONG, RATIO, DUPLICATE, KEPT), 0)
    )

    def add(self, what: str, number: int = 1) -> None:
        self.table[what] = self.table.get(what, 0) + number

    def report(self, name: str) -> None:
        """One line to the log."""
        log.info("%s: %s", name, ", ".join(f"{what} {number:,}" for what, number in self.table.items() if number))


class PairFilter:
    """Tokenises pairs and decides which are kept."""

    def __init__(self, config: TextConfig, counts: Counts):
        self.config, self.counts = config, counts
        self.seen: dict[bytes, None] = {}  # with `remove_duplicates` a key for every pair kept, in their order

    def tokens_of(
        self, pair: tuple[str, str], cutters: tuple[Callable[[str], list[str]], Callable[[str], list[str]]]
    ) -> tuple[list[str], list[str]] | None:
        """The tokens of both sides; None for a pair that is dropped (and counted)."""
        self.counts.add(READ)
        self.counts.add(CONTROL, has_control_characters(pair))
        if self.config.clean and self._has_too_many_words(pair):
            self.counts.add(TOO_LONG)
            return None
        tokens = cutters[0](pair[0]), cutters[1](pair[1])
        reason = self._reason_to_drop(*tokens) if self.config.clean else None
        if reason is not None:
            self.counts.add(reason)
            return None
        return tokens

    def _has_too_many_words(self, pair: tuple[str, str]) -> bool:
        # a word gives at least one token, so a line of very many need not be tokenised;
        # invisible characters between spaces look like words: twice the limit is on the safe side
        limit = self.config.max_length
        return limit is not None and any(len(side) > 2 * limit and len(side.split()) > 2 * limit for side in pair)

    def _reason_to_drop(self, source: list[str], target: list[str]) -> str | None:
        reason = _reason_by_length(len(source), len(target), self.config)
        if reason is None and self.config.remove_duplicates:
            text = "\n".join((" ".join(source), " ".join(target)))
            key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            reason = DUPLICATE if key in self.seen else None
            self.seen[key] = None
        return reason


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


def has_control_characters(pair: tuple[str, str]) -> bool:
    """Whether either side has a control character other than a tab."""
    return any(not side.isprintable() and side.translate(_CONTROL) != side for side in pair)


def _reason_by_length(num_source: int, num_target: int, config: TextConfig) -> str | None:
    """Why a pair with these numbers of tokens is dropped; None if it is kept."""
    short, long = sorted((num_source, num_target))
    if short == 0:
        return EMPTY
    if config.max_length is not None and long > config.max_length:
        return TOO_LONG
    if config.max_ratio is not None and long > config.max_ratio * short:
        return RATIO
    return None
