"""Compounds: cut as all ways to cut them say."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsmt.text.languages.compounds import LINKING, MOST_LETTERS, MOST_PARTS, CompoundCutter, writes_compounds
from jaxsmt.text.languages.forms import most_frequent_forms
from jaxsmt.text.languages.rare_words import totals_of

COUNTS = {"Server": 9, "server": 1, "Zertifikat": 7, "Seite": 8, "Nummer": 6, "Nummern": 3, "Daten": 20, "Bank": 4}
SERVER = "Serverzertifikat"


def cutter(counts=None, language="de", part_length=4, part_count=3):
    counts = COUNTS if counts is None else counts
    return CompoundCutter(language, totals_of(counts), most_frequent_forms(counts), part_length, part_count)


def every_way(word, cut):
    """All sequences of known parts that a word can be read as, with linking letters between them."""
    if not word:
        yield ()
    for end in range(cut.part_length, len(word) + 1):
        part = word[:end]
        if cut.counts[part] < cut.part_count:
            continue
        for letters in ("", *LINKING[cut.language]):
            rest = word[end + len(letters) :]
            fits = word[end:].startswith(letters) and (letters != "n" or part[-1] in "aeiouyäöü")
            if fits and (rest or not letters):
                yield from ((part, *more) for more in every_way(rest, cut))


def best_way(token, counts, cut):
    """By the definition: the largest geometric mean, then the fewest parts, then the alphabet."""
    ways = {way for way in every_way(token.lower(), cut) if 2 <= len(way) <= MOST_PARTS}
    mean = {way: round(sum(math.log(cut.counts[part]) for part in way) / len(way), 6) for way in ways}
    if len(token) < 2 * cut.part_length or not ways:
        return (token,)
    chosen = min(ways, key=lambda way: (-mean[way], len(way), way))
    return tuple(
        max((form for form in counts if form.lower() == part), key=lambda f: (counts[f], f)) for part in chosen
    )


def test_a_compound_becomes_words_that_are_known():
    assert cutter().parts(SERVER) == ("Server", "Zertifikat")
    assert cutter().parts("serverzertifikat") == ("Server", "Zertifikat")
    assert cutter().parts("Seitennummer") == ("Seite", "Nummer")  # the n follows a vowel
    assert cutter().parts("Datenbank") == ("Daten", "Bank")


@pytest.mark.parametrize(
    "token", ["", "Server", "ServerZertifikat", "SERVERZERTIFIKAT", "Server-Zertifikat", "Serverxyz"]
)
def test_other_words_stay_whole(token):
    assert cutter().parts(token) == (token,)


def test_what_is_too_long_for_a_word_stays_whole():
    counts = {"a" * length: 9 for length in range(4, 40)}
    assert len(cutter(counts).parts("a" * MOST_LETTERS)) == 3  # few long parts, or they would not reach its end
    assert cutter(counts).parts("a" * 100_000) == ("a" * 100_000,)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.text("aen", min_size=1, max_size=4), st.integers(1, 6), min_size=1, max_size=8),
    st.text("aensS", min_size=1, max_size=9),
    st.sampled_from(sorted(LINKING)),
    st.integers(1, 2),
    st.integers(1, 3),
)
def test_the_best_of_all_ways(counts, token, language, part_length, part_count):
    token = token[0] + token[1:].lower()
    cut = cutter(Counter(counts), language, part_length, part_count)
    assert cut.parts(token) == best_way(token, counts, cut)


def test_languages_that_write_them_apart_are_left_alone():
    assert writes_compounds("de-CH")
    assert writes_compounds("no")
    assert not writes_compounds("fr")
