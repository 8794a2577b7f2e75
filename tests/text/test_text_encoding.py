"""From raw pairs to ids and back."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxsmt.common.errors import UserError
from jaxsmt.text.encoding import TextConfig, load_side
from jaxsmt.text.preparing import prepare_bitext
from jaxsmt.text.reading import BitextSource, read_bitext
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN

PAIRS = [
    ("Le chat dort, l’ami !", "The cat sleeps, friend!"),
    ("", "nothing"),
    ("Il voit le chat.", "He sees the cat."),
    ("Python aime le chat.", "The cat likes Python."),
    ("mot " * 9_000, "word"),
    ("a b c d e f g h i j", "a"),
]


def tokens_of(prepared, side: str) -> list[str]:
    rows = getattr(prepared.bitext, side)
    return [" ".join(getattr(prepared, side).vocabulary.decode(row)) for row in (rows[r] for r in range(len(rows)))]


def test_lowercased():
    prepared = prepare_bitext(PAIRS, TextConfig(), ("fr", "en"))
    assert tokens_of(prepared, "source") == ["le chat dort , l' ami !", "il voit le chat .", "python aime le chat ."]
    assert tokens_of(prepared, "target") == ["the cat sleeps , friend !", "he sees the cat .", "the cat likes python ."]
    assert prepared.rows.tolist() == [0, 2, 3]
    table = prepared.counts.table
    assert (table["read"], table["empty"], table["too long"], table["length ratio"], table["kept"]) == (6, 1, 1, 1, 3)
    assert prepared.bitext.source.values.dtype == np.int32
    # the most frequent first, equals in code-point order
    assert prepared.target.vocabulary.words[:3] == ("cat", "the", ".")


def test_truecased():
    prepared = prepare_bitext(PAIRS, TextConfig(case="true"), ("fr", "en"))
    assert tokens_of(prepared, "target") == ["the cat sleeps , friend !", "He sees the cat .", "the cat likes Python ."]
    assert "The" not in prepared.target.vocabulary.words


def test_case_kept_and_tokenised_already():
    config = TextConfig(case="none", tokenise=False)
    prepared = prepare_bitext([("Le chat , l'ami", "The cat ,friend")], config, ("fr", "en"))
    assert tokens_of(prepared, "source") == ["Le chat , l'ami"]
    assert prepared.source.postprocess(["a", ",", "b"]) == "a , b"


def test_duplicates():
    pairs = [("a b", "c"), ("a  b", "c"), ("a b", "d")]
    prepared = prepare_bitext(pairs, TextConfig(remove_duplicates=True), ("fr", "en"))
    assert prepared.rows.tolist() == [0, 2]
    assert prepared.counts.table["duplicate"] == 1


def test_development_text_keeps_every_pair_and_the_models_ids():
    model = prepare_bitext(PAIRS, TextConfig(case="true"), ("fr", "en"))
    config = TextConfig(case="true", clean=False)
    dev = prepare_bitext([("", "The dog"), ("Le x", "")], config, ("fr", "en"), (model.source, model.target))
    assert len(dev.bitext) == 2
    assert dev.target == model.target
    assert dev.bitext.target[0].tolist() == [model.target.vocabulary.id_of["the"], UNKNOWN]
    assert dev.bitext.source.lengths.tolist() == [0, 2]


@pytest.mark.parametrize("case", ["none", "lower", "true"])
def test_no_pairs(case):
    prepared = prepare_bitext([], TextConfig(case=case), ("fr", "en"))
    assert len(prepared.bitext) == 0
    assert len(prepared.source.vocabulary) == NUM_RESERVED


words = st.sampled_from(
    ["The", "the", "THE", "cat", "Cat", ".", "!", "(", '"', "l'ami", "don't", "Python", "\xa0", "’", "été", "É"]
)
lines = st.lists(words, max_size=8).map(" ".join)


@pytest.mark.parametrize("case", ["none", "lower", "true"])
@settings(deadline=None)
@given(st.lists(st.tuples(lines, lines), max_size=6))
def test_many_lines_equal_single_lines(case, pairs):
    prepared = prepare_bitext(pairs, TextConfig(case=case, clean=False), ("fr", "en"))
    for side, column in (("source", 0), ("target", 1)):
        model, rows = getattr(prepared, side), getattr(prepared.bitext, side)
        texts = [pair[column] for pair in pairs]
        again = model.encode_lines(texts)
        for row, text in enumerate(texts):
            assert rows[row].tolist() == model.vocabulary.encode(model.preprocess(text)) == again[row].tolist()
        assert UNKNOWN not in rows.values
        assert len(set(rows.values.tolist())) == len(model.vocabulary) - NUM_RESERVED  # no word without a use


def test_output_text():
    model = prepare_bitext(PAIRS, TextConfig(), ("fr", "en"))
    tokens = ["the", "cat", "'s", "here", ",", "friend", "!", "no", "."]
    assert model.target.postprocess(tokens) == "The cat's here, friend! No."
    assert model.target.postprocess(tokens[:4], source_text="le chat") == "the cat's here"
    assert model.source.postprocess(["l'", "ami", "!"], "The friend!") == "L'ami !"
    keep = dataclasses.replace(model.target, config=TextConfig(recase=False))
    assert keep.postprocess(tokens[:2]) == "the cat"


@pytest.mark.parametrize("case", ["none", "lower", "true"])
def test_sides_are_saved_and_loaded(tmp_path, case):
    model = prepare_bitext(PAIRS, TextConfig(case=case, max_length=None), ("fr", "en")).source
    model.save(tmp_path, "source")
    assert load_side(tmp_path, "source") == model
    with pytest.raises(UserError, match="the model folder is incomplete"):
        load_side(tmp_path, "target")


def test_read_from_files(tmp_path):
    (tmp_path / "t.tsv").write_text("Un chat\tA cat\n", encoding="utf-8")
    prepared = prepare_bitext(read_bitext(BitextSource(path=str(tmp_path / "t.tsv"))), TextConfig(), ("fr", "en"))
    assert tokens_of(prepared, "target") == ["a cat"]
    with pytest.raises(UserError, match="does not exist"):
        prepare_bitext(read_bitext(BitextSource(path=str(tmp_path / "no.tsv"))), TextConfig(), ("fr", "en"))


def test_bad_case():
    with pytest.raises(UserError, match=r"text\.case is 'upper': set it to one of none, lower, true"):
        TextConfig(case="upper")


def test_lines_that_no_text_has_are_refused(tmp_path):
    long = [("ab " * 5, "x"), ("mot " * 100_000, "word")]
    with pytest.raises(UserError, match=r"^'law' line 2 has 100000 words: give a file with one sentence a line"):
        prepare_bitext(long, TextConfig(), ("fr", "en"), name="law")
    (tmp_path / "a.fr").write_text("un\ndeux\n")
    (tmp_path / "a.en").write_text("one\ntw\x07o\n")
    spec = BitextSource(str(tmp_path / "a.fr"), str(tmp_path / "a.en"))
    with pytest.raises(
        UserError, match=r"a\.en' line 2 has the control character U\+0007: .*control_characters=replace"
    ):
        prepare_bitext(read_bitext(spec), TextConfig(), ("fr", "en"), files=spec.files)
    replaced = prepare_bitext(read_bitext(spec), TextConfig(control_characters="replace"), ("fr", "en"))
    assert replaced.target.vocabulary.decode(replaced.bitext.target[1]) == ["tw", "o"]
