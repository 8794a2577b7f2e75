"""Languages: pinned sentences, exact round trips over Unicode, scripts without spaces, named segmenters."""

import gzip
import re
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jaxsmt.common.errors import UserError
from jaxsmt.text.encoding import TextConfig, TextSide, cutter
from jaxsmt.text.languages import segmenters
from jaxsmt.text.languages.codes import base_code
from jaxsmt.text.normalise import NormaliseConfig, make_normaliser
from jaxsmt.text.tokenising import JOINER, SPACER, Tokeniser, tokeniser_for
from jaxsmt.text.vocabulary import Vocabulary

SENTENCES = {
    "de": [
        ("Das ist z. B. am 3. Oktober der Fall.", "Das ist z. B. am 3. Oktober der Fall ."),
        ("Wie geht's dir am 3.?", "Wie geht 's dir am 3 . ?"),
        ("Er sagte »ja«, d.h. vgl. Abb. 2.", "Er sagte » ja « , d.h. vgl. Abb. 2 ."),
        ("„Nein“, rief Dr. Maier, „5 €!“", "„ Nein “ , rief Dr. Maier , „ 5 € ! “"),
    ],
    "de-CH": [("Er sagte «ja».", "Er sagte « ja » .")],
    "es": [
        ("¿Cómo está, Sr. Pérez? ¡Bien!", "¿ Cómo está , Sr. Pérez ? ¡ Bien !"),
        ("Dijo «hola» a la Dra. O'Higgins, p.ej. el n.º 5.", "Dijo « hola » a la Dra. O'Higgins , p.ej. el n.º 5 ."),
    ],
    "it": [
        ("L'arte dell'attesa: c'è un po' di tempo.", "L' arte dell' attesa : c' è un po' di tempo ."),
        ("Il sig. Rossi, cfr. pag. 3, va all'8° piano.", "Il sig. Rossi , cfr. pag. 3 , va all' 8 ° piano ."),
    ],
    "pt": [
        ("O Sr. Silva bebeu um copo d'água.", "O Sr. Silva bebeu um copo d' água ."),
        ("Fazê-lo-ia, p.ex. no séc. XX?", "Fazê-lo-ia , p.ex. no séc. XX ?"),
    ],
    "nl": [
        ("'s Avonds zag hij bijv. twee foto's in 't huis.", "'s Avonds zag hij bijv. twee foto's in 't huis ."),
        ("Dhr. Jansen komt uit 's-Gravenhage.", "Dhr. Jansen komt uit 's-Gravenhage ."),
    ],
    "pl": [
        ("Dn. 3. maja, tzn. np. w 1791 r. było źle.", "Dn . 3. maja , tzn. np. w 1791 r. było źle ."),
        ("Przemówienie Kennedy'ego m.in. o „wolności”.", "Przemówienie Kennedy'ego m.in. o „ wolności ” ."),
    ],
    "cs": [
        ("Dne 5. května, tj. např. v 10 % případů.", "Dne 5. května , tj. např. v 10 % případů ."),
        ("Řekl: „Ano“ a odešel.", "Řekl : „ Ano “ a odešel ."),
    ],
    "ru": [
        ("Жанна д'Арк родилась в 1412 г. и т.д.", "Жанна д'Арк родилась в 1412 г. и т.д."),
        ("Он сказал: «Да», см. рис. 3.", "Он сказал : « Да » , см. рис. 3 ."),
    ],
    "sv": [("EU:s regler, t.ex. den 3:e, gäller 50 % osv.", "EU:s regler , t.ex. den 3:e , gäller 50 % osv.")],
    "da": [("Den 3. maj kom ca. ti cd'er, »nye«, f.eks. nu.", "Den 3. maj kom ca. ti cd'er , » nye « , f.eks. nu .")],
    "nb": [("Den 3. mai kom dvs. «nye» tv'er for 5 €.", "Den 3. mai kom dvs. « nye » tv'er for 5 € .")],
    "no": [("Ca. 50 % bl.a. i Oslo.", "Ca. 50 % bl.a. i Oslo .")],
    "fi": [("EU:n ja USA:ssa vaa'an esim. 3. kerta.", "EU:n ja USA:ssa vaa'an esim. 3. kerta .")],
    "zh": [
        ("我爱你，用Python吧。", "我 爱 你 ， 用 Python 吧 。"),
        ("使用 Python 语言 3.5版，50%的人", "使 ￭用 Python 语￭ ￭言 3.5 版 ， 50 % 的 人"),
    ],
    "ja": [("「東京」へ行くカー。", "「 東 京 」 へ 行 く カ ー 。")],
    "th": [("ฉันรักน้ำ 2 แก้ว", "ฉั น รั ก น้ ￭ำ 2 แ￭ ก้ ว")],
}  # fmt: skip
CASES = [(language, *pair) for language, pairs in SENTENCES.items() for pair in pairs]
LANGUAGES = [*SENTENCES, "xx"]


@pytest.mark.parametrize(("language", "text", "tokens"), CASES)
def test_sentences(language, text, tokens):
    tokeniser = Tokeniser(language)
    found = " ".join(tokeniser.tokenise(text))
    assert found == tokens
    assert tokeniser.detokenise(found.split()) == text


def test_a_language_without_rules_is_cut_at_punctuation():
    assert Tokeniser("xx").tokenise("Dr. O'Hara (3. v.)") == [
        "Dr",
        ".",
        "O",
        "￭'￭",
        "Hara",
        "(",
        "3",
        ".",
        "v",
        ".",
        ")",
    ]


def test_codes_of_countries_and_other_names():
    assert [base_code(tag) for tag in ("pt_BR", "zh-Hant", "no", "nn-NO", "DE")] == ["pt", "zh", "nb", "nb", "de"]


def test_the_end_of_a_line_is_no_ordinal():
    assert Tokeniser("de").tokenise("am 3.") == ["am", "3", "."]
    assert Tokeniser("de").tokenise("im Jahr 2001. Danach") == ["im", "Jahr", "2001", ".", "Danach"]


def test_spaces_are_marked_where_there_are_none_between_words():
    """The same character is the same token at the start, inside and at the end of a line."""
    tokeniser = Tokeniser("zh")
    assert tokeniser.tokenise("我我我") == ["我", "我", "我"]
    assert tokeniser.tokenise("我 我") == ["￭我", "我￭"]
    assert tokeniser.detokenise(["我", "看", "Python", "书", "。"]) == "我看Python书。"


def test_addresses_and_directives_end_where_such_a_script_begins():
    tokens = Tokeniser("zh").tokenise("请看http://a.org/b是%s的www.a.org。")
    assert [token for token in tokens if token.isascii() or JOINER in token] == ["http://a.org/b", "%s", "www.a.org"]


everything = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters=JOINER + SPACER), min_size=1, max_size=8),
        st.text("ab'’\".,-!?()[]%/&;:_$0°«»‹›“”„‘‚…€3\u0301我あกำ。", min_size=1, max_size=12),
        st.sampled_from(
            ["dell'arte", "po'", "'s", "3.", "z.", "EU:s", "我 我", "น้ำ", "カー", "%s的", "http://x.y/路", "7:e"]
        ),
    )
)


@pytest.mark.parametrize("language", LANGUAGES)
@settings(deadline=None, max_examples=40)
@given(pieces=everything)
@example(pieces=["3.", "'", "…", "我", "a", "我a我"])
def test_round_trip_is_exact(language, pieces):
    for normalise in (NormaliseConfig(), NormaliseConfig(unicode="none", quotes=False, spaces=False)):
        text = " ".join(make_normaliser(normalise)(" ".join(pieces)).split())
        tokeniser = tokeniser_for(language)
        tokens = tokeniser.tokenise(text)
        assert tokeniser.detokenise(tokens) == text
        assert all(token and not re.search(r"\s", token) for token in tokens)
        assert "".join(map(tokeniser.plain, tokens)) == "".join(text.split())


@pytest.mark.parametrize("language", ["de", "it", "nl", "sv", "zh"])
@pytest.mark.parametrize("unit", ["a'", "a:", "3. ", "我", "我 ", "น้", "a-'", "«", "d'"])
def test_long_lines_take_linear_time(language, unit):
    text = unit * 20_000
    tokeniser = Tokeniser(language)
    assert tokeniser.detokenise(tokeniser.tokenise(text)) == text.strip()


@pytest.mark.parametrize("language", ["de", "en"])
def test_real_german_text_comes_back(real_data, language):
    tokeniser = tokeniser_for(language)
    for domain in sorted((real_data / "de-en").iterdir()):
        with gzip.open(domain / f"test.{language}.gz", "rt", encoding="utf-8", newline="\n") as stream:
            for line in stream:
                assert tokeniser.detokenise(tokeniser.tokenise(line)) == " ".join(line.split())


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """A module of the working folder with functions that cut in twos, and lose text."""
    code = "def twos(x):\n    return [x[i : i + 2] for i in range(0, len(x), 2)]\n\ndef loses(x):\n    return x[:1]\n"
    (tmp_path / "own_cutter.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(segmenters, "_allowed", set())
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    yield "own_cutter"
    segmenters.load_segmenter.cache_clear()
    tokeniser_for.cache_clear()
    sys.modules.pop("own_cutter", None)


def test_a_segmenter_cuts_runs_of_letters(own_module):
    segmenters.allow([f"{own_module}:twos"])
    cut = cutter("zh-TW", TextConfig(segmenters={"zh": f"{own_module}:twos"}))
    assert cut("我爱你们，用Python吧。 一 二三") == ["我爱", "你们", "，", "用", "Python", "吧", "￭。", "␣一", "二三￭"]
    side = TextSide("zh", TextConfig(case="none", segmenters={"zh": f"{own_module}:twos"}), Vocabulary(()))
    for text in ("我爱你们，用Python吧。", "一 二三 四"):
        assert side.postprocess(side.preprocess(text)) == text


def test_a_model_does_not_decide_what_runs(own_module):
    with pytest.raises(UserError, match=r"if you trust it, add segmenters=\['own_cutter:twos'\]"):
        tokeniser_for("zh", f"{own_module}:twos")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_cutter:no", "cannot be loaded"),
        ("nowhere:cut", "cannot be loaded"),
        ("own_cutter:loses", "must return words"),
    ],
)
def test_a_segmenter_that_does_not_work_is_named(own_module, name, message):
    segmenters.allow([name])
    with pytest.raises(UserError, match=f"segmenter '{name}' .*{message}"):
        tokeniser_for("ja", name).tokenise("東京都")


def test_what_cannot_be_a_segmenter():
    with pytest.raises(UserError, match="written with spaces"):
        TextConfig(segmenters={"de": "a:b"})
    with pytest.raises(UserError, match="module:function"):
        TextConfig(segmenters={"zh": "jieba"})
