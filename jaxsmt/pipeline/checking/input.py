"""`jaxsmt decode check=true`: what a model will make of a text, without translating it."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import track
from jaxsmt.common.wording import counted
from jaxsmt.text.checking.language import can_be_told_apart, side_evidence
from jaxsmt.text.encoding import TextSide
from jaxsmt.text.vocabulary import UNKNOWN

MOST_WORDS = 20  # unknown ones that are named
LONG = 128  # words, above which a sentence is cut and joined again


def check_input(lines: Iterable[str], source: TextSide, target: TextSide, name: str, output: str | None) -> None:
    """Shows sizes, lengths and unknown words of a text; raises UserError if it looks like the wrong language."""
    kept = list(track(lines, "reading"))
    found = input_report(kept, source)
    print_report(found)
    if output is not None:
        write_text(Path(output), json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    refuse_target_language(kept, (source.language, target.language), name)


def input_report(lines: list[str], source: TextSide) -> dict[str, Any]:
    """Sizes and unknown words as plain values."""
    unknown: Counter[str] = Counter()
    words, longest, num_long, num_empty = 0, 0, 0, 0
    for line in lines:
        tokens = source.preprocess(line)
        longest, num_long, num_empty = (
            max(longest, len(tokens)),
            num_long + (len(tokens) > LONG),
            num_empty + (not tokens),
        )
        for token, number in zip(tokens, source.vocabulary.encode(tokens), strict=True):
            if any(map(str.isalnum, token)):
                words += 1
                unknown.update([source.plain(token)] if number == UNKNOWN else ())
    ordered = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))
    return {
        "lines": len(lines),
        "words": words,
        "longest": longest,
        "long_lines": num_long,
        "empty_lines": num_empty,
        "unknown": unknown.total(),
        "most_frequent_unknown": [[word, count] for word, count in ordered[:MOST_WORDS]],
    }


def print_report(found: dict[str, Any]) -> None:
    """A few lines on standard output."""
    console = Console()
    share = 100 * found["unknown"] / max(found["words"], 1)
    lines, words = counted(found["lines"], "line"), counted(found["words"], "word")
    lengths = f"{found['long_lines']:,} of over {LONG} tokens, the longest {found['longest']:,}"
    console.print(f"{lines} ({found['empty_lines']:,} empty, {lengths}), {words}", markup=False)
    names = ", ".join(f"{word} ({count})" for word, count in found["most_frequent_unknown"])
    console.print(f"unknown words: {found['unknown']:,}, {share:.1f} %{': ' if names else ''}{names}", markup=False)


def refuse_target_language(lines: list[str], languages: tuple[str, str], name: str) -> None:
    """Raises UserError if a text that should be in the first language looks like the second."""
    if can_be_told_apart(languages) and side_evidence(lines, languages).looks_like == 1:
        raise UserError(
            f"'{name}' looks like '{languages[1]}', and the model translates from '{languages[0]}' to "
            f"'{languages[1]}': give the other text, or a model of the other direction"
        )
