"""A model writes quotes and apostrophes as the target side of its training text does."""

from pathlib import Path

import pytest

from jaxsmt.common.files import write_text
from jaxsmt.model.glossary import read_glossary
from jaxsmt.model.model import Model, load_model
from jaxsmt.model.translation import make_line_translator
from jaxsmt.pipeline.commands.train import train
from tests.pipeline.small_corpus import train_config

PAIRS = [
    ("Je ne sais pas.", "I don’t know."),
    ("Je ne veux pas.", "I don’t want."),
    ("Il dit : “ oui ”", "He says: “yes”"),
    ("Il dit : “ non ”", "He says: “no”"),
    ("Il sait.", "He knows."),
    ("Il veut.", "He wants."),
]
STRAIGHT = str.maketrans("’“”", '\'""')
QUICK = ["align=ibm1", "lm=trigram", "translate=[]"]


def trained(folder: Path, options: list[str], pairs: list[tuple[str, str]]) -> Model:
    """A model of two components: one as given, one with straight quotes on the target side."""
    overrides = ["corpus=files", "corpus.dev={}", "corpus.test={}"]
    straight = [(source, target.translate(STRAIGHT)) for source, target in pairs]
    for name, rows in (("curly", pairs), ("straight", straight)):
        write_text(folder / f"{name}.tsv", "".join(f"{source}\t{target}\n" for source, target in rows * 3))
        overrides.append(f"+corpus.components.{name}.path={folder / name}.tsv")
    train(train_config(folder / "run", [*overrides, *QUICK, *options]))
    return load_model(folder / "run" / "model")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Model:
    return trained(tmp_path_factory.mktemp("typography"), [], PAIRS)


def test_every_domain_keeps_its_habits(model):
    lines = ["Je ne sais pas.", "Il dit : “ oui ”"]
    for label, expected in (
        ("curly", ["I don’t know.", "He says: “yes”"]),
        ("straight", ["I don't know.", 'He says: "yes"']),
    ):
        translator = make_line_translator(model, model.profile(label))
        assert [line.text for line in translator.translate(lines)] == expected
        profiles = [model.profile("straight"), model.profile("curly")]
        assert [line.text for line in translator.translate(lines[:1] * 2, profiles)] == [
            "I don't know.",
            "I don’t know.",
        ]


def test_copied_words_and_glossaries_keep_their_characters(model, tmp_path):
    write_text(tmp_path / "glossary", "sait\tain’t\nveut\tain't\nnon\t„no‟\n")
    glossary = read_glossary(tmp_path / "glossary", model.source, model.target)
    for label in ("curly", "straight"):
        translator = make_line_translator(model, model.profile(label), glossary=glossary)
        found = [line.text for line in translator.translate(["Il sait.", "Il veut.", "zx’qv", "zx'qv", "non"])]
        assert found == ["He ain’t.", "He ain't.", "zx’qv", "zx'qv", "„no‟"]


@pytest.mark.parametrize("text", ["tokenised", "asis"])
def test_unchanged_text_comes_out_as_it_went_in(tmp_path, text):
    pairs = PAIRS
    if text == "tokenised":
        pairs = [("je ne sais pas", "I do n’t know e\u0301"), ("il « sait\u00a0»", "he “ knows\u00a0” —")]
    model = trained(tmp_path, [f"text={text}"], pairs)
    translator = make_line_translator(model, model.profile("curly"))
    line, expected = pairs[0]
    assert translator.translate([line])[0].text in (expected, expected.translate(STRAIGHT))
    assert {"’", "'"} <= set("".join(model.rules.union.target_vocabulary.words))
    assert translator.translate(["zx’\u00a0q"])[0].text.startswith("zx’")
