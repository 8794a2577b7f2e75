"""Sides that are swapped or alike are found; right ones never are, however little or odd the text."""

import gzip
from itertools import combinations, islice, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxsmt.common.errors import UserError
from jaxsmt.demo import generate_demo
from jaxsmt.text.checking.language import (
    ALIKE,
    LEAST,
    SWAPPED,
    SideEvidence,
    can_be_told_apart,
    mixed_up,
    refuse_mixed_up,
    side_evidence,
)
from jaxsmt.text.languages.function_words import function_words, listed_languages

TEXTS = {
    "en": "We were told that they would not be here, but this is what we have to do with it before they come.",
    "fr": "On nous a dit que la réunion est dans une salle du palais, mais ce n'est pas celle qui est sur le plan.",
    "de": "Man hat uns gesagt, dass die Sitzung in einem Saal des Schlosses ist, aber das ist nicht der auf dem Plan.",
    "es": "Nos dijeron que la reunión es en una sala del palacio, pero no es la que está en el plano de los jardines.",
    "it": "Ci hanno detto che la riunione è in una sala del palazzo, ma non è quella che è sulla pianta della città.",
    "pt": "Disseram que a reunião é em uma sala do palácio, mas não é aquela que está na planta dos jardins da cidade.",
    "nl": "Ze hebben ons gezegd dat de vergadering in een zaal van het huis is, maar dat is niet de zaal op het plan.",
    "pl": "Powiedziano nam, że spotkanie jest w sali pałacu, ale nie jest ta, która jest na planie i się go nie zna.",
    "cs": "Řekli nám, že schůze je v sále zámku, ale není to ten, který je na plánu, protože se pro to nehodí.",
    "ru": "Нам сказали, что собрание в зале дворца, но это не тот, что на плане, и мы не знаем, где он.",
    "sv": "De har sagt att mötet är i en sal på slottet, men det är inte den som är på kartan av staden, och så.",
    "da": "De har sagt at mødet er i en sal på slottet, men det er ikke den der er på kortet af byen, hvor jeg blev.",
    "nb": "De har sagt at møtet er i en sal på slottet, men det er ikke den som er på kartet av byen, hvor jeg ble.",
    "fi": "Meille sanottiin, että kokous on linnan salissa, mutta se ei ole se, joka on kartalla, ja niin se voi olla.",
    "zh": "我们被告知会议在宫殿的一个大厅里，但这不是地图上的那个，我们还不知道它在哪里。",
    "ja": "会議は宮殿の広間で行われると言われましたが、それは地図にあるものではありません。",
    "th": "เราได้รับแจ้งว่าการประชุมอยู่ในห้องโถง แต่ไม่ใช่ห้องที่อยู่บนแผนที่",
    "el": "Μας είπαν ότι η συνάντηση είναι σε μια αίθουσα, αλλά δεν είναι αυτή που είναι στον χάρτη.",
}
CLOSE = {"da", "nb"}  # told apart by a few words only


def verdict(source, target, languages):
    sides = [side_evidence([text] * 5, languages) for text in (source, target)]
    return mixed_up(*sides)


@pytest.mark.parametrize("languages", list(permutations(TEXTS, 2)), ids="-".join)
def test_every_pair_of_languages(languages):
    source, target = languages
    assert can_be_told_apart(languages)
    assert verdict(TEXTS[source], TEXTS[target], languages) is None
    if set(languages) != CLOSE:
        assert verdict(TEXTS[target], TEXTS[source], languages) == SWAPPED
        assert verdict(TEXTS[source], TEXTS[source], languages) == ALIKE
        assert verdict(TEXTS[target], TEXTS[target], languages) == ALIKE


def test_lists_are_words_of_their_language():
    for language in listed_languages():
        words = function_words(language)
        assert len(words) >= 50
        assert all(word == word.lower() and word.isalpha() for word in words)
    for one, other in combinations(listed_languages(), 2):
        assert min(len(function_words(one) - function_words(other)), len(function_words(other))) >= 15


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_side_looks_like_the_language_that_has_three_times_the_words(source, target):
    found = SideEvidence(source, target, 10 * (source + target) // 2).looks_like
    assert SideEvidence(source, target, 13 * (source + target)).looks_like is None
    assert (found == 0) == (source >= LEAST and source >= 3 * target)
    assert (found == 1) == (target >= LEAST and target >= 3 * source)


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=8))
def test_a_few_odd_lines_pass(pairs):
    refuse_mixed_up(pairs, ("fr", "en"), "corpus.dev.x", ["a", "b"])


@pytest.mark.parametrize(
    "pairs",
    [
        [("Fichier", "File"), ("OK", "OK"), ("%s: %d", "%s: %d"), ("Annuler", "Cancel")] * 50,
        [("int main(void) { return 0; }", "int main(void) { return 0; }")] * 15,
        [("x = a if b else c", "x = a if b else c"), ("Quitter le programme", "Quit the program")] * 9,
        [],
    ],
)
def test_short_strings_and_code_pass(pairs):
    refuse_mixed_up(pairs, ("fr", "en"), "corpus.dev.x", ["a", "b"])


def test_languages_that_are_the_same_or_not_known_pass():
    pairs = [(TEXTS["en"], TEXTS["fr"])] * 20
    refuse_mixed_up(pairs, ("en-GB", "en-US"), "k", ["a", "b"])
    refuse_mixed_up(pairs, ("xx", "en"), "k", ["a", "b"])
    assert not can_be_told_apart(("xx", "yy"))
    assert can_be_told_apart(("uk", "en"))


def test_the_sentence_names_the_files_and_says_what_to_do():
    right, wrong = (TEXTS["fr"], TEXTS["en"]), (TEXTS["en"], TEXTS["fr"])
    refuse_mixed_up([right] * 9, ("fr", "en"), "corpus.dev.x", ["a.fr", "a.en"])
    with pytest.raises(UserError) as found:
        refuse_mixed_up([wrong] * 9, ("fr", "en"), "corpus.dev.x", ["a.fr", "a.en"])
    assert str(found.value) == (
        "corpus.dev.x: 'a.fr' should be 'fr' and looks like 'en', 'a.en' should be 'en' and looks like 'fr': swap "
        "the two files, or source and target language, or set corpus.language_check=false if all is as it should be"
    )
    with pytest.raises(UserError, match=r"the source of 'm.tmx' should be 'fr' and looks like 'en'.*msgid_is"):
        refuse_mixed_up([(TEXTS["en"], TEXTS["en"] + " ")] * 9, ("fr", "en"), "corpus.dev.x", ["m.tmx"])


def test_copies_are_found_in_any_language():
    lines = [f"ez egy {word} mondat {word} és vége" for word in "abcdefghijklmnopqrstuvwxyz"]
    refuse_mixed_up([(line, line[::-1]) for line in lines], ("hu", "xx"), "k", ["a", "b"])
    with pytest.raises(UserError, match="26 of the first 26 longer lines are the same on both sides of 'a' and 'b'"):
        refuse_mixed_up([(line, line) for line in lines], ("hu", "xx"), "k", ["a", "b"])
    refuse_mixed_up([(line, line) for line in lines[:10]], ("hu", "xx"), "k", ["a", "b"])


@pytest.mark.parametrize("number", [8, 40, 10**6])
def test_the_demo_passes_and_is_caught_when_swapped(number):
    for splits in generate_demo().values():
        for pairs in splits.values():
            refuse_mixed_up(pairs[:number], ("fr", "en"), "k", ["a", "b"])
            if number >= 40:
                with pytest.raises(UserError, match="swap"):
                    refuse_mixed_up(pairs[:number], ("en", "fr"), "k", ["a", "b"])


@pytest.mark.parametrize("number", [50, 2000])
@pytest.mark.parametrize("languages", [("fr", "en"), ("de", "en")], ids="-".join)
def test_real_text_of_every_domain(real_data, languages, number):
    """All sets in both directions: no false alarm; swapped and doubled sides are caught, of 50 lines as of 2,000."""
    for folder in sorted((real_data / "-".join(languages)).iterdir()):
        for split in ("train", "dev", "test"):
            sides = []
            for language in languages:
                with gzip.open(folder / f"{split}.{language}.gz", "rt", encoding="utf-8", newline="\n") as stream:
                    sides.append(list(islice(stream, number)))
            for order in (1, -1):
                codes = languages[::order]
                source, target = (side_evidence(lines, codes) for lines in sides[::order])
                assert mixed_up(source, target) is None, (folder, split)
                assert mixed_up(target, source) == SWAPPED, (folder, split)
                assert mixed_up(source, source) == mixed_up(target, target) == ALIKE, (folder, split)
