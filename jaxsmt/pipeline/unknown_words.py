"""Words that nobody could translate, as a file lists them."""

from collections import Counter


def unknown_lines(unknown: Counter[str]) -> str:
    """Unknown words with their counts, by falling count, then in code-point order."""
    rows = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{count}\t{word}\n" for word, count in rows)
