"""Messages as lines that a model can translate, and back: units are single words, tags move with the words they are at.

A message is cut at its line breaks. A placeholder becomes one character that no text has, which every model copies as
an unknown word; tags that enclose words are left out and put around what these words became, by the word alignment.
Where that does not come out right, `careful` lines have tags as words, too.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from jaxsmt.text.documents.units import (
    ALONE,
    BREAK,
    CLOSE,
    FIRST_STAND_IN,
    NUM_STAND_INS,
    OPEN,
    MarkedUnit,
    escaped,
    in_order,
    is_nested,
    kind_of,
    split_units,
    units_of,
)
from jaxsmt.text.encoding import TextSide

_STAND_INS = re.compile(f"[{chr(FIRST_STAND_IN)}-{chr(FIRST_STAND_IN + NUM_STAND_INS - 1)}]")


@dataclass(frozen=True)
class Rendering:
    """A line as it was translated: its text, and (source token, target token) links."""

    text: str
    words: Sequence[str]
    alignment: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class MessageLine:
    """One line of a message.

    before, after: what is around the part to translate and stays there.
    parts: text and units of that part.
    mark: of a keyboard accelerator, '' if there is none, and the letter that it marks.
    """

    before: str
    parts: tuple[str | MarkedUnit, ...]
    after: str
    is_xml: bool = False
    mark: tuple[str, str] = ("", "")

    @cached_property
    def units(self) -> list[MarkedUnit]:
        return [unit for _, unit in units_of(self.parts)]

    @property
    def has_words(self) -> bool:
        """Whether there is something to translate."""
        return any(map(str.isalpha, "".join(part for part in self.parts if isinstance(part, str))))

    @property
    def untranslated(self) -> str:
        """The line as it was."""
        inner = "".join(_raw(part, self.is_xml) for part in self.parts)
        return self.before + inner + self.after

    def source(self, careful: bool = False) -> str:
        """What the model gets; careful: with tags as words."""
        pieces, number = [], 0
        for part in self.parts:
            if isinstance(part, str):
                pieces.append(part)
                continue
            stand_in = chr(FIRST_STAND_IN + number)
            number += 1
            if part.kind == ALONE:
                pieces.append(stand_in)
            elif careful:
                pieces.append(f" {stand_in} ")
        return "".join(pieces)

    @cached_property
    def _pairs(self) -> list[tuple[int, int, int, int]]:
        """Of each pair of tags: numbers of both units, and the letters before either."""
        found, waiting, letters, number = [], [], 0, 0
        for part in self.parts:
            if isinstance(part, str):
                letters += _num_letters(part)
                continue
            if part.kind == OPEN:
                waiting.append((number, letters))
            elif part.kind == CLOSE:
                opened, first = waiting.pop()
                found.append((opened, number, first, letters))
            else:
                letters += 1
            number += 1
        return sorted(found)

    def restored(self, rendering: Rendering, sides: tuple[TextSide, TextSide], careful: bool = False) -> str | None:
        """The translation with all units in it, or None where they did not come through."""
        text = self._with_mark(rendering.text)
        if careful:
            text = self._without_spaces(text)
        elif self._pairs:
            with_tags = self._with_tags(rendering, sides)
            if with_tags is None:
                return None
            text = with_tags
        if text is None or not self._is_right(text):
            return None
        text = escaped(text) if self.is_xml else text
        written = _STAND_INS.sub(lambda found: self.units[ord(found[0]) - FIRST_STAND_IN].raw, text)
        return self.before + written + self.after

    def _with_tags(self, rendering: Rendering, sides: tuple[TextSide, TextSide]) -> str | None:
        """Tags around what the words inside them became; None where these words are not together."""
        source, target = sides
        source_ends = _ends([source.plain(token) for token in source.cut_words(self.source())])
        target_ends = _ends([target.plain(word) for word in rendering.words])
        places = [place for place, char in enumerate(rendering.text) if not char.isspace()]
        letters = sum(_num_letters(part) if isinstance(part, str) else part.kind == ALONE for part in self.parts)
        if target_ends[-1:] != [len(places)] or source_ends[-1:] != [letters] or self.mark[0]:
            return None
        edits: list[tuple[int, int, str]] = []
        for rank, (opened, closed, first, last) in enumerate(self._pairs):
            inside = {place for place, end in enumerate(source_ends) if first < end <= last}
            cut = any(end - length < bound < end for end, length in _spans(source_ends) for bound in (first, last))
            span = _span_of(inside, rendering.alignment)
            if cut or span is None:
                return None
            begin = target_ends[span[0] - 1] if span[0] else 0
            edits.append((places[begin], rank, chr(FIRST_STAND_IN + opened)))
            edits.append((places[target_ends[span[1]] - 1] + 1, -rank - 1, chr(FIRST_STAND_IN + closed)))
        return _inserted(rendering.text, edits)

    def _without_spaces(self, text: str) -> str:
        """The spaces that careful lines have inside of tags go."""
        for number, unit in enumerate(self.units):
            stand_in = chr(FIRST_STAND_IN + number)
            if unit.kind == OPEN:
                text = re.sub(rf"{stand_in}\s+", stand_in, text)
            elif unit.kind == CLOSE:
                text = re.sub(rf"\s+{stand_in}", stand_in, text)
        return text

    def _is_right(self, text: str) -> bool:
        """Whether every unit is there once, tags are nested, and what goes by its place is in its place."""
        found = [ord(char) - FIRST_STAND_IN for char in _STAND_INS.findall(text)]
        if sorted(found) != list(range(len(self.units))):
            return False
        ordered = [number for number in found if in_order(self.units[number].raw)]
        pair_of = {number: opened for opened, closed, *_ in self._pairs for number in (opened, closed)}
        tags = [(pair_of[number], self.units[number].kind) for number in found if number in pair_of]
        return ordered == sorted(ordered) and is_nested(tags) and self._has_no_more(text)

    def _has_no_more(self, text: str) -> bool:
        """Whether there is nothing in the text that looks like a unit and was none."""
        own = [part for part in self.parts if isinstance(part, str)]
        return _num_units(text) <= sum(map(_num_units, own))

    def _with_mark(self, text: str) -> str:
        """An accelerator where its letter begins a word, else where it is at all, else at the first letter."""
        mark, letter = self.mark
        if not mark:
            return text
        quoted = re.escape(letter)
        patterns = (rf"\b{quoted}", quoted, r"[^\W_]")
        found = next((match for pattern in patterns if (match := re.search(pattern, text, re.IGNORECASE))), None)
        return text if found is None else f"{text[: found.start()]}{mark}{text[found.start() :]}"


@dataclass(frozen=True)
class Message:
    """A message as lines and what is between them."""

    lines: tuple[MessageLine, ...]
    breaks: tuple[str, ...]
    is_refused: bool = field(default=False)  # it has something that no translation can keep

    def joined(self, texts: Sequence[str | None]) -> str | None:
        """The message from its lines; None if one of them is missing."""
        if self.is_refused or any(text is None for text in texts):
            return None
        return "".join(f"{text}{end}" for text, end in zip(texts, (*self.breaks, ""), strict=True))


def make_message(text: str, accelerators: str = "", is_xml: bool = False, is_c: bool = False) -> Message:
    """Cuts a message into lines; accelerators: characters that mark keys in it; is_xml, is_c: as in `Segment`."""
    pieces = BREAK.split(text)
    lines = tuple(_line(piece, accelerators, is_xml, is_c) for piece in pieces[::2])
    refused = bool(_STAND_INS.search(text)) or any(len(line.units) > NUM_STAND_INS for line in lines)
    braces = re.sub(r"\{\{[^{}]*\}\}|\{[^{}]*\}", "", text)
    return Message(lines, tuple(pieces[1::2]), refused or "{" in braces or "}" in braces)


def _line(text: str, accelerators: str, is_xml: bool, is_c: bool) -> MessageLine:
    mark = ("", "")
    for sign in accelerators:
        written = escaped(sign) if is_xml else sign
        found = re.search(rf"{re.escape(written)}(?=[^\W_])(?!\w+;)", text)
        if found and text.count(sign) == 1:
            mark, text = (sign, text[found.end()]), text[: found.start()] + text[found.end() :]
            break
    core = text.strip()
    start = text.index(core) if core else len(text)
    parts = _without_cut_words(split_units(core, is_xml, is_c), is_xml)
    first, last = _peeled(parts)
    before = text[:start] + "".join(_raw(part, is_xml) for part in parts[:first])
    after = "".join(_raw(part, is_xml) for part in parts[last:]) + text[start + len(core) :]
    own = parts[first:last]
    lead, tail = "", ""
    if own and isinstance(own[0], str):
        lead = own[0][: len(own[0]) - len(own[0].lstrip())]
        own[0] = own[0].lstrip()
    if own and isinstance(own[-1], str):
        tail = own[-1][len(own[-1].rstrip()) :]
        own[-1] = own[-1].rstrip()
    return MessageLine(before + lead, tuple(part for part in own if part), tail + after, is_xml, mark)


def _peeled(parts: Sequence[str | MarkedUnit]) -> tuple[int, int]:
    """The part without tags that enclose all of it, or stand alone at an end."""
    first, last = 0, len(parts)
    while last - first > 1:
        begin, end = parts[first], parts[last - 1]
        if _is_lone_tag(begin):
            first += 1
        elif _is_lone_tag(end):
            last -= 1
        elif kind_of(begin) == OPEN and _partner(parts, first) == last - 1:
            first, last = first + 1, last - 1
        else:
            break
    return first, last


def _is_lone_tag(part: str | MarkedUnit) -> bool:
    return not isinstance(part, str) and part.is_tag and part.kind == ALONE


def _num_units(text: str) -> int:
    return len(units_of(split_units(text)))


def _partner(parts: Sequence[str | MarkedUnit], place: int) -> int:
    depth = 0
    for at in range(place, len(parts)):
        depth += {OPEN: 1, CLOSE: -1}.get(kind_of(parts[at]), 0)
        if not depth:
            return at
    return -1


def _without_cut_words(parts: Sequence[str | MarkedUnit], is_xml: bool) -> list[str | MarkedUnit]:
    """A word with tags inside it, such as H<sub>2</sub>O, becomes one unit."""
    found = list(parts)
    for place in range(len(found) - 3, 0, -1):
        before, inside = found[place - 1], found[place + 1]
        if not isinstance(before, str) or not isinstance(inside, str):
            continue
        if _partner(found, place) == place + 2 and _is_glued(before, inside):
            end = place + 3
            rest = found[end] if end < len(found) else ""
            after = rest if isinstance(rest, str) else ""
            tail, head = _word_start(after), before[: len(before) - len(_word_start(before[::-1]))]
            inner = "".join(_raw(part, is_xml) for part in found[place:end])
            unit = MarkedUnit(before[len(head) :] + inner + tail, ALONE, True)
            new: list[str | MarkedUnit] = [head, unit, after[len(tail) :]]
            found[place - 1 : end + bool(after)] = [part for part in new if part]
    return found


def _word_start(text: str) -> str:
    """The letters and digits that a text begins with."""
    return "".join(itertools.takewhile(str.isalnum, text))


def _is_glued(before: str, inside: str) -> bool:
    return before[-1:].isalnum() and inside[:1].isalnum() and not any(map(str.isspace, inside))


def _raw(part: str | MarkedUnit, is_xml: bool) -> str:
    if isinstance(part, str):
        return escaped(part) if is_xml else part
    return part.raw


def _num_letters(text: str) -> int:
    return sum(not char.isspace() for char in text)


def _ends(forms: Sequence[str]) -> list[int]:
    """Letters up to the end of each token."""
    ends, total = [], 0
    for form in forms:
        total += len(form)
        ends.append(total)
    return ends


def _spans(ends: Sequence[int]) -> list[tuple[int, int]]:
    """(end, length) of each token."""
    return [(end, end - before) for before, end in zip([0, *ends], ends, strict=False)]


def _span_of(inside: set[int], alignment: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The first and last target token that source tokens became; None if there is none, or others are between."""
    own = {target for source, target in alignment if source in inside}
    if not own:
        return None
    others = {target for source, target in alignment if source not in inside} - own
    first, last = min(own), max(own)
    return None if others & set(range(first, last + 1)) else (first, last)


def _inserted(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """Text with (place, rank, new) put in; at one place what closes comes first, then by rank."""
    parts, done = [], 0
    for place, _, new in sorted(edits):
        parts += [text[done:place], new]
        done = place
    return "".join([*parts, text[done:]])
