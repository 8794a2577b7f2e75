"""The page of a small training run: every figure is the run's own, and what must not be there is not."""

import json
import re

import numpy as np
import pytest

from jaxsmt.evaluate.compare import CompareConfig, compare_systems, stars
from jaxsmt.model.folder import open_model
from jaxsmt.pipeline.commands.train import train
from tests.pipeline.page_reading import check_page, rows_of
from tests.pipeline.small_corpus import COMPONENTS, ENOUGH_TO_TUNE, train_config, write_corpus

HOSTILE = """<script>alert("x")</script> 'a' &amp;"""
TRIALS = 200
OPTIONS = [
    "align=ibm1", "lm=trigram", "mixture=clusters", "mixture.num_clusters=2", "tune=mira", "nbest_size=10",
    "loop.max_iterations=2", f"evaluate.trials={TRIALS}", "report=true",
]  # fmt: skip
WAYS = ["unweighted", "own domain"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    options = [*write_corpus(folder / "corpus", ENOUGH_TO_TUNE), *OPTIONS]
    for language in ("fr", "en"):
        path = folder / "corpus" / f"travel.test.{language}"
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("".join(f"{line} {HOSTILE}\n" for line in lines), encoding="utf-8")
    train(train_config(folder, options))
    (folder / "options").write_text(json.dumps(options))
    return folder


@pytest.fixture(scope="module")
def page(folder):
    return check_page((folder / "report.html").read_text(encoding="utf-8"))


def lines_of(folder, name):
    return (folder / "translations" / name).read_text(encoding="utf-8").splitlines()


def test_scores_are_those_of_the_run(folder, page):
    rows = json.loads((folder / "scores.json").read_text(encoding="utf-8"))["scores"]
    found = {(row["part"], row["domain"], row["weights"]): row for row in rows}
    for metric, title in (("bleu", "BLEU"), ("ter", "TER"), ("chrf", "chrF2")):
        heads, *shown = rows_of(page, title)
        assert heads == ["set", "domain", *WAYS]
        assert [row[:2] for row in shown] == [[part, name] for part in ("dev", "test") for name in COMPONENTS]
        for part, name, *cells in shown:
            for way, cell in zip(WAYS, cells, strict=True):
                assert float(cell.rstrip("*")) == pytest.approx(found[part, name, way][metric], abs=0.0051)
    for name in COMPONENTS:
        tile = next(own for own in page.all("div", class_="tile") if own.one("dt").text() == f"BLEU, test {name}")
        assert tile.one("dd").children[0] == f"{found['test', name, WAYS[1]]['bleu']:.2f}"


def test_stars_are_those_of_a_comparison(folder, page):
    config = CompareConfig(trials=TRIALS)
    for name in COMPONENTS:
        outputs = {way: [lines_of(folder, f"test.{name}.{way.replace(' ', '-')}.txt")] for way in WAYS}
        references = [[line] for line in lines_of(folder, f"test.{name}.reference.txt")]
        compared = compare_systems(outputs, references, config)[WAYS[1]]
        for metric, title in (("bleu", "BLEU"), ("ter", "TER"), ("chrf", "chrF2")):
            row = next(row for row in rows_of(page, title) if row[:2] == ["test", name])
            assert re.sub(r"[^*]", "", row[3]) == stars(compared[metric].versus.p_value)


def test_weights_are_those_of_the_model(folder, page):
    model = open_model(folder / "model")
    heads, *rows = rows_of(page, "Component weights")
    assert heads[2:4] == list(model.names)
    assert {row[0] for row in rows} == {*model.labels, "(any other)"}
    for label in ("cluster0", "cluster1"):
        shown = np.array([[float(cell) for cell in row[2:4]] for row in rows if row[0] == label])
        mixture = model.mixture(label)
        np.testing.assert_allclose(shown, mixture / mixture.sum(1, keepdims=True), atol=5.1e-4)
    for label, *cells in rows_of(page, "Weights of the language models")[1:]:
        own = model.lm_mixture(None if label == "(any other)" else label)
        np.testing.assert_allclose([float(cell) for cell in cells], own, atol=5.1e-4)
    features = {row[0]: float(row[1]) for row in rows_of(page, "Log-linear weights")[1:]}
    assert features["p(t|s)"] == pytest.approx(model.weights.rule[2], abs=5.1e-5)
    assert features["word_penalty"] == pytest.approx(model.weights.word_penalty, abs=5.1e-5)


def test_clusters_and_tuning_are_those_of_the_artefacts(folder, page):
    artefacts = folder / "artefacts"
    table = [line.split() for line in next(artefacts.glob("clusters-*/table.txt")).read_text().splitlines()]
    heads, *rows = rows_of(page, "Where the sentences of each cluster come from")
    assert heads == ["cluster", *COMPONENTS, "sentences"]
    assert [[row[0], int(row[3])] for row in rows] == [[line[0], int(line[1])] for line in table[1:]]
    for row, line in zip(rows, table[1:], strict=True):
        assert float(row[1]) == pytest.approx(float(line[2].rstrip("%")) / 100, abs=0.0011)
    points = page.one("section", id="clusters").all("circle")
    assert len(points) == sum(int(row[3]) for row in rows)
    tuned = next(artefacts.glob("tune-*/table.txt")).read_text().splitlines()
    caption = "The "
    heads, *rows = rows_of(page.one("section", id="tuning"), caption)
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        (cells[0], cells[1], cells[-1]) for cells in (line.split() for line in tuned[1 : 1 + len(rows)])
    ]
    for row in rows:
        low, high = map(float, row[2].split("–"))
        assert low <= float(row[1]) <= high
    assert json.loads((folder / "tuning.json").read_text())[0]["iterations"][0]["number"] == 1


def test_samples_are_lines_of_the_run_and_hostile_text_does_nothing(folder, page):
    for name in COMPONENTS:
        kinds = ("source", "reference", *WAYS)
        lines = {kind: lines_of(folder, f"test.{name}.{kind.replace(' ', '-')}.txt") for kind in kinds}
        section = page.one("section", id="samples")
        start = next(i for i, own in enumerate(section.children) if own.name == "h3" and own.text() == f"test {name}")
        cards = []
        for own in section.children[start + 1 :]:
            if own.name != "article":
                break
            cards.append(own)
        assert cards
        for card in cards:
            row = int(re.match(r"Line (\d+),", card.one("h4").text())[1]) - 1
            shown = dict(zip([own.text() for own in card.all("dt")], card.all("dd"), strict=True))
            assert list(shown) == list(lines)
            assert shown["source"].text() == lines["source"][row]
            for way in WAYS:
                assert shown[way].text(without=("del",)).split() == lines[way][row].split()
                assert shown[way].text(without=("mark",)).split() == lines["reference"][row].split()
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "<script" not in html
    assert HOSTILE in page.text()


def test_explanations_tell_the_translation(folder, page):
    model = open_model(folder / "model")
    rewritten = model.source.rare_words.rewritten  # words that are copied are told as the model knows them
    cards = page.one("section", id="samples").all("article")
    num_pieces = 0
    for card in cards:
        shown = dict(zip([own.text() for own in card.all("dt")], card.all("dd"), strict=True))
        assert [own.one("summary").text() for own in card.all("details")] == [f"How “{way}” came about" for way in WAYS]
        for way, told in zip(WAYS, card.all("details"), strict=True):
            heads, *rows = rows_of(told, "Phrases and rules")
            assert heads == ["words", "source", "target", "seen in", "rule", "LM"]
            target = [word for row in rows for word in row[2].split() if row[2] != "(nothing)"]
            output = shown[way].text(without=("del",))
            words = [word.lower() if word not in target else word for word in model.target.preprocess(output)]
            assert all(word == own or own in rewritten(word) for own, word in zip(target, words, strict=True))
            num_pieces += len(rows)
    assert num_pieces > len(cards)


def test_data_unknown_words_search_and_stages_are_told(folder, page):
    sizes = {row[0]: row[1:] for row in rows_of(page, "Components")[1:]}
    for name in COMPONENTS:
        manifest = next((folder / "artefacts").glob(f"component-{name}-*/manifest.json"))
        counts = json.loads(manifest.read_text())["counts"]
        assert sizes[name][0] == str(ENOUGH_TO_TUNE)
        assert [cell.replace(",", "") for cell in sizes[name][3:]] == [str(counts["pairs"]), str(counts["word_pairs"])]
    unknown = page.one("section", id="unknown")
    for (part, name, number, words), row in zip(rows_of(unknown, "Words")[1:], unknown.all("tr")[1:], strict=True):
        listed = [line.split("\t") for line in lines_of(folder, f"{part}.{name}.unknown.txt")]
        assert [own.text() for own in row.all("bdi")] == [word for _, word in listed]
        assert words == ", ".join(f"{word} {count}" if count != "1" else word for count, word in listed)
        assert int(number) == sum(int(count) for count, _ in listed)
    for part, name, way, sentences, *work in rows_of(page, "What the decoder did")[1:]:
        assert int(sentences) == len(lines_of(folder, f"{part}.{name}.{way.replace(' ', '-')}.txt"))
        assert all(float(cell) > 0 for cell in work)
    stages = {row[0]: row for row in rows_of(page, "Stages")[1:]}
    assert {"links", "tune", "clusters", "translate and score"} <= set(stages)
    assert all(float(row[1]) >= 0 for row in stages.values())
    assert "corpus:" in page.one("pre").text()


def test_made_again_it_is_the_same_but_for_times(folder):
    options = json.loads((folder / "options").read_text())
    before = (folder / "report.html").read_text(encoding="utf-8")
    train(train_config(folder, options))
    after = (folder / "report.html").read_text(encoding="utf-8")
    assert len(re.findall(">found<", after)) > 10

    def untimed(html):
        return re.sub(r"<table><caption>Stages.*?</table>", "", html, flags=re.DOTALL)

    assert untimed(after) == untimed(before)


def test_without_translations_and_without_a_page(folder):
    options = json.loads((folder / "options").read_text())
    for name, more in (("none", ["translate=[]"]), ("off", ["translate=[]", "report=false"])):
        config = train_config(folder, [*options, *more])
        config.output_dir = str(folder / name)
        train(config)
    page = check_page((folder / "none" / "report.html").read_text(encoding="utf-8"))
    assert "Nothing was translated" in page.text()
    assert not page.all("section", id="samples")
    assert (folder / "off" / "model").is_dir()
    assert not (folder / "off" / "report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "ways"),
    [
        (["mixture=wsum", "consensus=mbr"], {"unweighted", "own domain", "consensus"}),
        (["mixture=target_clusters", "extract=hiero"], {"unweighted", "own domain"}),
        (["mixture=loglinear", "lm.combination=both"], {"unweighted", "own domain"}),
        (["mixture=fillup", "rescore.osm=true"], {"unweighted", "own domain"}),
        (["lm.osm=true", "lm/classes=exchange", "lm.classes.num_classes=8"], {"unweighted", "own domain"}),
        (["adapt=bpa", "adapt.num_samples=8"], {"unweighted", "own domain", "adapted"}),
        (["adapt=bagging", "adapt.members=2", "consensus=mbr"], {"unweighted", "own domain", "adapted", "consensus"}),
        (["adapt=recognise"], {"unweighted", "own domain", "adapted"}),
        (["all_ways=false"], {"own domain"}),
    ],
)
def test_every_kind_of_model_has_a_page(tmp_path, overrides, ways):
    given = [*OPTIONS[:2], *OPTIONS[4:], "translate=[test]", *overrides]
    train(train_config(tmp_path, [*write_corpus(tmp_path / "corpus", ENOUGH_TO_TUNE), *given]))
    page = check_page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert set(rows_of(page, "BLEU")[0][2:]) == ways
    cards = page.one("section", id="samples").all("article")
    assert {len(card.all("details")) for card in cards} == {min(len(ways), 2)}
    if "adapt=bagging" in overrides:
        assert len(rows_of(page, "Bags of fewer members, test")) > 1
