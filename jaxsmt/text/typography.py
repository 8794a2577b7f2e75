"""Quotes, apostrophes, hyphens and spaces of the output as the target side of the training text has them.

Text is matched with plain marks (', ", - and the space). What a writer put in their place is counted for every use of
a mark: what it does there, what stands on either side, whether a quotation is open, the word it begins, and how the
other language writes the mark in that line. Output gets the most frequent form of the most specific use that was seen
often enough, by the habits of its own component where it has any and else by those of all components together.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.text.normalise import VARIANTS, Normaliser

ENOUGH = 5  # times that a use must have been seen, if there is a more general one
# spaces between two words, and after a comma or a period, are never other than plain
_MARK = re.compile(r"""['"-]|(?<=[^\w.,]) |(?<=\d) | (?=[^\w(])""")
_FOUND_IN_SOURCE = {mark: re.compile(f"[{re.escape(variants)}]") for mark, variants in VARIANTS.items()}
_BEFORE_OPENING = frozenset(" ([{<-–—/=")
_AFTER_CLOSING = frozenset(" .,;:!?)]}>-–—/…")
_WORD = re.compile(r"\w{1,12}")
_EDGE = " "  # a line starts and ends as if there were white space


class Use(NamedTuple):
    """One place of a mark.

    role: inside (of a word), opening, closing, trailing (an apostrophe that ends a word); of a space: apart.
    is_open: whether a quotation with this mark (of a space: with ") is open before it, 0 or 1.
    left, right: the neighbours; a for letters, 0 for digits.
    word: what an apostrophe begins, in lower case.
    source: the first character that the other language has for this mark in the line, '' for none, ? for not known.
    """

    mark: str
    role: str
    is_open: str
    left: str
    right: str
    word: str
    source: str

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """From the most specific description to the most general one."""
        mark, role, is_open, left, right, _, source = self
        return (
            self,
            (mark, is_open, left, right, source),
            (mark, role, source),
            (mark, is_open, left, right),
            (mark, role),
        )


Counts = Mapping[tuple[Use, str], int]  # (use, the character in its place) → how often


def uses(plain: str, source_text: str | None = None) -> Iterator[tuple[int, Use]]:
    """The places of marks in a line of plain characters, from left to right, and how they are used."""
    is_open = {"'": False, '"': False}
    sources: dict[str, str] = {}
    for match in _MARK.finditer(plain):
        place, mark = match.start(), match[0]
        left = plain[place - 1] if place else _EDGE
        right = plain[place + 1] if place + 1 < len(plain) else _EDGE
        if mark not in sources:
            sources[mark] = _style(mark, source_text)
        open_before = is_open['"' if mark == " " else mark] if mark != "-" else False
        role = _role(mark, left, right, open_before)
        if mark in is_open and role in ("opening", "closing"):
            is_open[mark] = role == "opening"
        word = _WORD.match(plain, place + 1) if mark == "'" and not left.isalnum() else None
        begun = word[0].lower() if word else ""
        yield place, Use(mark, role, str(int(open_before)), _kind(left), _kind(right), begun, sources[mark])


def _style(mark: str, source_text: str | None) -> str:
    if source_text is None:
        return "?"
    found = _FOUND_IN_SOURCE[mark].search(source_text)
    return found[0] if found else ""


def _kind(character: str) -> str:
    return "a" if character.isalpha() else "0" if character.isdigit() else character


def _role(mark: str, left: str, right: str, is_open: bool) -> str:
    if mark == " ":
        return "apart " + (left if not left.isalnum() else "") + " " + (right if not right.isalnum() else "")
    if left.isalnum() and right.isalnum():
        return "inside"
    may_open, may_close = left in _BEFORE_OPENING, right in _AFTER_CLOSING
    closes = is_open if may_open == may_close else may_close
    if closes and mark == "'" and not is_open:
        return "trailing"
    return "closing" if closes else "opening"


class Habit(NamedTuple):
    """What stands most often for a mark in a use, and how often the use was seen."""

    character: str
    total: int


@dataclass(frozen=True)
class Typography:
    """How the writers of each component use marks, by the component's name."""

    habits: Mapping[str, Counts] = field(default_factory=dict)

    def restore(self, plain: str, component: str | None = None, source_text: str | None = None) -> list[str]:
        """The characters of a line with those that its component would have put for plain marks."""
        own = self._tables.get(component, {}) if component is not None else {}
        characters = list(plain)
        for place, use in uses(plain, source_text):
            characters[place] = _choice(own, use) or _choice(self._common, use) or use.mark
        return characters

    @cached_property
    def _tables(self) -> dict[str | None, dict[tuple[str, ...], Habit]]:
        return {name: _table(counts) for name, counts in self.habits.items()}

    @cached_property
    def _common(self) -> dict[tuple[str, ...], Habit]:
        total: Counter[tuple[Use, str]] = Counter()
        for counts in self.habits.values():
            total.update(counts)
        return _table(total)

    def save(self, path: str | Path) -> None:
        """One use a line: component, count, the character as a code point, then the fields of `Use`; in order."""
        rows = (
            "\t".join((name, str(counts[use, seen]), f"{ord(seen):04X}", *use)) + "\n"
            for name, counts in sorted(self.habits.items())
            for use, seen in sorted(counts)
        )
        write_text(path, "".join(rows))


def _table(counts: Counts) -> dict[tuple[str, ...], Habit]:
    """For each description of uses their habit; of characters equally frequent the plain one, then the first."""
    sums: dict[tuple[str, ...], Counter[str]] = {}
    for (use, seen), count in counts.items():
        for level in use.levels:
            sums.setdefault(level, Counter())[seen] += count
    best = {level: min(found, key=lambda c: (-found[c], c != level[0], c)) for level, found in sums.items()}
    return {level: Habit(best[level], found.total()) for level, found in sums.items()}


def _choice(table: Mapping[tuple[str, ...], Habit], use: Use) -> str | None:
    """The character of the first level that was seen often enough, or else of the first that was seen at all."""
    found = [table[level] for level in use.levels if level in table]
    chosen = next((habit for habit in found if habit.total >= ENOUGH), found[0] if found else None)
    return chosen.character if chosen else None


class TypographyCounter:
    """Counts what stands for marks, line by line."""

    def __init__(self, normaliser: Normaliser):
        self.normaliser = normaliser
        self.counts: Counter[tuple[Use, str]] = Counter()

    def add(self, text: str, source_text: str | None = None) -> None:
        """Counts one line of raw text."""
        visible = self.normaliser.visible(text)
        plain = self.normaliser.plain(visible)
        self.counts.update((use, visible[place]) for place, use in uses(plain, source_text))


def merge_typographies(parts: Iterable[Typography | None]) -> Typography:
    """The habits of several; those of one name are added up."""
    merged: dict[str, Counter[tuple[Use, str]]] = {}
    for part in parts:
        for name, counts in (part.habits if part else {}).items():
            merged.setdefault(name, Counter()).update(counts)
    return Typography({name: dict(counts) for name, counts in merged.items()})


def load_typography(path: str | Path) -> Typography:
    """Reads what `Typography.save` wrote."""
    path = Path(path)
    habits: dict[str, dict[tuple[Use, str], int]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], 1):
        cells = line.split("\t")
        try:
            name, count, seen = cells[:3]
            habits.setdefault(name, {})[Use(*cells[3:]), chr(int(seen, 16))] = int(count)
        except (TypeError, ValueError):
            problem = f"typography '{path}' line {number} is not a count of a use: make it again with train.py"
            raise UserError(problem) from None
    return Typography(habits)
