"""Typographic marks: made plain for matching, put back as the target text has them."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.stages.texts import merge_sides
from jaxsmt.text.encoding import TextConfig, load_side, written_words
from jaxsmt.text.normalise import NormaliseConfig, make_normaliser
from jaxsmt.text.preparing import prepare_bitext
from jaxsmt.text.typography import Typography, TypographyCounter, load_typography, merge_typographies, uses

NOTHING = NormaliseConfig(unicode="none", spaces=False, quotes=False)
ALL = NormaliseConfig(guillemets=True, dashes=True)
CONFIGS = [NormaliseConfig(), NOTHING, ALL, NormaliseConfig(unicode="NFKC", dashes=True)]
CURLY = [
    "I don’t know what “this” is.",
    "“Yes,” said the boys’ teacher (“really”), “it’s so – or isn’t it?”",
    "She said: ‘That’s all’, and left.",
    "It’s 1\u202f000\u00a0€.",
]
GERMAN = ["Er sagte: „Das geht’s.“", "„Ja“, sagte sie, „nein“.", "Das ist ‚gut‘."]
FRENCH = ["Elle dit\u00a0: «\u202fC’est l’ami.\u202f»", "«\u202fOui\u202f!\u202f» et «\u202fnon\u202f»", "Quoi\u202f?"]
odd_text = st.text(st.sampled_from("ab1 .,('\"-’‘“”„«»–‐\u00a0\u202f\t\u200b\u0301é￭␣\x07\u2028"))


DEFAULT = NormaliseConfig()


def learned(lines, config=DEFAULT, name="x", times=1):
    counter = TypographyCounter(make_normaliser(config))
    for line in lines * times:
        counter.add(line)
    return Typography({name: dict(counter.counts)})


@pytest.mark.parametrize("config", CONFIGS)
@given(odd_text)
def test_visible_lines_are_the_normalised_ones_place_by_place(config, text):
    normaliser = make_normaliser(config)
    visible = normaliser.visible(text)
    plain = normaliser.plain(visible)
    assert len(plain) == len(visible)
    assert plain == " ".join(normaliser(text).split())
    assert normaliser.visible(visible) == visible


@pytest.mark.parametrize("times", [1, 10])
@pytest.mark.parametrize("lines", [CURLY, GERMAN, FRENCH])
@pytest.mark.parametrize("config", [NormaliseConfig(), ALL])
def test_a_consistent_text_comes_back_exactly(lines, config, times):
    normaliser = make_normaliser(config)
    typography = learned(lines, config, times=times)
    for line in lines:
        assert "".join(typography.restore(normaliser.plain(line), "x")) == line


def test_new_sentences_get_the_habits():
    assert "".join(learned(CURLY).restore('"It\'s a dog," they said. "Isn\'t it?"')) == (
        "“It’s a dog,” they said. “Isn’t it?”"
    )
    german = "".join(learned(GERMAN).restore('Sie sagte: "Das Haus", er: "Die Maus".'))
    assert german == "Sie sagte: „Das Haus“, er: „Die Maus“."
    french = "".join(learned(FRENCH, ALL).restore('Il dit : " L\'amie ! "'))
    assert french == "Il dit\u00a0: «\u202fL’amie\u202f!\u202f»"


def test_the_most_frequent_form_of_a_use_wins_and_of_equals_the_plain_one():
    assert "".join(learned(["it’s", "it's", "it’s"]).restore("it's")) == "it’s"
    assert "".join(learned(["it’s", "it's"]).restore("it's")) == "it's"
    # one use says nothing about another
    assert "".join(learned(["it’s"]).restore('"it\'s"')) == '"it’s"'
    # ’tis begins with an apostrophe, other words with a quote
    mixed = learned(["’tis so", "‘so’ it", "‘as’ it", "‘no’ it"], times=6)
    assert "".join(mixed.restore("'tis 'it' so")) == "’tis ‘it’ so"


def test_the_other_language_tells_mixed_habits_apart():
    counter = TypographyCounter(make_normaliser(NormaliseConfig()))
    for _ in range(9):
        counter.add("the “file” is", "die „Datei“ ist")
        counter.add('echo "file"', 'echo "Datei"')
    typography = Typography({"x": dict(counter.counts)})
    assert "".join(typography.restore('a "dog"', "x", "ein „Hund“")) == "a “dog”"
    assert "".join(typography.restore('a "dog"', "x", 'ein "Hund"')) == 'a "dog"'


def test_components_keep_their_habits_and_share_what_they_lack():
    both = merge_typographies([learned(["it’s “so”"], name="a"), None, learned(["it's", "it's"], name="b")])
    assert "".join(both.restore('it\'s "x"', "a")) == "it’s “x”"
    assert "".join(both.restore('it\'s "x"', "b")) == "it's “x”"
    assert "".join(both.restore("it's")) == "it's"  # two against one
    assert "".join(both.restore("it's", "unheard-of")) == "it's"
    assert merge_typographies([both, both]).habits["b"] == dict.fromkeys(both.habits["b"], 4)


@given(odd_text)
def test_nothing_learned_nothing_changed(text):
    plain = make_normaliser(NormaliseConfig()).plain(text)
    assert "".join(Typography().restore(plain, "x", text)) == plain
    assert [plain[place] for place, _ in uses(plain)] == [use.mark for _, use in uses(plain)]


def test_saved_and_loaded(tmp_path):
    typography = merge_typographies([learned(CURLY, name="law"), learned(FRENCH, name="game")])
    typography.save(tmp_path / "t.tsv")
    assert load_typography(tmp_path / "t.tsv") == typography
    (tmp_path / "t.tsv").write_text("law\tmany\t2019\n", encoding="utf-8")
    with pytest.raises(UserError, match="line 1 is not a count of a use: make it again"):
        load_typography(tmp_path / "t.tsv")


PAIRS = [("Je ne sais pas.", "I don’t know."), ("« C’est l’ami »", "“It’s the friend”"), ("Oui", "Yes – no")]


@pytest.mark.parametrize("case", ["none", "lower", "true"])
def test_sides_write_what_they_read(tmp_path, case):
    target = prepare_bitext(PAIRS, TextConfig(case=case), ("fr", "en"), name="law").target
    target.save(tmp_path, "target")
    assert load_side(tmp_path, "target") == target
    for source, text in PAIRS:
        tokens = target.preprocess(text)
        assert not {"’", "“", "”"} & set("".join(tokens))
        assert target.postprocess(tokens, source, "law") == text
    assert target.postprocess(target.preprocess("Don't"), None, "law", [True, True]) == "Don't"


def test_one_component_straight_one_curly():
    straight = [(source, text.replace("’", "'")) for source, text in PAIRS]
    sides = [prepare_bitext(p, TextConfig(), ("fr", "en"), name=n).target for p, n in ((PAIRS, "a"), (straight, "b"))]
    merged = merge_sides(sides)
    assert [merged.postprocess(["it", "'s"], "Ça", name) for name in "ab"] == ["It’s", "It's"]


def test_exact_tokens():
    source = prepare_bitext(PAIRS, TextConfig(case="true"), ("fr", "en")).source
    for text in ("L’Île d'O’Neill : “oui”, « C’EST »", "a ￭ ␣’x b’", "", "rien"):
        exact, tokens = source.exact_tokens(text), source.preprocess(text)
        assert list(map(source.matched, exact)) == tokens
    exact = source.exact_tokens("Voir l’ami et “l'île”")
    assert exact == ["Voir", "l’", "ami", "et", "“", "l'", "île", "”"]
    side = dataclasses.replace(source, config=TextConfig(case="none"), typography=None)
    assert side.postprocess(exact) == "Voir l’ami et “l'île”"
    # a quote that stands alone goes on doing so
    assert side.postprocess(side.exact_tokens("a “ b ” c")) == "a “ b ” c"


@given(odd_text.map(lambda text: text.replace("\x07", "")))
def test_tokenised_and_as_is_change_nothing(text):
    tokenised = TextConfig(tokenise=False, case="none", normalise=NOTHING, typography=False, clean=False)
    prepared = prepare_bitext([("a", text)], tokenised, ("fr", "en"))
    assert prepared.target.typography is None
    assert prepared.target.postprocess(prepared.target.preprocess(text)).split(" ") == (
        [token for token in text.replace("\t", " ").split(" ") if token] or [""]
    )
    asis = prepare_bitext([("a", text)], TextConfig(case="none", normalise=NOTHING, clean=False), ("fr", "en")).target
    again = asis.postprocess(asis.preprocess(text), "a", "bitext")
    assert again.split() == text.translate({ord("￭"): "■", ord("␣"): "_"}).split()


def test_copied_words():
    tokens, exact = ["O", "￭'￭", "Neill", '"￭', "x"], ["O", "￭’￭", "Neill", "“", "x"]
    # copied as a whole, or with an apostrophe that the model knows, or in another order
    assert written_words(tokens[:3], [-1, -2, -3], tokens, exact, 9) == (exact[:3], [True] * 3)
    assert written_words(tokens[:3], [-1, 7, -3], tokens, exact, 9) == (exact[:3], [True] * 3)
    assert written_words(["Neill", "￭'￭", "O"], [-3, 7, -1], tokens, exact, 9)[0] == ["Neill", "￭'￭", "O"]
    # quotes around a copied word are ours; words of a glossary are as they are
    assert written_words(['"￭', "x", "it’s"], [-4, -5, 9], tokens, exact, 9) == (
        ['"￭', "x", "it’s"],
        [False, True, True],
    )
    assert written_words([], [], [], [], 9) == ([], [])
