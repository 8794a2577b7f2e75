"""What is said of a translation, as text and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import Any

WIDTH = 79  # of lines of text that have no words of the sentence
SMALLEST_SHARE = 0.005  # of a component, to be shown in text


@dataclass(frozen=True)
class UsedRule:
    """One phrase or rule.

    kind: 'phrase', 'rule' (with gaps), 'unknown' or 'term' (of the glossary).
    start, end: the span of source tokens that it covers; source: its tokens, gaps as [1], [2].
    target: the words that it wrote; places: where in the output.
    components: shares of those that it was seen in; counts: how often.
    features: values of its own features; score: what they, penalties and unknown words add.
    lm: what the language models add for its words.
    """

    kind: str
    start: int
    end: int
    source: tuple[str, ...]
    target: tuple[str, ...]
    places: tuple[int, ...]
    components: Mapping[str, float]
    counts: Mapping[str, float]
    features: Mapping[str, float]
    score: float
    lm: float


@dataclass(frozen=True)
class Explanation:
    """How a line came about.

    label: the kind of text.
    component_weights: λ by feature (or 'all') and component; lm_weights: by language model.
    weights: log-linear ones.
    pieces: in the order of the output; none for an empty line, or one that was cut.
    parts: what each feature adds to the score; lm_by_word: what language models add for each word, and for the end.
    score: the sum of the parts; of an adapted model, of what ranks the translations, another number may be the total.
    """

    source: str
    translation: str
    tokens: tuple[str, ...]
    label: str | None
    component_weights: Mapping[str, Mapping[str, float]]
    lm_weights: Mapping[str, Mapping[str, float]]
    weights: Mapping[str, Any]
    pieces: tuple[UsedRule, ...]
    parts: Mapping[str, float]
    lm_by_word: tuple[tuple[str, float], ...]
    unknown: tuple[str, ...]
    score: float

    def as_json(self) -> dict[str, Any]:
        """For JSON, numbers rounded."""
        return _rounded(asdict(self))

    def as_text(self) -> str:
        """For people, several lines."""
        lines = [f"  domain    {self.label or 'none'}"]
        lines += [f"  weights   {name:<12} {_listed(row)}" for name, row in self.component_weights.items()]
        lines += [f"  weights   {name:<12} {_listed(row)}" for name, row in self.lm_weights.items()]
        lines += self._table()
        if self.unknown:
            lines.append(f"  unknown   {', '.join(self.unknown)}")
        if self.pieces:
            parts = " ".join(f"{name}\u00a0{value:+.2f}" for name, value in self.parts.items() if value)
            text = wrap(f"{self.score:.2f} = {parts}", WIDTH, initial_indent="  score     ", subsequent_indent=" " * 12)
            lines += [line.replace("\u00a0", " ") for line in text]
        return "\n".join(lines)

    def _table(self) -> list[str]:
        rows = [
            (
                f"{piece.start + 1}–{piece.end}" if piece.end > piece.start + 1 else f"{piece.end}",
                " ".join(piece.source),
                " ".join(piece.target) or "(nothing)",
                f"{piece.score:.2f}",
                f"{piece.lm:.2f}",
                _origin(piece),
            )
            for piece in self.pieces
        ]
        if not rows:
            return []
        heads = ("words", "source", "target", "rule", "lm", "seen in")
        widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
        return ["  " + _cells(row, widths) for row in (heads, *rows)]


def _cells(row: Sequence[str], widths: Sequence[int]) -> str:
    is_number = (False, False, False, True, True, False)
    cells = (cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(row, widths, is_number, strict=True))
    return "  ".join(cells).rstrip()


def _origin(piece: UsedRule) -> str:
    if piece.kind not in ("phrase", "rule"):
        return {"unknown": "nowhere", "term": "the glossary"}[piece.kind]
    shown = sorted(piece.components.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {share:.0%}" for name, share in shown if share >= SMALLEST_SHARE)


def _listed(row: Mapping[str, float]) -> str:
    """Weights as parts of their sum, which is all that counts of them."""
    total = sum(row.values()) or 1.0
    return "  ".join(f"{name} {value / total:.3f}" for name, value in row.items())


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, tuple | list) else value
