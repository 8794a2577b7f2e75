"""Before it runs: mixed-up languages stop a training, and check=true tells what there is to know of its texts."""

import json

import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.demo import generate_demo
from jaxsmt.pipeline.checking.given_files import check_texts
from jaxsmt.pipeline.checking.input import check_input
from jaxsmt.pipeline.checking.languages import check_languages
from jaxsmt.pipeline.checking.tables import findings_text
from jaxsmt.pipeline.commands.train import corpus_sources, train
from jaxsmt.pipeline.config.texts import text_config
from jaxsmt.text.encoding import TextConfig, TextSide
from jaxsmt.text.languages import segmenters
from jaxsmt.text.reading import BitextSource
from jaxsmt.text.vocabulary import Vocabulary
from tests.pipeline.small_corpus import NUM_PAIRS, compose_config, train_config, write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def swapped(corpus, part):
    """The overrides with both files of travel's text of this part exchanged."""
    places = [f"+corpus.{part}.travel.{side}=" for side in ("source", "target")]
    files = [next(one for one in corpus if one.startswith(place)).removeprefix(place) for place in places]
    others = [one for one in corpus if not one.startswith(tuple(places))]
    return [*others, *(place + file for place, file in zip(places, files[::-1], strict=True))]


@pytest.mark.parametrize("part", ["components", "dev"])
def test_swapped_sides_stop_a_training_before_any_work(corpus, tmp_path, part):
    config = train_config(tmp_path / "run", swapped(corpus, part))
    with pytest.raises(UserError, match=rf"corpus\.{part}\.travel: '.*\.en' should be 'fr' and looks like 'en'"):
        train(config)
    assert not (tmp_path / "run" / "artefacts").exists()


def test_the_small_corpus_and_the_demo_pass(corpus, tmp_path):
    for overrides in (corpus, ["corpus=demo"]):
        config = train_config(tmp_path, overrides)
        assert config.corpus.language_check
        check_languages(corpus_sources(config, tmp_path))


def check(folder, overrides, *options):
    """train.py check=true; returns what it wrote as JSON."""
    output = folder / "found.json"
    train(train_config(folder / "run", [*overrides, "check=true", f"check_output={output}", *options]))
    return json.loads(output.read_text(encoding="utf-8"))


def with_text(corpus, part, name, pairs, folder):
    """The overrides with one more text, or with another one of that name."""
    places = [f"+corpus.{part}.{name}.{side}=" for side in ("source", "target")]
    for side, (place, language) in enumerate(zip(places, ("fr", "en"), strict=True)):
        path = folder / f"{part}.{name}.{language}"
        write_text(path, "".join(pair[side] + "\n" for pair in pairs))
        corpus = [*(one for one in corpus if not one.startswith(place)), f"{place}{path}"]
    return corpus


def assert_tables_fit(found, width):
    """No number or name is cut on a narrow terminal, whatever is counted."""
    large = [dict(row, pairs=123456, source_tokens=1234567, target_tokens=7654321) for row in found["texts"]]
    shown, whole = (findings_text({**found, "texts": large}, columns) for columns in (width, None))
    assert set(shown.split()) == set(whole.split())
    assert shown.count("1,234,567") == len(large)
    assert max(map(len, shown.splitlines())) <= width


def test_what_is_found_in_a_corpus(corpus, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    demo = generate_demo()["travel"]
    folded = [(source.upper().replace(".", " !"), target) for source, target in demo["train"][5:8]]
    corpus = with_text(
        corpus, "test", "travel", [*demo["test"][:10], demo["train"][2], *folded, ("", "Yes.")], tmp_path
    )
    found = check(tmp_path, corpus)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert_tables_fit(found, 60)
    assert found["problems"] == []
    sizes = {row["text"]: row for row in found["texts"]}
    assert sizes["components.travel"]["pairs"] == NUM_PAIRS
    assert sizes["test.travel"]["pairs"] == 15
    overlaps = {(row["set"], row["component"]): row for row in found["overlap"]}
    own = overlaps["test.travel", "travel"]
    assert (own["exact"], own["pair"], own["folded"], own["lines"]) == (1, 1, 4, 15)
    assert overlaps["test.travel", "kitchen"]["folded"] == 0
    assert overlaps["test.travel", "all"]["folded"] == 4
    assert any("4 of 15 lines of test.travel" in note for note in found["notes"])
    unknown = {(row["set"], row["side"]): row["unknown"] for row in found["unknown"]}
    assert unknown["dev.travel", "source"]["all"] <= unknown["dev.travel", "source"]["travel"]
    assert [row[place] for place, row in enumerate(found["shared"]["source"])] == [1, 1]
    suspicious = {row["text"]: row for row in found["suspicious"]}
    assert suspicious["test.travel"]["lines"]["empty"] == [15]
    assert suspicious["components.kitchen"]["runs"] == []
    stages = found["estimate"]["stages"]
    assert found["estimate"]["cpu_seconds"] == pytest.approx(sum(row["cpu_seconds"] for row in stages), abs=0.5)
    # texts alone were made, which a training finds again
    assert {path.name.split("-")[0] for path in (tmp_path / "run" / "artefacts").iterdir() if path.is_dir()} <= {"text"}


def test_more_text_takes_longer(corpus, tmp_path):
    first = check(tmp_path, corpus)["estimate"]
    more = with_text(corpus, "components", "software", generate_demo()["software"]["train"], tmp_path)
    second = check(tmp_path, more)["estimate"]
    assert second["cpu_seconds"] > first["cpu_seconds"]
    assert second["gigabytes"] >= first["gigabytes"]


def test_everything_that_would_fail_is_named_at_once(corpus, tmp_path, capsys):
    write_text(tmp_path / "short", "one line\n")
    bad = [
        *swapped(corpus, "dev"),
        f"+corpus.test.none.source={tmp_path}/nowhere",
        f"+corpus.test.none.target={tmp_path}/short",
    ]
    bad = with_text(bad, "components", "broken", [("a\x01b", "c")], tmp_path)
    with pytest.raises(UserError, match=r"the training would fail: corpus\.components\.broken: .* \(and 2 more"):
        check(tmp_path, bad)
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    keys = [problem.split(": ")[0] for problem in found["problems"]]
    assert keys == ["corpus.components.broken", "corpus.test.none", "corpus.dev.travel"]
    assert capsys.readouterr().out.count("problem: ") == 3


def test_choices_that_do_not_go_together_are_a_problem(corpus, tmp_path):
    with pytest.raises(UserError, match=r"the training would fail: .*extract\.kinds has 'nobody'"):
        check(tmp_path, corpus, "+extract.kinds.nobody=hiero")


def test_language_check_can_be_turned_off(corpus, tmp_path):
    found = check(tmp_path, swapped(corpus, "dev"), "corpus.language_check=false")
    assert found["problems"] == []
    wrong = next(row for row in found["suspicious"] if row["text"] == "dev.travel")["counts"]["language"]
    assert wrong >= 1


def test_training_texts_are_read_to_their_end(tmp_path):
    write_text(tmp_path / "a.tsv", "a\tb\n" * 3)
    write_text(tmp_path / "a.po", 'msgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr "d"\n')
    texts = {name: BitextSource(path=str(tmp_path / f"a.{name}")) for name in ("tsv", "po")}
    assert check_texts({"components": texts}) == {"components": {"tsv": 3, "po": 2}}
    write_text(tmp_path / "a.tsv", "a\tb\n" * 3 + "c\n")
    with pytest.raises(UserError, match=r"corpus.components.tsv: '.*a.tsv' line 4 has 1 tab-separated columns"):
        check_texts({"components": texts})


def test_a_text_to_translate_is_checked(tmp_path, capsys):
    words = ("le", "chat", "est", "dans", "la", "rue", ".")
    source, target = (TextSide(language, TextConfig(case="none"), Vocabulary(words)) for language in ("fr", "en"))
    lines = ["le chat est dans la maison.", "", "le chien dans la maison dans la rue"]
    check_input(lines, source, target, "in.fr", str(tmp_path / "found.json"))
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert (found["lines"], found["words"], found["unknown"], found["empty_lines"]) == (3, 14, 3, 1)
    assert found["most_frequent_unknown"] == [["maison", 2], ["chien", 1]]
    assert "unknown words: 3, 21.4 %: maison (2), chien (1)" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"'in\.fr' looks like 'en', and the model translates from 'fr'"):
        check_input(["this is what they have to do with the other one"] * 3, source, target, "in.fr", None)


def test_segmenters_that_a_person_names_may_run(monkeypatch):
    monkeypatch.setattr(segmenters, "_allowed", set())
    config = compose_config("train", ["+text.segmenters.zh=jieba:lcut", "corpus.source_language=zh"])
    assert text_config(config.text).segmenters == {"zh": "jieba:lcut"}
    assert segmenters._allowed == {"jieba:lcut"}
    assert compose_config("decode", ["segmenters=['jieba:lcut']"]).segmenters == ["jieba:lcut"]
