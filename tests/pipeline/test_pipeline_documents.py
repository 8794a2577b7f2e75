"""`jaxsmt decode` on documents: the same file with what was missing filled in."""

import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.model.library import load_model
from jaxsmt.pipeline.commands.decode import decode
from jaxsmt.pipeline.commands.train import train
from tests.pipeline.small_corpus import compose_config, train_config, write_corpus

CATALOGUE = """msgid ""
msgstr "Language: {language}\\n"

msgid "{line}"
msgstr ""

#, c-format
msgid "le %s <b>zxqv</b> {{0}}\\nwvut %d"
msgstr ""

msgid "{{n, plural, one {{un}} other {{deux}}}}"
msgstr ""

msgid "fini"
msgstr "done"
"""


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    train(train_config(folder, [*write_corpus(folder / "corpus"), "align=ibm1", "lm=trigram", "translate=[]"]))
    return folder / "model"


@pytest.fixture(scope="module")
def line(model_dir):
    return (model_dir.parent / "corpus" / "travel.dev.fr").read_text(encoding="utf-8").split("\n")[0]


def run(model_dir, path, *options):
    output = path.with_name("out" + path.suffix)
    decode(compose_config("decode", [f"model_dir={model_dir}", f"input={path}", f"output={output}", *options]))
    return output.read_text(encoding="utf-8")


def test_a_catalogue_is_filled_in(model_dir, line, tmp_path, caplog):
    text = CATALOGUE.format(language="en_GB", line=line)
    (tmp_path / "c.po").write_text(text, encoding="utf-8")
    with caplog.at_level("INFO", "jaxsmt"):
        found = run(model_dir, tmp_path / "c.po", "domain=travel")
    assert "2 texts translated and marked for review, 1 had a translation" in caplog.text
    assert "1 texts are left untranslated" in caplog.text
    best = load_model(model_dir).translate([line], domain="travel")[0].text
    lines = found.split("\n")
    assert lines[3:6] == ["#, fuzzy", f'msgid "{line}"', f'msgstr "{best}"']
    assert lines[7] == "#, fuzzy, c-format"
    filled = "".join(lines[9:12])
    for unit in ("%s", "<b>", "</b>", "{0}", "\\n", "wvut %d"):
        assert filled.count(unit) == 1
    assert found.split("\n\n")[3:] == text.split("\n\n")[3:]
    assert run(model_dir, tmp_path / "out.po", "domain=travel") == found  # what has a translation stays


def test_documents_of_other_languages_stop(model_dir, line, tmp_path):
    path = tmp_path / "c.po"
    path.write_text(CATALOGUE.format(language="fr", line=line), encoding="utf-8")
    with pytest.raises(UserError, match="is to be translated into 'fr' and the model translates from 'fr' into 'en'"):
        run(model_dir, path)
    path = tmp_path / "c.xlf"
    path.write_text('<xliff version="2.0" srcLang="de" trgLang="en"/>', encoding="utf-8")
    with pytest.raises(UserError, match="is to be translated from 'de'"):
        run(model_dir, path)


def test_what_is_for_lines_is_not_for_documents(model_dir, line, tmp_path):
    path = tmp_path / "c.tsv"
    path.write_text(f"{line}\t\n", encoding="utf-8")
    for options, name in (([f"alignments={tmp_path / 'a'}"], "alignments"), (["explain=true"], "explain")):
        with pytest.raises(UserError, match=f"{name} is for lines of text"):
            run(model_dir, path, *options)
    with pytest.raises(UserError, match="format is 'odt': set it to one of auto, plain, po"):
        run(model_dir, path, "format=odt")
    best = load_model(model_dir).translate([line], domain="travel")[0].text
    assert run(model_dir, path, "domain=travel") == f"{line}\t{best}\tmachine translation\n"
    assert len(run(model_dir, path, "domain=travel", "format=plain").splitlines()) == 1
