"""Compounds: cut as all ways to cut them say, alike in files and in single lines, and not at all where nobody asked."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsmt.common.errors import UserError
from jaxsmt.text.encoding import TextConfig, TextSide, load_side
from jaxsmt.text.languages.compounds import (
    LINKING,
    MOST_LETTERS,
    MOST_PARTS,
    CompoundConfig,
    CompoundSplitter,
    learn_compounds,
)
from jaxsmt.text.preparing import prepare_bitext, split_side
from jaxsmt.text.vocabulary import Vocabulary

COUNTS = {"Server": 9, "server": 1, "Zertifikat": 7, "Seite": 8, "Nummer": 6, "Nummern": 3, "Daten": 20, "Bank": 4}
SERVER = "Serverzertifikat"


def splitter(counts=None, language="de", **config):
    return CompoundSplitter(language, CompoundConfig(**config), COUNTS if counts is None else counts)


def every_way(word, totals, config, language):
    """All sequences of known parts that a word can be read as, with linking letters between them."""
    if not word:
        yield ()
    for end in range(config.part_length, len(word) + 1):
        part = word[:end]
        if totals[part] < config.part_count:
            continue
        for letters in ("", *LINKING[language]):
            rest = word[end + len(letters) :]
            fits = word[end:].startswith(letters) and (letters != "n" or part[-1] in "aeiouyäöü")
            if fits and (rest or not letters):
                yield from ((part, *more) for more in every_way(rest, totals, config, language))


def best_way(token, counts, config, language):
    """By the definition: the largest geometric mean, then the fewest parts, then the alphabet."""
    totals = Counter()
    for form, count in counts.items():
        totals[form.lower()] += count
    ways = {way for way in every_way(token.lower(), totals, config, language) if 2 <= len(way) <= MOST_PARTS}
    mean = {way: round(sum(math.log(totals[part]) for part in way) / len(way), 6) for way in ways}
    if totals[token.lower()] >= config.rarer_than or len(token) < 2 * config.part_length or not ways:
        return (token,)
    chosen = min(ways, key=lambda way: (-mean[way], len(way), way))
    return tuple(
        max((form for form in counts if form.lower() == part), key=lambda f: (counts[f], f)) for part in chosen
    )


def test_a_rare_compound_becomes_words_that_are_known():
    assert splitter().parts(SERVER) == ("Server", "Zertifikat")
    assert splitter().parts("serverzertifikat") == ("Server", "Zertifikat")
    assert splitter().parts("Seitennummer") == ("Seite", "Nummer")  # the n follows a vowel
    assert splitter().parts("Datenbank") == ("Daten", "Bank")
    assert splitter().cut(["das", SERVER, "."]) == ["das", "Server", "Zertifikat", "."]


@pytest.mark.parametrize(
    "token", ["", "Server", "ServerZertifikat", "SERVERZERTIFIKAT", "Server-Zertifikat", "Serverxyz"]
)
def test_other_words_stay_whole(token):
    assert splitter().parts(token) == (token,)


def test_what_is_too_long_for_a_word_stays_whole():
    counts = {"a" * length: 9 for length in range(4, 40)}
    assert len(splitter(counts).parts("a" * MOST_LETTERS)) == 3  # few long parts, or they would not reach its end
    assert splitter(counts).parts("a" * 100_000) == ("a" * 100_000,)


def test_frequent_compounds_stay_whole():
    counts = {**COUNTS, SERVER: 3, SERVER.lower(): 2}
    assert splitter(counts).parts(SERVER) == (SERVER,)
    assert splitter(counts, rarer_than=6).parts(SERVER) == ("Server", "Zertifikat")
    assert splitter(counts, rarer_than=0).parts("Datenbank") == ("Datenbank",)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.text("aen", min_size=1, max_size=4), st.integers(1, 6), min_size=1, max_size=8),
    st.text("aensS", min_size=1, max_size=9),
    st.sampled_from(sorted(LINKING)),
    st.integers(1, 2),
    st.integers(1, 3),
)
def test_the_best_of_all_ways(counts, token, language, part_length, part_count):
    config = CompoundConfig(3, part_length, part_count)
    token = token[0] + token[1:].lower()
    assert CompoundSplitter(language, config, counts).parts(token) == best_way(token, counts, config, language)


def test_what_is_learned_is_what_all_texts_have():
    texts = [(("Server", "Zertifikat", "ab-c", "rar"), (2, 3, 9, 2)), (("Server", "server"), (1, 1))]
    learned = learn_compounds("de-AT", CompoundConfig(), texts)
    assert learned.counts == {"Server": 3, "server": 1, "Zertifikat": 3}
    assert learned.parts(SERVER) == ("Server", "Zertifikat")
    assert learn_compounds("de", CompoundConfig(), []).parts(SERVER) == (SERVER,)


def test_languages_that_write_them_apart_are_left_alone():
    assert CompoundConfig().applies_to("de-CH")
    assert CompoundConfig().applies_to("no")
    assert not CompoundConfig().applies_to("fr")
    assert not CompoundConfig(rarer_than=0).applies_to("de")


def test_settings_that_cannot_be():
    with pytest.raises(UserError, match=r"text\.compounds.part_length is 0: give a number from 1 to 100"):
        CompoundConfig(part_length=0)


TEXT = [("Das Server Zertifikat fehlt.", "The certificate is missing.")] * 3 + [
    ("Ein Serverzertifikat.", "A server certificate."),
    ("Nichts davon.", "None of it."),
]
CONFIG = TextConfig(case="none", clean=False)


def test_a_text_is_cut_as_its_lines_are(tmp_path):
    prepared = prepare_bitext(TEXT, CONFIG, ("de", "en"))
    words = prepared.source.vocabulary
    numbers = np.bincount(prepared.bitext.source.values, minlength=len(words))[len(words) - len(words.words) :]
    learned = learn_compounds("de", CONFIG.compounds, [(words.words, numbers.tolist())])
    ids, side = split_side(prepared.bitext.source, prepared.source, learned)
    assert [side.vocabulary.decode(row) for row in ids] == [side.preprocess(source) for source, _ in TEXT]
    assert side.vocabulary.decode(ids[3])[:3] == ["Ein", "Server", "Zertifikat"]
    assert SERVER not in side.vocabulary.id_of
    again = prepare_bitext(TEXT, CONFIG, ("de", "en"), sides=(side, prepared.target)).bitext.source
    assert again.values.tolist() == ids.values.tolist()
    assert again.offsets.tolist() == ids.offsets.tolist()
    side.save(tmp_path, "source")
    loaded = load_side(tmp_path, "source")
    assert loaded == side
    tokens, exact = loaded.read("“Serverzertifikat”")
    assert tokens[1:3] == exact[1:3] == ["Server", "Zertifikat"]
    assert len(tokens) == len(exact) == 4


def test_a_side_without_a_splitter_cuts_nothing(tmp_path):
    side = TextSide("de", CONFIG, Vocabulary(("Ein",)))
    side.save(tmp_path, "source")
    assert load_side(tmp_path, "source").preprocess(SERVER) == [SERVER]


def test_a_damaged_file_says_which_line(tmp_path):
    side = TextSide("de", CONFIG, Vocabulary(()), compounds=splitter())
    side.save(tmp_path, "source")
    (tmp_path / "source.compounds.tsv").write_text("Server\t9\nZertifikat\n")
    with pytest.raises(UserError, match=r"source\.compounds\.tsv' line 2 is not 'word<tab>count'"):
        load_side(tmp_path, "source")
