"""The parts of a page about translations: scores, samples, unknown words, the work of the search."""

from collections.abc import Mapping, Sequence

from jaxsmt.evaluate.compare import stars
from jaxsmt.model.explaining.explanation import SMALLEST_SHARE, Explanation, UsedRule
from jaxsmt.pipeline.page.differences import marked
from jaxsmt.pipeline.page.markup import Html, details, hidden, joined, section, tag
from jaxsmt.pipeline.page.records import Sample, SetRecord, WayScores
from jaxsmt.pipeline.page.tables import table

METRICS = {"bleu": "BLEU", "ter": "TER", "chrf": "chrF2"}
LESS_IS_BETTER = ("ter",)
P_VALUES = (
    "Stars say that chance alone would rarely make such a difference from the first system: "
    "*\u00a0p\u00a0≤\u00a00.05, **\u00a0p\u00a0≤\u00a00.01, ***\u00a0p\u00a0≤\u00a00.001"
)
_ORIGINS = {"unknown": "nowhere: copied", "term": "the glossary"}


def scores_section(sets: Sequence[SetRecord], test: str, signatures: Mapping[str, str]) -> Html:
    """Scores of every set in every way."""
    if not sets:
        return section("results", "Results", tag("p", "Nothing was translated (translate=[])."))
    test_sets = [record for record in sets if record.part == "test"] or list(sets)
    tiles = tag("dl", *(_tile(record) for record in test_sets), class_="tiles")
    tables = tag("div", *(_score_table(sets, metric) for metric in METRICS), class_="beside")
    listed = (tag("li", f"{name}: ", tag("code", text)) for name, text in signatures.items())
    how = details("How the scores were computed", tag("ul", *listed))
    significance = tag("p", f"{P_VALUES} ({test}).", class_="soft") if any(len(own.ways) > 1 for own in sets) else None
    return section("results", "Results", tiles, tables, significance, how)


def _tile(record: SetRecord) -> Html:
    """The last way's BLEU, and how far it is from the first's."""
    names, ways = list(record.ways), list(record.ways.values())
    last, gain = ways[-1], round(ways[-1].bleu, 2) - round(ways[0].bleu, 2)  # as a reader would subtract
    compared = f"{gain:+.2f}{_stars(last, 'bleu')} against {names[0]}" if len(ways) > 1 else ""
    kind = None if len(ways) == 1 or not gain else "better" if gain > 0 else "worse"
    said = f"{names[-1]}, {record.num_lines:,} lines"
    value = tag("dd", f"{last.bleu:.2f}", tag("small", compared, class_=kind), tag("small", said, class_="soft"))
    return tag("div", tag("dt", f"BLEU, {record.part} {record.name}"), value, class_="tile")


def _score_table(sets: Sequence[SetRecord], metric: str) -> Html:
    ways = list(dict.fromkeys(way for record in sets for way in record.ways))
    note = "less is better" if metric in LESS_IS_BETTER else "more is better"
    rows = []
    for record in sets:
        found = [record.ways.get(way) for way in ways]
        rows.append([record.part, record.name, *(_score(own, metric, len(ways) > 1) for own in found)])
    heads = [with_stars(way, "") for way in ways] if len(ways) > 1 else ways
    return table(f"{METRICS[metric]}, per cent; {note}", ["set", "domain"], heads, rows)


def _score(own: WayScores | None, metric: str, has_stars: bool) -> object:
    if own is None:
        return ""
    score, p_value = f"{getattr(own, metric):.2f}", own.p_values.get(metric)
    said = None if p_value is None else hidden(f" (p = {p_value:.4f})")
    return joined([with_stars(score, _stars(own, metric)) if has_stars else score, said])


def with_stars(text: str, shown: str) -> Html:
    """Text and stars, in a column where numbers stay below each other."""
    return joined([text, tag("span", shown, class_="stars")])


def _stars(own: WayScores, metric: str) -> str:
    return stars(own.p_values[metric]) if metric in own.p_values else ""


def samples_section(samples: Mapping[str, Sequence[Sample]], languages: tuple[str, str]) -> Html | None:
    """Sample translations beside their references; samples: by title."""
    if not any(samples.values()):
        return None
    legend = tag(
        "p", "Each translation is compared with the reference: ", tag("mark", "what the reference does not have"), ", ",
        tag("del", "what is missing from it"), ". Gains and losses are the last system's against the first, by chrF.",
        class_="soft",
    )  # fmt: skip
    parts = []
    for title, own in samples.items():
        parts += [tag("h3", title), *(sample_card(sample, languages) for sample in own)] if own else []
    return section("samples", "Sample translations", legend, *parts)


def sample_card(sample: Sample, languages: tuple[str, str]) -> Html:
    """A line, its reference, its translations."""
    source, target = ({"lang": language or None, "dir": "auto"} for language in languages)
    rows = [tag("dt", "source"), tag("dd", sample.source, **source)]
    rows += [tag("dt", "reference"), tag("dd", sample.reference, **target)]
    for system, output in sample.outputs.items():
        rows += [tag("dt", system), tag("dd", marked(output, sample.reference), **target)]
    told = [
        details(f"How “{system}” came about", *explanation_parts(explanation))
        for system, explanation in sample.explanations.items()
    ]
    return tag("article", tag("h4", f"Line {sample.number:,}, {sample.why}"), tag("dl", *rows), *told, class_="sample")


def explanation_parts(explanation: Explanation) -> list[Html]:
    """Every phrase with its span and where it was seen, what adds to the score, the weights."""
    parts = []
    label = explanation.label or "none"
    if explanation.pieces:
        rows = [_piece(piece) for piece in explanation.pieces]
        texts, numbers = ("source", "target", "seen in"), ("rule", "LM")
        parts.append(table(f"Phrases and rules; domain {label}", ["words"], numbers, rows, texts, numbers_last=True))
        added = ", ".join(f"{name} {value:+.2f}" for name, value in explanation.parts.items() if value)
        parts.append(tag("p", f"Score {explanation.score:.2f} = {added}"))
    else:
        parts.append(tag("p", f"Domain {label}; no single derivation: the line is empty or was cut."))
    if explanation.unknown:
        parts.append(tag("p", f"Unknown: {', '.join(explanation.unknown)}"))
    return parts


def _piece(piece: UsedRule) -> list[object]:
    span = f"{piece.start + 1}–{piece.end}" if piece.end > piece.start + 1 else f"{piece.end}"
    return [
        span, " ".join(piece.source), " ".join(piece.target) or "(nothing)", _seen_in(piece),
        f"{piece.score:.2f}", f"{piece.lm:.2f}",
    ]  # fmt: skip


def _seen_in(piece: UsedRule) -> object:
    if piece.kind in _ORIGINS:
        return _ORIGINS[piece.kind]
    shown = sorted(piece.components.items(), key=lambda item: (-item[1], item[0]))
    return joined(
        tag("span", f"{name} {share:.0%}", class_="share", style=f"--share:{share:.3g}")
        for name, share in shown
        if share >= SMALLEST_SHARE
    )


def unknown_section(sets: Sequence[SetRecord]) -> Html | None:
    """Words that nobody could translate, with the numbers of times they came."""
    if not any(record.unknown_words for record in sets):
        return None
    rows = []
    for record in sets:
        number = list(record.ways.values())[-1].unknown
        words = [joined([tag("bdi", word), f" {count}" if count > 1 else None]) for word, count in record.unknown_words]
        rows.append([record.part, record.name, f"{number:,}", joined(words, ", ")])
    caption = "Words that are in no rule, the most frequent first; they were copied or left out"
    return section("unknown", "Unknown words", table(caption, ["set", "domain"], ["number"], rows, ["words"]))


def search_section(sets: Sequence[SetRecord]) -> Html | None:
    """The work of the decoder."""
    rows = []
    for record in sets:
        for way, own in record.ways.items():
            if own.search is not None:
                words = max(own.search.words, 1)
                work = (own.search.cells, own.search.groups, own.search.candidates)
                counted = [f"{own.search.sentences:,}", f"{own.search.words:,}", *(f"{n / words:.1f}" for n in work)]
                rows.append([record.part, record.name, way, *counted])
    if not rows:
        return None
    numbers = ["sentences", "source words", "cells a word", "rule applications a word", "scored candidates a word"]
    caption = "What the decoder did; a sentence that is decoded twice counts twice"
    return section("search", "Search", table(caption, ["set", "domain", "weights"], numbers, rows))
