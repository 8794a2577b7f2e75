"""Experiments: what their files say is sound, their tables are those of the runs, and their pages name what exists."""

import importlib
import json
import re

import pytest
from hydra import initialize_config_dir
from omegaconf import OmegaConf

from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.commands.experiment import check_told, experiment, experiment_corpus
from jaxsmt.pipeline.commands.train import corpus_sources
from jaxsmt.pipeline.config.folder import choices_of, conf_folder
from jaxsmt.pipeline.experiments.adaptation import AdaptationConfig
from jaxsmt.pipeline.experiments.config import Claim, Figures, on_demo, read_experiment
from jaxsmt.pipeline.experiments.page import RESULTS, explanation
from jaxsmt.pipeline.experiments.systems import as_overrides, last_words
from jaxsmt.pipeline.experiments.tables import MeasuredCell, ResultTable, as_markdown, as_text, as_tsv, outcomes
from tests.conftest import REPOSITORY
from tests.pipeline.small_corpus import SMALL_SEARCH, compose_config, write_corpus

NAMES = choices_of("experiment")
SMALL = """
name: small
title: Small
paper: Nobody (2000)
train: [align=ibm1, align.ibm1_iterations=2, lm=trigram, 'translate=[test]', all_ways=false]
systems:
  first: {x: [mixture=concatenation], y: [mixture=concatenation]}
  second: {x: [mixture=instance]}
adaptation: {methods: [unadapted, heuristic], sizes: [4], repetitions: 2, nbest: 5}
claims:
  - {says: equal, table: bleu, better: [first, x], than: [first, y]}
figures:
  - {source: table 9, table: bleu, values: {second: {x: 12.5}}}
"""


def chosen(name, *overrides):
    config = compose_config("experiment", [f"experiment={name}", *overrides])
    return config, read_experiment(config.experiment)


def table(**options):
    new = {("new", "a"): MeasuredCell(21.25, 0.5, "*"), ("new", "b"): MeasuredCell(30.0)}
    cells = {("base", "a"): MeasuredCell(20.0), **new}
    return ResultTable("bleu", "BLEU", "law", cells, **options)


def test_the_paper_stands_beside_ours():
    other, own = (
        Figures("table 2", "bleu", {("base", "a"): 9.0}),
        Figures("table 3", "bleu", {("new", "a"): 8.5}, "law"),
    )
    assert table().with_figures([Figures("t", "ter", {}), Figures("t", "bleu", {}, "sea")]) == table()
    assert table().with_figures([other]).source == "table 2"
    found = table().with_figures([other, own])
    assert found.source == "table 3"
    assert found.lines() == [
        ["system", "a", "a, paper", "b"], ["base", "20.00", "", ""], ["new", "21.25 ± 0.50*", "8.5", "30.00"],
    ]  # fmt: skip
    assert as_text([["x", "yy"], ["zzz", "1"]]) == "x    yy\nzzz   1\n"
    assert as_markdown([["x", "y"], ["a|b", "1*"]]) == "| x | y |\n| --- | ---: |\n| a\\|b | 1\\* |\n"
    assert as_tsv([found]).splitlines()[2] == "bleu\tlaw\tnew\ta\t21.2500\t0.5000\t*\t8.5"


@pytest.mark.parametrize(("lower", "same"), [(False, True), (True, False)])
def test_a_direction_is_that_of_the_metric(lower, same):
    claim = Claim("new is better", "bleu", ("new", "a"), ("base", "a"))
    (found,) = outcomes([claim, Claim("other table", "ter", *[("new", "a")] * 2)], [table(lower_is_better=lower)])
    assert found.is_same == same
    assert found.ours == (-1.25 if lower else 1.25)
    assert found.paper is None
    of_paper = table(lower_is_better=lower, paper={("new", "a"): 3.0, ("base", "a"): 1.0})
    assert outcomes([claim], [of_paper])[0].paper == (-2.0 if lower else 2.0)
    stated = Claim("new is better", "bleu", ("new", "a"), ("base", "a"), 7.0)
    assert outcomes([stated], [of_paper])[0].paper == 7.0
    assert outcomes([Claim("no such row", "bleu", ("sea", "a"), ("base", "a"))], [table()]) == []


def test_values_become_overrides():
    values = {"a": 1, "b": {"c": [1, None, "x"], "d": True}, "tune": "mert"}
    assert as_overrides(values) == ["a=1", "b.c=[1,null,x]", "b.d=true", "tune=mert"]
    config = compose_config("experiment", ["train.tune=mert", "train.loop.max_iterations=3"])
    assert as_overrides(config.train) == ["tune=mert", "loop.max_iterations=3"]


def test_a_choice_and_its_key_are_not_both_told():
    check_told(["train.align=ibm1", "train.text.case=lower", "corpus=files", "corpus.name=x", "train.align_it=1"])
    for told in (["train.align=ibm1", "train.align.ibm1_iterations=2"], ["+train.lm.order=3", "train.lm=trigram"]):
        with pytest.raises(UserError, match=r"are both given, and one would take the other's place"):
            check_told(told)


def test_the_demo_has_fewer_and_smaller_systems():
    values = {
        "name": "x", "train": ["a=1"], "members": {"bag": ["d=4"]},
        "systems": {"one": {"u": ["b=2"], "v": ["b=3"]}, "two": {"u": []}, "bag": {"u": ["d=4"]}},
        "demo": {"train": ["a=5"], "without": ["two", "one, v"], "rows": {"bag": ["d=6"]}},
    }  # fmt: skip
    found = on_demo(read_experiment(OmegaConf.create(values)))
    assert found.train == ("a=1", "a=5")
    assert found.systems == {("one", "u"): ("b=2",), ("bag", "u"): ("d=4", "d=6")}
    assert found.members == {"bag": ("d=4", "d=6")}


def test_of_overrides_of_a_key_the_last_counts():
    assert last_words(["tune=mert", "a.b=1", "tune=mira"]) == ["tune=mira", "a.b=1"]


@pytest.mark.parametrize("name", NAMES)
def test_claims_and_figures_name_places_that_there_are(name):
    _, own = chosen(name)
    places = {"bleu": set(own.systems), "ter": set(own.systems)}
    places["members"] = {(f"{bag}-{size}", column) for bag in own.members for size in (5, 10, 15, 20, 30)
                         for column in ("1-best", "oracle")}  # fmt: skip
    if own.adaptation:
        settings = AdaptationConfig(**own.adaptation)
        grid = {(method, str(size)) for method in settings.methods for size in settings.sizes}
        places = dict.fromkeys(("ter", "bleu", "interval", "unigrams"), grid)
    for claim in own.claims:
        assert {claim.better, claim.than} <= places[claim.table], claim
    for figures in own.figures:
        assert set(figures.values) <= places[figures.table]
    assert all(own.demo.has(claim.better) and own.demo.has(claim.than) for claim in own.claims)


@pytest.mark.parametrize("name", NAMES)
def test_claims_are_what_the_figures_say(name):
    """The papers' figures, taken for ours, make every claim true (but for legal text, which hardly gained)."""
    _, own = chosen(name)
    for figures in own.figures:
        if figures.text != "LEGAL":
            cells = {place: MeasuredCell(value) for place, value in figures.values.items()}
            found = outcomes(own.claims, [ResultTable(figures.table, "", "", cells)])
            assert all(outcome.is_same for outcome in found), [o.claim.says for o in found if not o.is_same]
            assert found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("corpus", ["demo", "it_legal"])
def test_every_training_composes(name, corpus):
    _, own = chosen(name)
    own = on_demo(own) if corpus == "demo" else own
    for overrides in {*own.systems.values(), *own.members.values()} or {()}:
        compose_config("train", [f"corpus={corpus}", "tune.seed=1", *last_words([*own.train, *overrides])])


@pytest.mark.parametrize("name", NAMES)
def test_pages_name_functions_that_there_are(name):
    text = explanation(chosen(name)[1])
    assert text.count(RESULTS) == 1
    names = re.findall(r"`(jaxsmt\.[\w.]+)`", text)
    assert len(names) >= 6
    for dotted in names:
        module, _, attribute = dotted.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), dotted
    for link in re.findall(r"\]\(\.\./([\w.]+)", text):
        assert (REPOSITORY / "docs" / link).is_file()


def test_the_demo_is_cut_by_name(tmp_path):
    config, own = chosen("sanchis2015", "+corpus.test.travel.first=7")
    corpus = experiment_corpus(config, own)
    found = corpus_sources(OmegaConf.create({"corpus": corpus}), tmp_path)
    assert {part: list(sets) for part, sets in found.items()} == {
        "components": ["software", "travel"], "dev": ["software", "travel"], "adapt": ["kitchen"], "test": ["travel"],
    }  # fmt: skip
    assert found["test"]["travel"].first == 7
    assert found["adapt"]["kitchen"].source.endswith("kitchen/dev.fr")
    config = compose_config("train", ["+corpus.dev.sea.first=3"])
    with pytest.raises(UserError, match=r"corpus\.dev\.sea: the demo has no such domain, choose of software"):
        corpus_sources(config, tmp_path)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"name": "x", "sistems": {}}, "experiment.sistems is no key"),
        ({"name": "a b", "systems": {"a": {"b": []}}}, "experiment.name is 'a b'"),
        ({"name": "x"}, "experiment=x compares nothing"),
    ],
)
def test_mistakes_in_experiments_are_named(values, sentence):
    with pytest.raises(UserError, match=re.escape(sentence)):
        read_experiment(OmegaConf.create(values))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small experiment of two systems, of which three places are told, and of adaptation."""
    folder = tmp_path_factory.mktemp("experiment")
    corpus = [part for part in write_corpus(folder / "corpus") if part not in SMALL_SEARCH]  # trainings have their own
    corpus += [
        text.replace("corpus.dev.travel", "corpus.adapt.travel") for text in corpus if "corpus.dev.travel" in text
    ]
    config = compose_config("experiment", [*corpus, f"work_dir={folder}", "evaluate.trials=20"])
    config.experiment = OmegaConf.create(SMALL)
    config.output_dir, config.page = str(folder / "out"), str(folder / "out" / "small.md")
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        share = experiment(config)
    return folder, share


def test_a_run_writes_tables_of_its_systems(run, capsys):
    folder, share = run
    assert share == 1.0
    found = json.loads((folder / "out" / "tables.json").read_text(encoding="utf-8"))
    first = found["tables"][0]
    assert (first["table"], first["text"]) == ("bleu", "kitchen + travel")
    values = {(cell["system"], cell["column"]): cell for cell in first["cells"]}
    assert values["first", "x"] == {**values["first", "y"], "column": "x"}
    assert values["second", "x"]["paper"] == 12.5
    assert [part["table"] for part in found["tables"]] == ["bleu", "ter", "ter", "bleu", "interval", "unigrams"]
    assert [part["text"] for part in found["tables"][2:]] == ["travel"] * 4
    assert found["directions"] == [
        {"says": "equal", "text": "kitchen + travel", "difference": 0.0, "paper": None, "same": True}
    ]
    assert {path.name for path in (folder / "out" / "systems").iterdir()} == {"first_x-1", "second_x-1", "unadapted-1"}
    stages = [path.name.rsplit("-", 1)[0] for path in (folder / "artefacts").iterdir()]
    assert stages.count("links") == stages.count("component-travel") == 1


def test_a_table_has_the_scores_of_the_runs(run):
    """BLEU of both sets together lies between that of each, and one set alone has its own."""
    folder, _ = run
    rows = json.loads((folder / "out" / "systems" / "second_x-1" / "scores.json").read_text())["scores"]
    text = (folder / "out" / "tables.tsv").read_text(encoding="utf-8")
    value = float(re.search(r"^ter\tkitchen \+ travel\tsecond\tx\t([\d.]+)", text, re.MULTILINE).group(1))
    assert min(row["ter"] for row in rows) - 1e-3 <= value <= max(row["ter"] for row in rows) + 1e-3


def test_the_page_of_an_experiment_of_ones_own_has_its_results(run):
    folder, _ = run
    text = (folder / "out" / "small.md").read_text(encoding="utf-8")
    assert text.startswith("# Small\n\nNobody (2000)\n\n```sh\njaxsmt experiment experiment=small corpus=files\n```\n")
    assert "| second |" in text
    assert "12.5" in text
    assert "1 of 1 directions are the same." in text
    shown = (folder / "out" / "tables.txt").read_text(encoding="utf-8")
    assert shown.startswith("Small: Nobody (2000)\n")
    assert "chrF2" in shown
