"""Rare words: rewritten as stated, alike in files and in single lines, and not at all where nobody asked."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsmt.common.errors import UserError
from jaxsmt.text.encoding import TextConfig, TextSide, load_side
from jaxsmt.text.languages.inflections import has_stems, may_inflect, stem_of
from jaxsmt.text.languages.rare_words import RareWordsConfig, learn_rare_words
from jaxsmt.text.preparing import prepare_bitext, rewritten_side
from jaxsmt.text.vocabulary import Vocabulary

GERMAN = {
    "Server": 9, "server": 1, "Zertifikat": 7, "Daten": 20, "Bank": 4, "Untertitel": 9, "unter": 9, "Titels": 9,
    "fehlt": 3,
}  # fmt: skip
FRENCH = {
    "combattons": 4, "offrir": 9, "offrira": 1, "les": 90, "lui": 40, "va": 9, "il": 50, "t": 9, "Pierre": 9,
    "Jean": 9, "morts-vivants": 5, "morts": 9, "vivants": 9, "trouver": 1, "trouve": 2,
}  # fmt: skip
SERVER = "Serverzertifikat"


def learned(counts, language, **config):
    return learn_rare_words(language, RareWordsConfig(**config), [(list(counts), list(counts.values()))])


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("offrirai", "offrir"),
        ("offrira", "offrir"),  # seen, but rarely
        ("offrir", "offrir"),
        ("trouverait", "trouve"),  # the most frequent of rare forms
        ("combattons-les", "combattons les"),
        ("Combattons-les", "combattons les"),
        ("offrirai-lui", "offrir lui"),
        ("va-t-il", "va il"),
        ("va-t", "va t"),  # silent between two parts alone
        ("morts-vivants", "morts-vivants"),  # frequent
        ("mort-vivants", "morts vivants"),
        ("Jean-Pierre", "Jean-Pierre"),  # a name
        ("les-xyz", "les-xyz"),
        ("les-", "les-"),
        ("-lui", "-lui"),
        ("-", "-"),
        ("", ""),
        ("Offrirai", "Offrirai"),  # a name, it seems
        ("xyz", "xyz"),
        ("offr1rai", "offr1rai"),
        ("lui", "lui"),
        ("va-va-va-va-va", "va-va-va-va-va"),
    ],
)
def test_french(token, words):
    assert learned(FRENCH, "fr-CA").rewritten(token) == tuple(words.split(" "))


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (SERVER, "Server Zertifikat"),
        ("Zertifikats", "Zertifikat"),
        ("Untertitels", "Untertitel"),  # no compound of "unter" and "Titels", for another form is frequent
        ("Daten-Server", "Daten Server"),
        ("DATEN-Server", "Daten Server"),
    ],
)
def test_german(token, words):
    assert learned(GERMAN, "de").rewritten(token) == tuple(words.split(" "))


def test_limits():
    assert learned({**GERMAN, SERVER: 3, SERVER.lower(): 2}, "de").rewritten(SERVER) == (SERVER,)
    assert learned({**GERMAN, SERVER: 4}, "de").rewritten(SERVER) == ("Server", "Zertifikat")
    assert learned(GERMAN, "de", compounds=0).rewritten(SERVER) == (SERVER,)
    assert learned({**FRENCH, "offrira": 2}, "fr").rewritten("offrira") == ("offrir",)
    assert learned({**FRENCH, "offrira": 3}, "fr").rewritten("offrira") == ("offrira",)
    assert learned(FRENCH, "fr", forms=0).rewritten("offrirai") == ("offrirai",)
    assert learned(FRENCH, "fr", forms=0).rewritten("offrirai-lui") == ("offrirai-lui",)
    assert learned(FRENCH, "fr", hyphens=0).rewritten("combattons-les") == ("combattons-les",)
    assert learned(FRENCH, "fr", part_count=5).rewritten("combattons-les") == ("combattons-les",)
    assert learned(FRENCH, "eu").rewritten("offrirai") == ("offrirai",)  # no rules
    assert learned(FRENCH, "eu").rewritten("combattons-les") == ("combattons", "les")
    assert learned({}, "de").rewritten(SERVER) == (SERVER,)
    assert learned(FRENCH, "fr").rewrite(["va-t-il", "offrirai"]) == ["va", "il", "offrir"]


WORDS = st.text("aers-S", min_size=1, max_size=8)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(WORDS, st.integers(1, 6), max_size=12), WORDS, st.sampled_from(["fr", "de", "en", "eu"]))
def test_what_stands_for_a_word_is_known_and_no_rarer(counts, token, language):
    found = learned(counts, language, part_length=1)
    words = found.rewritten(token)
    totals = {word: sum(n for form, n in counts.items() if form.lower() == word) for word in map(str.lower, counts)}
    assert all(words)
    if words != (token,):
        own = totals.get(token.lower(), 0)
        assert own < found.config.most
        assert all(word in counts for word in words)
        least = found.config.part_count if len(words) > 1 else own
        assert all(totals[word.lower()] >= least for word in words)


def test_what_is_learned_is_what_all_texts_have():
    texts = [(("Server", "Zertifikat", "ab-c", "x1", "rar"), (2, 3, 9, 9, 2)), (("Server", "server"), (1, 1))]
    found = learn_rare_words("de-AT", RareWordsConfig(), texts)
    assert found.counts == {"Server": 3, "server": 1, "Zertifikat": 3, "ab-c": 9}
    assert found.usual == {stem_of("server", "de"): "Server", stem_of("Zertifikat", "de"): "Zertifikat"}


def test_stems():
    assert stem_of("Offrirai", "fr") == stem_of("offrir", "fr-CA")
    assert has_stems("no")
    assert not has_stems("zh")
    assert may_inflect("offrirai", "fr")
    assert not may_inflect("les", "fr")
    assert not may_inflect("Paris", "fr")
    assert may_inflect("Häuser", "de")
    assert not may_inflect("HTTPS", "de")


def test_settings_that_cannot_be():
    with pytest.raises(UserError, match=r"text\.rare_words.part_length is 0: give a number from 1 to 100"):
        RareWordsConfig(part_length=0)


TEXT = [("Das Server Zertifikat fehlt.", "The certificate is missing.")] * 3 + [
    ("Ein Serverzertifikat.", "A server certificate."),
    ("Die Zertifikats-Server fehlten.", "The certificate servers were missing."),
    ("Nichts davon.", "None of it."),
]
CONFIG = TextConfig(case="none", clean=False)


def test_a_text_is_rewritten_as_its_lines_are(tmp_path):
    prepared = prepare_bitext(TEXT, CONFIG, ("de", "en"))
    words = prepared.source.vocabulary
    numbers = np.bincount(prepared.bitext.source.values, minlength=len(words))[len(words) - len(words.words) :]
    found = learn_rare_words("de", CONFIG.rare_words, [(words.words, numbers.tolist())])
    ids, side, origins = rewritten_side(prepared.bitext.source, prepared.source, found)
    assert [side.vocabulary.decode(row) for row in ids] == [side.preprocess(source) for source, _ in TEXT]
    assert side.vocabulary.decode(ids[3])[:3] == ["Ein", "Server", "Zertifikat"]
    assert side.vocabulary.decode(ids[4])[1:4] == ["Zertifikat", "Server", "fehlt"]
    assert SERVER not in side.vocabulary.id_of
    assert origins[ids.offsets[3] : ids.offsets[5]].tolist() == [0, 1, 1, 2, 0, 1, 1, 2, 3]
    assert len(origins) == len(ids.values)
    again = prepare_bitext(TEXT, CONFIG, ("de", "en"), sides=(side, prepared.target))
    assert again.bitext.source.values.tolist() == ids.values.tolist()
    assert again.bitext.source.offsets.tolist() == ids.offsets.tolist()
    assert again.origins.tolist() == origins.tolist()
    side.save(tmp_path, "source")
    loaded = load_side(tmp_path, "source")
    assert loaded == side
    tokens, exact, origins = loaded.read("“Serverzertifikat fehlten”")
    assert origins == [0, 1, 1, 2, 3]
    assert [loaded.plain(word) for word in loaded.cut_words("“Serverzertifikat fehlten”")][1:3] == [SERVER, "fehlten"]
    assert tokens[1:4] == ["Server", "Zertifikat", "fehlt"]
    assert exact[1:4] == ["Server", "Zertifikat", "fehlten"]
    assert len(tokens) == len(exact) == 5


def test_a_side_that_knows_none_rewrites_nothing(tmp_path):
    side = TextSide("de", CONFIG, Vocabulary(("Ein",)))
    side.save(tmp_path, "source")
    assert load_side(tmp_path, "source").preprocess(SERVER) == [SERVER]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("words", "Server\t9\nZertifikat\n", r"source\.words\.tsv' line 2 is not 'word<tab>count'"),
        ("stems", "serv\tServer\nzert\t\n", r"source\.stems\.tsv' line 2 is not 'stem<tab>form'"),
    ],
)
def test_a_damaged_file_says_which_line(file, text, said, tmp_path):
    side = dataclasses.replace(TextSide("de", CONFIG, Vocabulary(())), rare_words=learned(GERMAN, "de"))
    side.save(tmp_path, "source")
    (tmp_path / f"source.{file}.tsv").write_text(text)
    with pytest.raises(UserError, match=said):
        load_side(tmp_path, "source")
