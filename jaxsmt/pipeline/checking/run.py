"""`jaxsmt train check=true`: reads everything, reports what it found, trains nothing."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log
from jaxsmt.pipeline.checking import findings
from jaxsmt.pipeline.checking.estimate import estimate
from jaxsmt.pipeline.checking.survey import survey
from jaxsmt.pipeline.checking.tables import show_findings
from jaxsmt.pipeline.config.choices import Choices
from jaxsmt.pipeline.store import Store
from jaxsmt.text.reading import BitextSource

MUCH_OVERLAP = 0.01  # of a set's lines
MANY_SUSPICIOUS = 0.05  # of a text's pairs


@dataclass(frozen=True)
class CheckRequest:
    """What is checked: sources by part and name; refuse raises UserError where choices do not go together."""

    sources: Mapping[str, Mapping[str, BitextSource]]
    chosen: Choices
    refuse: Callable[[], Any]
    language_check: bool = True
    output: str | None = None


def check_training(store: Store, request: CheckRequest) -> float:
    """Shows and writes what was found; raises UserError if something would stop the training. Returns 0."""
    found = report(store, request)
    show_findings(found)
    if request.output is not None:
        write_text(Path(request.output), json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        log.info("findings: %s", request.output)
    problems = found["problems"]
    if problems:
        more = f" (and {len(problems) - 1} more, see above)" if len(problems) > 1 else ""
        raise UserError(f"the training would fail: {problems[0]}{more}")
    return 0.0


def report(store: Store, request: CheckRequest) -> dict[str, Any]:
    """All findings as plain values."""
    problems = []
    try:
        request.refuse()
    except UserError as error:
        problems.append(str(error))
    texts = survey(store, request.sources, request.chosen.text, request.language_check)
    found = {
        "texts": findings.sizes(texts),
        "overlap": findings.overlaps(texts),
        "unknown": findings.unknown_words(texts),
        "shared": findings.shared_vocabulary(texts),
        "suspicious": findings.suspicions(texts),
        "estimate": estimate(texts, request.chosen),
        "problems": problems + texts.problems,
    }
    return {**found, "notes": notes(found)}


def notes(found: Mapping[str, Any]) -> list[str]:
    """What a person should look at, though nothing fails for it."""
    told = []
    for row in found["overlap"]:
        same = row["folded"] + row["near"]
        if row["component"] == findings.ALL and same > MUCH_OVERLAP * row["lines"]:
            what = f"{same} of {row['lines']} lines of {row['set']}"
            told.append(f"{what} are in the training text, or nearly: scores will flatter")
    for row in found["suspicious"]:
        odd = sum(row["counts"].values())
        if odd > MANY_SUSPICIOUS * row["pairs"] or row["runs"]:
            told.append(f"{row['text']} has {odd} suspicious pairs of {row['pairs']}: look at its lines")
    memory = memory_of_this_machine()
    if memory is not None and found["estimate"]["gigabytes"] > 0.8 * memory:
        told.append(f"the training may need more than the {memory:.1f} GB of this machine: take less text (first: …)")
    return told


def memory_of_this_machine() -> float | None:
    """Gigabytes; None where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    except (ValueError, OSError, AttributeError):
        return None
