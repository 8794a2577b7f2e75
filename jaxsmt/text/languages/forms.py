"""How often training text has each form of a word: what casing and rewriting of rare words are learned from."""

from collections.abc import Mapping
from pathlib import Path

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text


def most_frequent_forms(counts: Mapping[str, int]) -> dict[str, str]:
    """For each lowercased word its most frequent form; of equals the last in code-point order: lower case."""
    best: dict[str, tuple[int, str]] = {}
    for form, count in counts.items():
        word = form.lower()
        best[word] = max(best.get(word, (0, "")), (count, form))
    return {word: form for word, (_, form) in best.items()}


def save_forms(path: str | Path, counts: Mapping[str, int]) -> None:
    """One form and its count a line, separated by a tab, in code-point order."""
    write_text(path, "".join(f"{form}\t{counts[form]}\n" for form in sorted(counts)))


def load_forms(path: Path, what: str) -> dict[str, int]:
    """Reads what `save_forms` wrote; `what` it is, for messages."""
    counts = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], 1):
        form, _, count = line.rpartition("\t")
        if not (form and count.isdecimal()):
            raise UserError(f"{what} '{path}' line {number} is not 'word<tab>count': make it again with train.py")
        counts[form] = int(count)
    return counts


def save_stems(path: Path, forms: Mapping[str, str]) -> None:
    """A stem and a form a line, separated by a tab, in code-point order."""
    write_text(path, "".join(f"{stem}\t{forms[stem]}\n" for stem in sorted(forms)))


def load_stems(path: Path) -> dict[str, str]:
    """Reads what `save_stems` wrote."""
    forms = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], 1):
        stem, tab, form = line.partition("\t")
        if not (stem and tab and form):
            raise UserError(f"stems '{path}' line {number} is not 'stem<tab>form': make it again with train.py")
        forms[stem] = form
    return forms
