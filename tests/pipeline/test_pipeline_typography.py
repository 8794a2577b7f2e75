"""A model writes quotes and apostrophes as the target side of its training text does."""

from pathlib import Path

import pytest

from jaxsmt.common.files import write_text
from jaxsmt.model.folder import open_model
from jaxsmt.model.glossary import read_glossary
from jaxsmt.model.model import Model
from jaxsmt.model.source_text import source_text
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


def outputs(model: Model, lines: list[str], label: str, glossary=None, labels=None) -> list[str]:
    translator = plain_translator(model, model.profile(label), glossary=glossary)
    profiles = None if labels is None else [model.profile(own) for own in labels]
    return [line.text for line in translator.translate(source_text(model.source, lines), profiles)]


def test_every_domain_keeps_its_habits(model):
    lines = ["Je ne sais pas.", "Il dit : “ oui ”"]
    for label, expected in (
        ("curly", ["I don’t know.", "He says: “yes”"]),
        ("straight", ["I don't know.", 'He says: "yes"']),
    ):
        assert outputs(model, lines, label) == expected
        mixed = outputs(model, lines[:1] * 2, label, labels=["straight", "curly"])
        assert mixed == ["I don't know.", "I don’t know."]


def test_copied_words_and_glossaries_keep_their_characters(model, tmp_path):
    write_text(tmp_path / "glossary", "sait\tain’t\nveut\tain't\nnon\t„no‟\n")
    glossary = read_glossary(tmp_path / "glossary", model.source, model.target)
    for label in ("curly", "straight"):
        found = outputs(model, ["Il sait.", "Il veut.", "zx’qv", "zx'qv", "non"], label, glossary)
        assert found == ["He ain’t.", "He ain't.", "zx’qv", "zx'qv", "„no‟"]


@pytest.mark.parametrize("text", ["tokenised", "asis"])
def test_unchanged_text_comes_out_as_it_went_in(tmp_path, text):
    pairs = PAIRS
    if text == "tokenised":
        pairs = [("je ne sais pas", "I do n’t know e\u0301"), ("il « sait\u00a0»", "he “ knows\u00a0” —")]
    model = trained(tmp_path, [f"text={text}"], pairs)
    line, expected = pairs[0]
    assert outputs(model, [line], "curly")[0] in (expected, expected.translate(STRAIGHT))
    assert {"’", "'"} <= set("".join(model.rules.union.target_vocabulary.words))
    assert outputs(model, ["zx’\u00a0q"], "curly")[0].startswith("zx’")
