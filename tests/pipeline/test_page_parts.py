"""Parts of a page: escaping, differences, pictures, tables, chosen lines; with nothing, with one, with hostile text."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from jaxsmt.evaluate.bleu import bleu_statistics
from jaxsmt.evaluate.segments import Interner
from jaxsmt.pipeline.page.differences import MISSING, MORE, SAME, word_differences
from jaxsmt.pipeline.page.markup import Html, escaped, tag
from jaxsmt.pipeline.page.pictures import Line, Spread, curves, scatter, spreads, ticks
from jaxsmt.pipeline.page.records import RunRecord, Sample, SetRecord, Setup, WayScores
from jaxsmt.pipeline.page.run_page import run_page
from jaxsmt.pipeline.page.samples import GAIN, LOSS, chosen_lines
from jaxsmt.pipeline.page.style import NUM_COLOURS, STYLE
from jaxsmt.pipeline.page.sweep_page import SweepRecord, sweep_page
from jaxsmt.pipeline.page.tables import heat_table, table
from jaxsmt.tune.loop import bleu_interval
from tests.pipeline.page_reading import check_page, read_page, rows_of

HOSTILE = """<script>alert("x")</script> '&amp;' </style> " onload=1"""
WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=12).map(" ".join)


def test_all_text_is_escaped_once():
    made = tag("p", HOSTILE, tag("b", HOSTILE), title=HOSTILE, class_="x", hidden=True, lang=None)
    element = read_page(made).one("p")
    assert element.attributes == {"title": HOSTILE, "class": "x", "hidden": None}
    assert element.text() == HOSTILE * 2
    assert [child.name for child in read_page(made).all("*")] == ["p", "b"]
    assert escaped(Html("<b>")) == "<b>"
    assert escaped("a\x00\udce9\x1b") == "a���"
    assert tag("br") == "<br>"


@given(WORDS, WORDS)
def test_differences_tell_both_texts(text, reference):
    pieces = list(word_differences(text, reference))
    for left_out, whole in ((MISSING, text), (MORE, reference)):
        assert " ".join(words for kind, words in pieces if kind != left_out) == whole
    same = sum(len(words.split()) for kind, words in pieces if kind == SAME)
    assert (same == len(text.split()) == len(reference.split())) == (text == reference)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (76.3, 81.2), (0.001, 0.0011), (-3, 4000), (5, 5)])
def test_ticks_are_round_and_few(low, high):
    found = ticks(low, high)
    assert len(found) <= 6
    assert all(low - 1e-6 <= value <= high + 1e-6 for value in found)
    if high > low:
        assert len(found) >= 2
        step = found[1] - found[0]
        assert f"{step:e}"[0] in "125"


def test_pictures_of_nothing_and_of_one():
    assert curves([], "t", "x", "y") == scatter([], [], [], "t") == spreads([], "t", "x") == ""
    one = read_page(curves([Line("a", [30.0], [29.0], [31.0], 1)], "t", "x", "y"))
    assert one.one("circle")
    assert len(one.one("polygon").attributes["points"].split()) == 2
    assert read_page(spreads([Spread(HOSTILE, 3.0, 0.0)], "t", "x")).one("li").text() == HOSTILE
    read_page(scatter([(0.0, 0.0)], [0], ["a"], HOSTILE))


def test_higher_values_are_drawn_higher():
    page = read_page(curves([Line("a", [10.0, 30.0, 20.0])], "t", "x", "y"))
    first, second, third = (float(dot.attributes["cy"]) for dot in page.all("circle"))
    assert second < third < first


def test_tables_of_nothing_and_shared_names():
    assert rows_of(read_page(table("c", ["a"], ["b"], [])), "c") == [["a", "b"]]
    rows = [["x", "1", "2"], ["x", "2", "3"], ["y", "1", "4"]]
    assert rows_of(read_page(table("c", ["a", "b"], ["n"], rows)), "c")[1:] == rows
    made = read_page(heat_table("c", ["a"], ["p", "q"], [(["x"], [0.25, 2.0])]))
    assert [cell.attributes["style"] for cell in made.all("td")] == ["--share:0.25", "--share:1"]
    assert rows_of(made, "c")[1] == ["x", "0.250", "2.000"]


def test_chosen_lines_gain_and_lose():
    references = [f"the house number {number} is green" for number in range(20)]
    first, last = list(references), list(references)
    first[4] = "a"
    last[7] = "b"
    found = chosen_lines(first, last, references)
    assert {row: why for row, why in found.items() if why in (GAIN, LOSS)} == {4: GAIN, 7: LOSS}
    assert list(found) == sorted(found)
    assert len(found) == 5
    assert chosen_lines([], [], []) == {}
    assert list(chosen_lines(["x"], ["x"], ["y"])) == [0]


def statistics_of(outputs, references):
    interner = Interner()
    words, goals = (interner.encode([line.split() for line in lines]) for lines in (outputs, references))
    return bleu_statistics(words, goals, np.arange(len(outputs)), np.arange(len(references)))


def test_the_interval_is_that_of_resampled_sentences():
    rng = np.random.default_rng(3)
    references = [" ".join(rng.choice(list("abcdefgh"), 9)) for _ in range(50)]
    outputs = [line if rng.random() < 0.5 else " ".join(rng.permutation(line.split())) for line in references]
    statistics = statistics_of(outputs, references)
    low, high = bleu_interval(statistics)
    metric, scores = BLEU(tokenize="none", force=True, smooth_method="none"), []
    for _ in range(1000):
        rows = rng.integers(0, 50, 50)
        scores.append(metric.corpus_score([outputs[row] for row in rows], [[references[row] for row in rows]]).score)
    np.testing.assert_allclose([100 * low, 100 * high], np.percentile(scores, (2.5, 97.5)), atol=1.5)
    assert bleu_interval(statistics) == (low, high)
    assert bleu_interval(statistics[:0]) == ()
    alone = statistics_of(["a b c d e"], ["a b c d e"])
    assert bleu_interval(alone) == (1.0, 1.0)


def hostile_record():
    """A record with nothing in it but text that would harm a page."""
    sample = Sample(1, HOSTILE, "a " + HOSTILE, {HOSTILE: HOSTILE + " b"}, HOSTILE)
    ways = {HOSTILE: WayScores(1.0, 2.0, 3.0)}
    found = SetRecord("test", HOSTILE, 1, ways, [(HOSTILE, 2)], [sample])
    setup = Setup([HOSTILE], HOSTILE, {HOSTILE: HOSTILE}, HOSTILE)
    return RunRecord(HOSTILE, ("fr", "en"), setup, [], [], ([], []), None, [], [found])


def test_hostile_text_is_shown_and_does_nothing():
    page = check_page(run_page(hostile_record()))
    assert page.one("h1").text() == f"Training run “{HOSTILE}”"
    assert page.one("pre").text() == HOSTILE
    source, reference, output = page.one("section", id="samples").all("dd")
    assert source.text() == HOSTILE
    assert output.text(without=("del",)).split() == [*HOSTILE.split(), "b"]
    assert output.text(without=("mark",)).split() == reference.text().split()


def test_a_sweep_of_nothing_is_a_page():
    page = check_page(sweep_page(SweepRecord(HOSTILE, ("", ""), [], {}, {})))
    assert "No job has translated anything." in page.text()


def luminance(colour):
    """Of WCAG 2: colour in 0 to 255."""
    parts = [value / 255 for value in colour]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


def colours_of(css):
    """Variables that are colours, as three numbers."""
    found = {}
    for name, value in re.findall(r"--([\w-]+):([^;}]+)", css):
        if value.startswith("#"):
            digits = value[1:] if len(value) == 7 else "".join(2 * digit for digit in value[1:])
            found[name] = [int(digits[place : place + 2], 16) for place in (0, 2, 4)]
        elif re.fullmatch(r"\d+ \d+ \d+", value):
            found[name] = [int(part) for part in value.split()]
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_text_can_be_read(theme):
    light, dark = STYLE.split("@media(prefers-color-scheme:dark)")
    own = colours_of(light if theme == "light" else dark.split("}}")[0] + "}")
    for ink in ("ink", "soft", "link", "good", "bad"):
        assert contrast(own[ink], own["paper"]) >= 4.5, ink
        assert contrast(own[ink], own["raised"]) >= 4.5, ink
    assert contrast(own["good"], own["good-paper"]) >= 4.5
    assert contrast(own["ink"], own["bad-paper"]) >= 4.5
    for paper in ("paper", "raised"):
        for share in (0.25, 0.5, 0.75, 1.0):
            heat = [0.55 * share * h + (1 - 0.55 * share) * p for h, p in zip(own["heat"], own[paper], strict=True)]
            assert contrast(own["ink"], heat) >= 4.5
    assert all(contrast(own[f"s{number}"], own["paper"]) >= 3 for number in range(NUM_COLOURS))
