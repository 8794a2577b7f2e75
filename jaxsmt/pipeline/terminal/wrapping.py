"""Help as lines that fit: sentences, commands and the keys of a YAML file, each wrapped in its own way."""

import re
import textwrap
from collections.abc import Iterable, Iterator

_COMMENT = re.compile(r"( *)# ?(.*)")
_KEY = re.compile(r"( *)([\w./@]+:.*?)  +# (.*)")


def wrapped_sentences(lines: Iterable[str], width: int) -> list[str]:
    """Paragraphs anew; an empty line ends one."""
    paragraphs = "\n".join(lines).split("\n\n")
    return [line for text in paragraphs for line in _wrapped(text, width, "", "")]


def wrapped_command(line: str, width: int) -> list[str]:
    """A command line, continued with backslashes where it is too long; a comment behind it then goes above it."""
    if len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    command, _, comment = line.strip().partition("  # ")
    above = _wrapped(f"# {comment.strip()}", width, indent, indent + "# ") if comment else []
    parts = _wrapped(command.strip(), width - 2, indent, indent + "  ")
    return [*above, *(f"{part} \\" for part in parts[:-1]), parts[-1]]


def wrapped_keys(lines: Iterable[str], width: int) -> list[str]:
    """Keys with their comments: those above a key as sentences anew, those behind it above it where they do not fit."""
    made: list[str] = []
    for is_comment, indent, text in _units(lines):
        if is_comment:
            made += _wrapped(text, width, f"{indent}# ", f"{indent}# ")
        elif len(indent + text) > width and (match := _KEY.fullmatch(indent + text)):
            made += [*_wrapped(match[3], width, f"{indent}# ", f"{indent}# "), indent + match[2]]
        else:
            made.append((indent + text).rstrip())
    return made


def _units(lines: Iterable[str]) -> Iterator[tuple[bool, str, str]]:
    """Comments as one text each, and all other lines: whether it is a comment, its indent, its text."""
    waiting: tuple[str, list[str]] | None = None
    for line in lines:
        comment = _COMMENT.fullmatch(line)
        if comment and waiting and waiting[0] == comment[1]:
            waiting[1].append(comment[2])
            continue
        if waiting:
            yield True, waiting[0], " ".join(waiting[1])
        waiting = (comment[1], [comment[2]]) if comment else None
        if not comment:
            text = line.lstrip()
            yield False, line[: len(line) - len(text)], text
    if waiting:
        yield True, waiting[0], " ".join(waiting[1])


def _wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
