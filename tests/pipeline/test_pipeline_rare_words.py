"""Rare words are translated as words that training text has; where links are given nothing is rewritten."""

import pytest

from jaxsmt import load_model
from jaxsmt.align.links import read_links, write_links
from jaxsmt.common.files import write_text
from jaxsmt.pipeline.commands.train import train
from jaxsmt.text.documents.messages import Rendering, make_message
from tests.pipeline.small_corpus import SMALL_SEARCH, train_config

NOUNS = {"Server": "server", "Zertifikat": "certificate", "Daten": "data", "Bank": "bank", "Konto": "account"}
SENTENCES = {
    "Wo ist {}?": "where is {}?",
    "{} ist neu.": "{} is new.",
    "wir sehen {} oft.": "we often see {}.",
    "{} fehlt hier.": "{} is missing here.",
}
NUM_PAIRS = len(NOUNS) * len(SENTENCES) + 1
QUICK = ["align=ibm1", "align.ibm1_iterations=4", "lm=trigram", "mixture.weighting=equal", "links.export=true"]


def component(folder, name, pairs):
    """Writes a component; the overrides that name it."""
    paths = [folder / f"{name}.de", folder / f"{name}.en"]
    for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
        write_text(path, "".join(line + "\n" for line in lines))
    return [f"+corpus.components.{name}.{side}={path}" for side, path in zip(("source", "target"), paths, strict=True)]


@pytest.fixture
def corpus(tmp_path):
    """The overrides that name a component whose words are all frequent, but for one compound."""
    pairs = [(own.format(de), other.format(en)) for own, other in SENTENCES.items() for de, en in NOUNS.items()]
    pairs.append(("Datenbank ist neu.", "data bank is new."))
    named = component(tmp_path, "it", pairs)
    return ["corpus=files", "corpus.source_language=de", "corpus.language_check=false", *SMALL_SEARCH, *QUICK, *named]


def test_an_unknown_compound_is_translated_by_its_parts(corpus, tmp_path):
    train(train_config(tmp_path / "cut", corpus))
    train(train_config(tmp_path / "whole", [*corpus, "text.rare_words.compounds=0"]))
    cut, whole = (load_model(tmp_path / name / "model") for name in ("cut", "whole"))
    line = "wir sehen Serverzertifikat oft."
    (found,) = cut.translate([line])
    assert "server certificate" in found.text
    assert not found.unknown
    of_compound = {target for source, target in found.alignment if source == 2}
    assert [found.words[target] for target in sorted(of_compound)] == ["server", "certificate"]
    assert max(source for source, _ in found.alignment) == 4  # words of the line, whatever they became
    (listed,) = cut.nbest([line], 3)
    assert listed[0].alignment == found.alignment
    (message,) = make_message("wir sehen <b>Serverzertifikat</b> oft.", is_xml=True).lines
    (marked,) = cut.translate([message.source()])
    sides = cut.model.source, cut.model.target
    tagged = message.restored(Rendering(marked.text, marked.words, marked.alignment), sides)
    assert "<b>server certificate</b>" in tagged
    (other,) = cut.translate(["wir sehen Zertifikaten oft."])
    assert "certificate" in other.text  # of another form of its word
    assert not other.unknown
    (copied,) = whole.translate([line])
    assert "Serverzertifikat" in copied.text
    (known,) = whole.translate(["Datenbank ist neu."])
    assert not known.unknown  # a word that is whole is translated as it was seen
    links = [read_links(tmp_path / name / "links" / "it.align")[NUM_PAIRS - 1].tolist() for name in ("cut", "whole")]
    assert links[0] == [[0, 0], [0, 1], [1, 2], [2, 3], [3, 4]]  # of the words of the line, the compound one of them
    assert max(source for source, _ in links[1]) == 3


def test_given_links_count_words_that_are_whole(corpus, tmp_path):
    train(train_config(tmp_path / "whole", [*corpus, "text.rare_words.compounds=0"]))
    given = tmp_path / "given.align"
    write_links(given, read_links(tmp_path / "whole" / "links" / "it.align"))
    train(train_config(tmp_path / "given", [*corpus, f"+links.files.it={given}"]))
    model = load_model(tmp_path / "given" / "model").model
    assert model.source.rare_words is None
    assert "Datenbank" in model.source.vocabulary.id_of


def test_words_of_imported_components_are_not_rare(corpus, tmp_path):
    other = component(tmp_path, "other", [("Zertifikaten fehlt es.", "certificates lack it."), ("es ist", "it is")] * 2)
    train(train_config(tmp_path / "first", [*corpus[: -len(other)], *other]))
    folder = tmp_path / "first" / "model" / "components" / "other"
    train(train_config(tmp_path / "second", [*corpus, f"+tm.folders.other={folder}"]))
    words = load_model(tmp_path / "second" / "model").model.source.rare_words
    assert words.rewritten("Zertifikaten") == ("Zertifikaten",)
    assert words.rewritten("Serverzertifikat") == ("Server", "Zertifikat")
