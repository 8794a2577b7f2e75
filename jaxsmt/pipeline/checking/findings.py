"""What a survey of the texts shows, as plain values: for tables on the terminal and for a file."""

from typing import Any

import numpy as np

from jaxsmt.common.progress import track
from jaxsmt.pipeline.checking.survey import Survey, SurveyedText, languages_of
from jaxsmt.text.checking.coverage import shared_words, unknown_shares
from jaxsmt.text.checking.matching import Matcher, make_matcher
from jaxsmt.text.checking.overlap import overlap
from jaxsmt.text.checking.suspicious import KINDS, suspicious_pairs

ALL = "all"
MOST_LINES = 1_000  # line numbers of each kind that the file lists
SIDES = ("source", "target")
MASKS = ("exact", "pair", "folded", "near", "target")
Rows = list[dict[str, Any]]


def sizes(found: Survey) -> Rows:
    """Pairs, words and lengths of every text."""
    return [_size(text) for text in (*found.components, *found.sets)]


def _size(text: SurveyedText) -> dict[str, Any]:
    row: dict[str, Any] = {"text": text.key, "pairs": len(text.rows), "dropped": text.dropped}
    for side, lines in zip(SIDES, text.pair, strict=True):
        lengths = lines.rows.lengths
        row[f"{side}_tokens"] = int(lengths.sum())
        row[f"{side}_types"] = len(lines.vocabulary.words)
        row[f"{side}_mean_length"] = round(float(lengths.mean()), 2) if len(lengths) else 0.0
        row[f"{side}_longest"] = int(lengths.max(initial=0))
    return row


def overlaps(found: Survey) -> Rows:
    """For every set the lines that each component has, exactly or nearly, and those that any of them has."""
    rows: Rows = []
    for text in track(found.sets, "comparing sets with training text", len(found.sets)):
        union = {mask: np.zeros(len(text.rows), bool) for mask in MASKS}
        for part in found.components:
            shared = overlap(*text.pair, *part.pair)
            row: dict[str, Any] = {"set": text.key, "component": part.name, "lines": len(text.rows)}
            for mask in MASKS:
                row[mask] = int(getattr(shared, mask).sum())
                union[mask] |= getattr(shared, mask)
            near = np.flatnonzero(shared.near)[:MOST_LINES]
            row["near_lines"] = [[int(line) + 1, int(part.rows[shared.like[line]]) + 1] for line in near]
            rows.append(row)
        union["near"] &= ~union["folded"]
        counts = {mask: int(lines.sum()) for mask, lines in union.items()}
        rows.append({"set": text.key, "component": ALL, "lines": len(text.rows), **counts, "near_lines": []})
    return rows


def unknown_words(found: Survey) -> Rows:
    """For every set and side the share of its words that each component, and all of them, do not have."""
    rows: Rows = []
    names = [part.name for part in found.components]
    for text in found.sets:
        for side, place in zip(SIDES, (0, 1), strict=True):
            shares = unknown_shares(text.pair[place], [part.pair[place] for part in found.components])
            values = dict(zip((*names, ALL), (round(float(share), 5) for share in shares), strict=True))
            rows.append({"set": text.key, "side": side, "unknown": values})
    return rows


def shared_vocabulary(found: Survey) -> dict[str, Any]:
    """How many of a component's running words another one has, for both sides."""
    matrices = [shared_words([part.pair[place] for part in found.components]) for place in (0, 1)]
    rounded = {side: matrix.round(4).tolist() for side, matrix in zip(SIDES, matrices, strict=True)}
    return {"components": [part.name for part in found.components], **rounded}


def suspicions(found: Survey) -> Rows:
    """Pairs of every text that look wrong, by kind, with the numbers of their lines, and runs that are misaligned."""
    everything = (*found.components, *found.sets)
    matcher = _matcher(found)
    return [_suspicion(text, matcher) for text in track(everything, "looking for odd pairs", len(everything))]


def _matcher(found: Survey) -> Matcher | None:
    if not found.components:
        return None
    return make_matcher([part.pair for part in found.components], [text.pair for text in found.sets])


def _suspicion(text: SurveyedText, matcher: Matcher | None) -> dict[str, Any]:
    matched = matcher.of(*text.pair) if matcher is not None else None
    seen = suspicious_pairs(*text.pair, languages_of(text), matched)
    lines = {kind: (text.rows[rows[:MOST_LINES]] + 1).tolist() for kind, rows in seen.rows.items()}
    runs = [
        {"first": int(text.rows[run.first]) + 1, "last": int(text.rows[run.last]) + 1, "shift": run.shift}
        for run in seen.runs
    ]
    counts = {kind: len(seen.rows.get(kind, ())) for kind in KINDS}
    return {"text": text.key, "pairs": len(text.rows), "counts": counts, "lines": lines, "runs": runs}
