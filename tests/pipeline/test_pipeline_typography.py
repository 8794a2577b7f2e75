"""A model writes quotes and apostrophes as the target side of its training text does."""

from pathlib import Path

import pytest

from jaxsmt.common.files import write_text
from jaxsmt.model.folder import open_model
from jaxsmt.model.model import Model
from jaxsmt.model.source_text import read_glossary, source_text
from jaxsmt.model.translation import plain_translator
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
    return open_model(folder / "run" / "model")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Model:
    return trained(tmp_path_factory.mktemp("typography"), [], PAIRS)


def test_every_domain_keeps_its_habits(model):
    lines = ["Je ne sais pas.", "Il dit : “ oui ”"]
    for label, expected in (
        ("curly", ["I don’t know.", "He says: “yes”"]),
        ("straight", ["I don't know.", 'He says: "yes"']),
    ):
        translator = plain_translator(model, model.profile(label))
        assert [line.text for line in translator.translate(source_text(model.source, lines))] == expected
        profiles = [model.profile("straight"), model.profile("curly")]
        assert [line.text for line in translator.translate(source_text(model.source, lines[:1] * 2), profiles)] == [
            "I don't know.",
            "I don’t know.",
        ]


def test_copied_words_and_glossaries_keep_their_characters(model, tmp_path):
    write_text(tmp_path / "glossary", "sait\tain’t\nveut\tain't\nnon\t„no‟\n")
    glossary = read_glossary(tmp_path / "glossary", model.source, model.target)
    for label in ("curly", "straight"):
        translator = plain_translator(model, model.profile(label), glossary=glossary)
        text = source_text(model.source, ["Il sait.", "Il veut.", "zx’qv", "zx'qv", "non"])
        found = [line.text for line in translator.translate(text)]
        assert found == ["He ain’t.", "He ain't.", "zx’qv", "zx'qv", "„no‟"]


@pytest.mark.parametrize("text", ["tokenised", "asis"])
def test_unchanged_text_comes_out_as_it_went_in(tmp_path, text):
    pairs = PAIRS
    if text == "tokenised":
        pairs = [("je ne sais pas", "I do n’t know e\u0301"), ("il « sait\u00a0»", "he “ knows\u00a0” —")]
    model = trained(tmp_path, [f"text={text}"], pairs)
    translator = plain_translator(model, model.profile("curly"))
    line, expected = pairs[0]
    first, second = translator.translate(source_text(model.source, [line, "zx’\u00a0q"]))
    assert first.text in (expected, expected.translate(STRAIGHT))
    assert {"’", "'"} <= set("".join(model.rules.union.target_vocabulary.words))
    assert second.text.startswith("zx’")
