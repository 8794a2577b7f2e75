"""`jaxsmt decode` on documents: the same file with what was missing filled in."""

import dataclasses
from contextlib import nullcontext

import numpy as np
import pytest

from jaxsmt.adapt.consensus.config import ConsensusConfig
from jaxsmt.align.cells import WordPairs
from jaxsmt.common.errors import UserError
from jaxsmt.demo import generate_demo
from jaxsmt.model.library import load_model
from jaxsmt.pipeline.commands.decode import decode
from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.config.decoding import FinishedTextConfig
from jaxsmt.pipeline.translating.adapting import check_adaptable, useful_votes
from jaxsmt.pipeline.translating.memory_component import link_lines, linked_before
from jaxsmt.pipeline.translating.opening import open_input
from jaxsmt.text.documents.units import FIRST_STAND_IN, is_stand_in
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary
from jaxsmt.tune.lists import padded_lists
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
    assert "1 text left untranslated" in caplog.text
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


def test_texts_of_documents_that_name_no_language_are_looked_at(model_dir, tmp_path):
    pairs = generate_demo()["travel"]["train"][:30]
    rows = {  # by name: what is wrong, and the cells of a row
        "ours": (None, ["{source}\t{target}", "{source}\t"]),
        "swapped": ("texts to translate that look like 'en'", ["{target}\t{source}", "{target}\t"]),
        "nothing finished": ("texts to translate that look like 'en'", ["{target}\t"]),
        "translations": ("translations that look like 'fr'", ["{source}\t{source}"]),
    }
    for name, (problem, cells) in rows.items():
        lines = [cells[place % len(cells)].format(source=s, target=t) for place, (s, t) in enumerate(pairs)]
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        refused = nullcontext() if problem is None else pytest.raises(UserError, match=f"'.*{name}.tsv' has {problem}")
        with refused:
            open_it(model_dir, path)
        open_it(model_dir, path, "language_check=false")
    entries = [f'msgid "{target} <em>les</em> %(la)s"\nmsgstr ""\n' for _, target in pairs]
    for header in ("Language: en\\n", ""):  # of the messages' language a catalogue says nothing
        path = tmp_path / "c.po"
        path.write_text("\n".join([f'msgid ""\nmsgstr "{header}"\n', *entries]), encoding="utf-8")
        with pytest.raises(UserError, match="has texts to translate that look like 'en'"):
            open_it(model_dir, path)


def open_it(model_dir, path, *options):
    return open_input(compose_config("decode", [f"input='{path}'", *options]), load_model(model_dir).model)


def test_a_document_is_checked(model_dir, line, tmp_path, capsys):
    (tmp_path / "c.po").write_text(CATALOGUE.format(language="en", line=line), encoding="utf-8")
    decode(compose_config("decode", [f"model_dir={model_dir}", f"input={tmp_path / 'c.po'}", "check=true"]))
    said = capsys.readouterr().out
    assert said.startswith("3 lines (0 empty")  # the first message, and two of the second; the third is left as it is
    assert "zxqv (1)" in said
    assert "%d" not in said


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


def finished_catalogue(line, number=30):
    """Entries with a word that the model cannot know, finished, and three that are to be translated."""
    pairs = generate_demo()["travel"]["train"][40 : 40 + number]
    entries = [f'msgid "{source} zxqv %s"\nmsgstr "{target} blorp %s"\n' for source, target in pairs]
    again = f'msgctxt "menu"\nmsgid "{pairs[0][0]} zxqv %s"\nmsgstr ""\n'
    new = [f'msgid "{line} zxqv %s"\nmsgstr ""\n', f'msgid "{line}"\nmsgstr ""\n']
    return "\n".join(['msgid ""\nmsgstr "Language: en\\n"\n', *entries, again, *new]), f"{pairs[0][1]} blorp %s"


def test_finished_entries_are_used_for_the_rest(model_dir, line, tmp_path, caplog):
    text, known = finished_catalogue(line)
    (tmp_path / "c.po").write_text(text, encoding="utf-8")
    before = run(model_dir, tmp_path / "c.po")
    with caplog.at_level("INFO", "jaxsmt"):
        found = run(model_dir, tmp_path / "c.po", "adapt_to_file=true", "adapt.nbest=5", "adapt.num_samples=20")
    assert "adapting to 30 of 30 finished lines of the file" in caplog.text
    assert ", file 0." in caplog.text.split("component weights: ")[1]
    assert "on 6 lines that did not weigh them" in caplog.text
    assert "1 of them have the translation that the same text has" in caplog.text
    blocks = [part.split("\n\n") for part in (text, before, found)]
    assert blocks[2][:-3] == blocks[0][:-3]  # what has a translation stays
    assert blocks[2][-3] == "#, fuzzy\n" + blocks[0][-3].replace('msgstr ""', f'msgstr "{known}"')
    assert "zxqv" in blocks[1][-2].split("msgstr")[1]
    filled = blocks[2][-2].split("msgstr")[1]
    assert "zxqv" not in filled.lower()
    assert "blorp" in filled.lower()
    assert filled.count("%s") == 1
    assert run(model_dir, tmp_path / "c.po", "adapt_to_file=true", "adapt.nbest=5", "adapt.num_samples=20") == found


def test_a_memory_of_another_format_is_used(model_dir, line, tmp_path, caplog):
    text, _ = finished_catalogue(line, 25)
    (tmp_path / "memory.po").write_text(text, encoding="utf-8")
    (tmp_path / "c.tsv").write_text(f"{line} zxqv %s\t\n", encoding="utf-8")
    (tmp_path / "d.tsv").write_text(f"{line} zxqv %s\t\nun\tone\n", encoding="utf-8")
    memory = f"adapt_memory={tmp_path / 'memory.po'}"
    found = run(model_dir, tmp_path / "c.tsv", "adapt_to_file=true", memory, "adapt.votes=false")  # nothing in the file
    caplog.clear()  # an earlier test may have made the log more talkative
    with caplog.at_level("INFO", "jaxsmt"):
        both = run(model_dir, tmp_path / "d.tsv", "adapt_to_file=true", memory, "adapt.votes=false")
    assert "blorp" in both.split("\t")[1].lower()
    assert [part.split()[0] for part in caplog.text.split("component weights: ")[1].split("\n")[0].split(", ")] == [
        "kitchen", "travel", "file", "memory"
    ]  # fmt: skip
    assert "blorp" in found.split("\t")[1].lower()
    unadapted = run(model_dir, tmp_path / "c.tsv")
    (tmp_path / "memory.po").write_text(finished_catalogue(line, 19)[0], encoding="utf-8")
    with caplog.at_level("WARNING", "jaxsmt"):
        assert run(model_dir, tmp_path / "c.tsv", memory) == unadapted
    assert "19 finished lines are too few to adapt to, 20 are needed: not adapted" in caplog.text
    for options, sentence in (
        ([f"adapt_memory={tmp_path / 'memory.txt'}"], "does not tell its format"),
        (["format=plain", "adapt_to_file=true"], "adapt_to_file is for documents"),
        (["adapt_to_file=true", "adapt.lines=0"], "adapt.lines is 0"),
    ):
        with pytest.raises(UserError, match=sentence):
            run(model_dir, tmp_path / "c.tsv", *options)


def test_what_does_not_go_with_finished_texts_stops(model_dir):
    model, settings = load_model(model_dir).model, FinishedTextConfig()
    config = compose_config("decode", [])
    check_adaptable(config, model, settings)
    mixing = dataclasses.replace(model.mixing, config=dataclasses.replace(model.mixing.config, operation="fillup"))
    for other, options, sentence in (
        (dataclasses.replace(model, consensus=ConsensusConfig()), [], "consensus.nbest=1"),
        (dataclasses.replace(model, mixing=mixing), [], "add adapt.memory=false"),
        (model, ["component_weights=[1,1]"], "component_weights and adapt.memory exclude each other"),
    ):
        with pytest.raises(UserError, match=sentence):
            check_adaptable(compose_config("decode", options), other, settings)
    check_adaptable(config, dataclasses.replace(model, mixing=mixing), FinishedTextConfig(memory=False))


def test_phrases_of_the_memory_keep_placeholders(model_dir):
    model = load_model(model_dir).model
    mark = chr(FIRST_STAND_IN)
    sources = [["le", "zxqv", mark], [mark, "zxqv", "le"], ["le", "wvut"]] * 4
    targets = [["the", "blorp", mark], [mark, "blorp", "the"], ["the", mark]] * 4  # the last has one too many
    linked = link_lines(model, sources, targets)
    component = linked.component("memory", np.arange(len(sources)))
    rules, words = component.rules, (component.source_vocabulary, component.target_vocabulary)
    phrases = set()
    for source, target in zip(rules.source_index, rules.target_index, strict=True):
        sides = rules.source_sides[source], rules.target_sides[target]
        texts = [part.decode(side[side > 0].tolist()) for part, side in zip(words, sides, strict=True)]
        marks = [sorted(filter(is_stand_in, text)) for text in texts]
        assert marks[0] == marks[1]
        phrases.add(tuple(map(" ".join, texts)))
    assert {("zxqv", "blorp"), (mark, mark), (f"zxqv {mark}", f"blorp {mark}")} <= phrases


def test_the_components_links_are_counted(model_dir):
    components = load_model(model_dir).model.rules.components
    expected = {}
    for component in components:
        sides = component.source_vocabulary, component.target_vocabulary
        for pair, count in zip(component.lexical.word_pairs, component.lexical.joint_counts, strict=True):
            if min(pair) > 0:
                key = tuple(part.decode([word])[0] for part, word in zip(sides, pair, strict=True))
                expected[key] = expected.get(key, 0) + count
    source = Vocabulary(("zxqv", *sorted({key[0] for key in expected})[::4]))
    target = Vocabulary(("blorp", *sorted({key[1] for key in expected})))
    grid = np.meshgrid(*(np.arange(NUM_RESERVED, len(side)) for side in (source, target)), indexing="ij")
    words, none = [part.reshape(-1).astype(np.int32) for part in grid], np.full(1, -1, np.int32)
    counts = linked_before(components, source, target)(WordPairs(*words, np.ones(len(words[0]), bool), none, none))
    keys = zip(source.decode(words[0].tolist()), target.decode(words[1].tolist()), strict=True)
    found = dict(zip(keys, counts.tolist(), strict=True))
    assert found == {key: expected.get(key, 0) for key in found}
    assert sum(found.values()) > 0


def test_votes_are_used_where_they_choose_better():
    features = np.tile(np.eye(2), (40, 1))  # 40 lists of two, the first of which the model prefers
    right, wrong = [4, 4, 4, 3, 2, 1, 4, 3, 2, 1], [4, 4, 1, 0, 0, 0, 4, 3, 2, 1]
    config = FinishedTextConfig(num_samples=50, oracle="bleu")
    for best, is_useful in ((1, True), (0, False)):
        bleu = np.array([right if row % 2 == best else wrong for row in range(80)], np.int32)
        lists = padded_lists(features, np.arange(0, 81, 2), bleu)
        assert (useful_votes(lists, np.array([1.0, 0.9]), config) is not None) == is_useful
