"""Where a translation and its reference differ, word by word."""

from collections.abc import Iterator
from difflib import SequenceMatcher

from jaxsmt.pipeline.page.markup import Html, hidden, joined, tag

SAME, MORE, MISSING = "same", "more", "missing"


def word_differences(text: str, reference: str) -> Iterator[tuple[str, str]]:
    """Runs of words, each with what it is: the SAME in both, MORE than the reference has, or MISSING from the text."""
    words, goals = text.split(), reference.split()
    for _, start, end, first, last in SequenceMatcher(None, goals, words, autojunk=False).get_opcodes():
        if goals[start:end] == words[first:last]:
            yield SAME, " ".join(words[first:last])
            continue
        if end > start:
            yield MISSING, " ".join(goals[start:end])
        if last > first:
            yield MORE, " ".join(words[first:last])


def marked(text: str, reference: str) -> Html:
    """The text with its differences from the reference: seen by colour and line, and said."""
    pieces = {
        SAME: lambda words: words,
        MORE: lambda words: tag("mark", hidden("[instead: "), words, hidden("]")),
        MISSING: lambda words: tag("del", hidden("[missing: "), words, hidden("]")),
    }
    return joined((pieces[kind](words) for kind, words in word_differences(text, reference)), " ")
