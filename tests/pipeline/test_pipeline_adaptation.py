"""Adapted models: every choice of conf/adapt trains, and decode.py translates as the evaluation did."""

import dataclasses
import json
import re

import numpy as np
import pytest

from jaxsmt.adapt.bagging import restarted_members
from jaxsmt.adapt.bpa.rerank import Votes
from jaxsmt.adapt.voting import best_rows
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.model.folder import open_model
from jaxsmt.model.labelling.recognition import Recognition
from jaxsmt.model.mixing import MixingConfig
from jaxsmt.model.model import LabelSettings
from jaxsmt.model.reranking.bagging import Bag, BaggedTranslator
from jaxsmt.model.reranking.voting import Voting, VotingTranslator
from jaxsmt.model.translation import plain_translator
from jaxsmt.model.tuned_weights import feature_names, vector_of, weights_of
from jaxsmt.pipeline.bag_report import BagReport
from jaxsmt.pipeline.commands.adapt_lists import adapt_lists
from jaxsmt.pipeline.commands.decode import decode
from jaxsmt.pipeline.commands.train import corpus_sources, train
from jaxsmt.pipeline.config.adapters import BaggingStageConfig, BpaStageConfig, RecogniseStageConfig, adapter_config
from jaxsmt.pipeline.stages.adapting import check_adaptation
from jaxsmt.pipeline.stages.bagging import decode_members, tuned_members
from jaxsmt.pipeline.stages.recognition import recogniser_stage, untuned, weighted_mean
from jaxsmt.pipeline.stages.tuning import decode_lists, tuning_text
from jaxsmt.pipeline.store import Store
from jaxsmt.tune.config import MertConfig
from jaxsmt.tune.lists import best_hypotheses, bleu_of_sums
from jaxsmt.tune.scoring import score_lists
from tests.conftest import REPOSITORY
from tests.lm.slow_lm import write_word_arpa
from tests.pipeline.small_corpus import compose_config, train_config, write_corpus

CHOICES = [path.stem for path in sorted((REPOSITORY / "conf" / "adapt").glob("*.yaml"))]
QUICK = ["align=ibm1", "align.ibm1_iterations=2", "lm=trigram", "translate=[test]"]
MERT = ["restarts=1", "perturbation_rounds=0", "max_iterations=2"]
OPTIONS = {
    "none": [],
    "bpa": ["adapt.num_samples=40", "adapt.nbest=20"],
    "bagging": ["adapt.members=3", "adapt.nbest=5", "adapt.rounds=0", *(f"adapt.mert.{part}" for part in MERT)],
    "recognise": ["tune=mert", "nbest_size=10", "loop.max_iterations=1", *(f"tune.{part}" for part in MERT)],
}
OPTIONS["restarts"] = OPTIONS["bagging"]
METHODS = {"none": None, "bpa": Voting, "bagging": Bag, "restarts": Bag, "recognise": Recognition}
LITTLE_MERT = MertConfig(restarts=1, perturbation_rounds=0, max_iterations=2)


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory):
    """One store for all choices: what they share is made once."""
    return tmp_path_factory.mktemp("adaptation")


@pytest.fixture(scope="module")
def corpus(work_dir):
    return write_corpus(work_dir / "corpus")


@pytest.fixture(scope="module")
def run(work_dir, corpus):
    """Trains with a choice, once; returns the folder of the results."""
    done = {}

    def train_once(choice, *more):
        if (choice, *more) not in done:
            folder = work_dir / f"run{len(done)}"
            options = [*corpus, *QUICK, f"adapt={choice}", *OPTIONS[choice], *more]
            train(compose_config("train", [*options, f"work_dir={work_dir}", f"output_dir={folder}"]))
            done[choice, *more] = folder
        return done[choice, *more]

    return train_once


def translations(folder, part, name, weights):
    return (folder / "translations" / f"{part}.{name}.{weights}.txt").read_text(encoding="utf-8").splitlines()


def source_lines(work_dir, name, split="test"):
    return (work_dir / "corpus" / f"{name}.{split}.fr").read_text(encoding="utf-8").splitlines()


def run_decoder(folder, lines, options=()):
    """decode.py with the model of a run; returns the output's lines."""
    write_text(folder / "input", "".join(line + "\n" for line in lines))
    files = [f"model_dir={folder / 'model'}", f"input={folder / 'input'}", f"output={folder / 'output'}"]
    decode(compose_config("decode", [*files, *options]))
    return (folder / "output").read_text(encoding="utf-8").split("\n")[:-1]


@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_trains_and_is_stored(run, choice):
    folder = run(choice)
    scores = json.loads((folder / "scores.json").read_text())["scores"]
    ways = ["unweighted", "own domain", *([] if choice == "none" else ["adapted"])]
    assert [(row["part"], row["domain"], row["weights"]) for row in scores] == [
        ("test", domain, way) for domain in ("kitchen", "travel") for way in ways
    ]
    adaptation = open_model(folder / "model").adaptation
    assert adaptation is None if choice == "none" else isinstance(adaptation, METHODS[choice])
    stored = folder / "model" / "adaptation"
    assert {path.suffix for path in stored.glob("*")} <= {".json", ".safetensors", ".txt"}


@pytest.mark.parametrize("choice", ["bpa", "bagging", "recognise"])
def test_decoding_equals_the_evaluation(run, work_dir, choice):
    folder = run(choice)
    lines = source_lines(work_dir, "travel")
    options = [] if choice == "recognise" else ["domain=travel"]
    options += [f"labels_output={folder / 'labels'}"]
    output = run_decoder(folder, lines, options)
    assert output == translations(folder, "test", "travel", "adapted")
    labels = (folder / "labels").read_text().split()
    assert set(labels) <= {"kitchen", "travel"} if choice == "recognise" else set(labels) == {"travel"}
    assert run_decoder(folder, lines[::-1], options) == output[::-1]


def test_classes_have_weights_of_their_own(run):
    model = open_model(run("recognise") / "model")
    assert set(model.adaptation.settings.weights) == set(model.adaptation.labels) == {"kitchen", "travel"}
    other = dataclasses.replace(model.weights, lm=2.0)
    settings = LabelSettings(weights={"travel": other})
    model = dataclasses.replace(model, adaptation=dataclasses.replace(model.adaptation, settings=settings))
    assert model.profile("travel").weights == other
    assert model.profile("kitchen").weights == model.unadapted.profile("travel").weights == model.weights
    np.testing.assert_allclose(model.mixture("travel"), model.unadapted.mixture("travel"))


def test_merged_classes_mix_what_they_are_made_of(run, dev_sets, tmp_path):
    model = open_model(run("none") / "model")
    config = RecogniseStageConfig(num_classes=1)
    found = untuned(model, recogniser_stage(Store(tmp_path), model, {}, dev_sets, config))
    assert found.labels == ("kitchen+travel",)
    merged = dataclasses.replace(model, adaptation=found)
    assert merged.labeller("travel").labels_of([["le"], ["zxqv"]]) == ["kitchen+travel"] * 2
    parts = [model.lm_mixture(name) for name in ("kitchen", "travel")]
    np.testing.assert_allclose(merged.lm_mixture("kitchen+travel"), np.mean(parts, 0), rtol=1e-6)
    mixtures = [np.array([[3.0, 1.0]]), np.array([[1.0, 1.0]])]
    np.testing.assert_allclose(weighted_mean(mixtures, np.array([1, 1])), [[0.625 * 3, 0.375 * 3]])


def test_a_narrow_prior_changes_nothing(run):
    folder = run("bpa", "adapt.sigma_prior=1e-12")
    for name in ("kitchen", "travel"):
        assert translations(folder, "test", name, "adapted") == translations(folder, "test", name, "own-domain")


def test_lists_are_found_again_with_other_settings(run, work_dir):
    def stages(name):
        return sum(path.name.rsplit("-", 1)[0] == name for path in (work_dir / "artefacts").iterdir())

    run("bpa")
    lists, adapted = stages("adaptation-lists"), stages("bpa")
    run("bpa", "adapt.sigma_prior=0.07")  # asked for by no other test, whatever their order
    assert (stages("adaptation-lists"), stages("bpa")) == (lists, adapted + 1)


def test_a_text_to_adapt_to_has_its_own_name(run, work_dir):
    files = {side: work_dir / "corpus" / f"travel.dev.{code}" for side, code in (("source", "fr"), ("target", "en"))}
    folder = run("bpa", *(f"+corpus.adapt.sea.{side}={path}" for side, path in files.items()))
    assert open_model(folder / "model").adaptation.labels == ("sea",)
    lines = source_lines(work_dir, "travel")
    assert run_decoder(folder, lines, ["domain=travel"]) == translations(folder, "test", "travel", "own-domain")
    assert len(run_decoder(folder, lines, ["domain=sea"])) == len(lines)
    with pytest.raises(UserError, match="domain 'sea' is not in the model"):
        run_decoder(folder, lines, ["domain=sea", "adapted=false"])
    scores = json.loads((folder / "scores.json").read_text())["scores"]
    assert {row["weights"] for row in scores} == {"unweighted", "own domain"}  # no set is called so


def test_odd_lines_and_lists(run, tmp_path):
    lines = ["", "Le zxqv, le wvut !", " ".join(["le", "zxqv", ","] * 50), "  ", "le wvut"]
    files = {name: f"{name}={tmp_path / name}" for name in ("unknown_words", "alignments", "nbest_output")}
    options = ["domain=kitchen", *files.values(), "nbest=3"]
    plain = run_decoder(run("bpa"), lines, ["domain=kitchen", files["unknown_words"], "adapted=false"])
    unknown = (tmp_path / "unknown_words").read_text()
    assert unknown.startswith("51\tzxqv\n")
    for choice in ("bpa", "bagging"):
        output = run_decoder(run(choice), lines, options)
        assert [output[row] for row in (0, 2, 3)] == [plain[row] for row in (0, 2, 3)]  # empty or cut
        assert (tmp_path / "unknown_words").read_text() == unknown
        links = (tmp_path / "alignments").read_text().splitlines()
        assert [bool(line) for line in links] == [False, True, True, False, True]
        nbest = [line.split(" ||| ") for line in (tmp_path / "nbest_output").read_text(encoding="utf-8").splitlines()]
        assert {fields[0] for fields in nbest} == {"1", "4"}
        for number in "14":
            scores = [float(fields[3]) for fields in nbest if fields[0] == number]
            assert scores == sorted(scores, reverse=True)


@pytest.fixture(scope="module")
def made(run, dev_sets):
    """A model, a translator, development sentences, and weights that differ a lot: [3, F]."""
    model = open_model(run("none") / "model")
    start = vector_of(model.weights)
    theta = start * np.random.default_rng(0).uniform(-0.5, 2.0, (3, len(start)))
    return plain_translator(model), tuning_text(model, dev_sets), theta / np.abs(theta).sum(1)[:, None]


@pytest.fixture(scope="module")
def dev_sets(work_dir, corpus):
    return corpus_sources(train_config(work_dir, corpus), work_dir)["dev"]


def test_members_decode_together_as_they_would_alone(made):
    translator, text, theta = made
    weights = [weights_of(row, translator.model.weights) for row in theta]
    for found, own in zip(decode_members(translator, text, weights, 5), weights, strict=True):
        alone = decode_lists(translator, text, own, 5)
        assert found.texts == alone.texts
        np.testing.assert_array_equal(found.offsets, alone.offsets)
        np.testing.assert_allclose(found.features, alone.features, rtol=1e-6)


def test_the_sum_of_all_members_decides(made):
    translator, text, theta = made
    bag = Bag(theta, feature_names(translator.model.weights, translator.model.lm_names), 5, (1, 3))
    report = BagReport(bag, [reference for (reference,) in text.references])
    bagged = BaggedTranslator(translator, bag, observe_fn=report.add)
    output = [" ".join(line.words) for line in bagged.translate(text.source, text.profiles)]
    alone = [decode_lists(translator, text, weights_of(t, translator.model.weights), 5) for t in theta]
    for row, words in enumerate(output):
        scores = {}
        for lists in alone:
            part = slice(lists.offsets[row], lists.offsets[row + 1])
            for string, total in zip(lists.texts[part], lists.features[part] @ theta.sum(0), strict=True):
                scores[string] = max(total, scores.get(string, -np.inf))
        assert scores[words] == pytest.approx(max(scores.values()), abs=1e-6)
    assert any(words != lists.texts[lists.offsets[row]] for row, words in enumerate(output) for lists in alone)
    single = score_lists(alone[0], text.references)
    expected = bleu_of_sums(single.statistics("bleu")[np.arange(len(single)), best_hypotheses(single, theta[0])].sum(0))
    figures = [line.split() for line in report.table().splitlines()]
    assert [line[0] for line in figures] == ["members", "1", "3"]
    assert float(figures[1][1]) == pytest.approx(100 * expected, abs=0.01)
    assert float(figures[1][1]) <= float(figures[1][2]) <= float(figures[2][2])
    assert int(figures[1][3]) == len(alone[0].texts) < int(figures[2][3])


def test_reports_on_several_texts_are_joined(run):
    folder = run("bagging") / "translations"
    parts = [(folder / f"test.{name}.members.txt").read_text().split() for name in ("kitchen", "travel")]
    total = (folder / "test.members.txt").read_text().split()
    assert total[:5] == parts[0][:5] == ["members", "1-best", "oracle", "hypotheses", "3"]
    assert int(total[7]) == int(parts[0][7]) + int(parts[1][7])
    for place in (5, 6):
        scores = [float(part[place]) for part in parts]
        assert min(scores) <= float(total[place]) <= max(scores)


def test_votes_rank_lists_by_their_formula(made):
    translator, text, theta = made
    votes = {"kitchen": Votes(theta, np.array([0.0, 1.0, 0.5]), 2.0), "travel": Votes(-theta, np.zeros(3), 1.0, True)}
    adapted = VotingTranslator(
        translator, Voting(votes, feature_names(translator.model.weights, translator.model.lm_names), 5)
    )
    (lists,) = adapted.rankings(text.source, text.profiles)
    for row, label in enumerate(text.labels):
        part, own = slice(lists.offsets[row], lists.offsets[row + 1]), votes[label]
        logits = own.samples @ lists.features[part].T  # [S, H]
        log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        terms = own.log_weights[:, None] + log_p / own.delta
        expected = terms.max(0) if own.viterbi else np.log(np.exp(terms).sum(0))
        np.testing.assert_allclose(lists.scores[part], expected, atol=1e-3)
        best = adapted.translate(text.source.take([row]), text.profiles[row : row + 1])[0]
        assert " ".join(best.words) == lists.texts[part][expected.argmax()]
    first = [lists.texts[begin] for begin in lists.offsets[:-1]]
    assert [lists.texts[k] for k in best_rows(lists.scores, lists.offsets)] != first


def test_members_of_the_control_are_tuned_on_all_sentences_from_random_weights(made, tmp_path):
    model, text = made[0].model, made[1]
    config = BaggingStageConfig(members=3, nbest=5, rounds=0, seed=7, differ_by="starts", mert=LITTLE_MERT)
    found = tuned_members(model, text, config, tmp_path)
    lists = score_lists(found.lists, text.references)
    expected = restarted_members(lists, 3, dataclasses.replace(LITTLE_MERT, seed=7))
    np.testing.assert_array_equal(found.weights, expected)
    assert len(np.unique(found.weights, axis=0)) == 3


def test_bagging_goes_on_after_its_last_round(made, tmp_path):
    model, text = made[0].model, made[1]
    config = BaggingStageConfig(members=2, nbest=5, rounds=1, mert=LITTLE_MERT)
    whole = tuned_members(model, text, config, tmp_path / "whole")
    tuned_members(model, text, dataclasses.replace(config, rounds=0), tmp_path / "parts")
    found = tuned_members(model, text, config, tmp_path / "parts")
    np.testing.assert_array_equal(found.weights, whole.weights)
    assert found.lists.texts == whole.lists.texts
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["round-1.safetensors"]


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        ({"name": "bagging", "members": 0}, "adapt.members is 0: give a number from 1"),
        ({"name": "bagging", "differ_by": "luck"}, "adapt.differ_by is 'luck': choose 'samples' or 'starts'"),
        ({"name": "bagging", "rounds": -1}, "adapt.rounds is -1: give at least 0"),
        ({"name": "bagging", "mert": {"restart": 1}}, "adapt=bagging: unknown configuration key 'mert.restart'"),
        ({"name": "bpa", "sampler": "guess"}, "adapt.sampler is 'guess': choose one of heuristic, mcmc, laplace"),
        ({"name": "bpa", "nbest": "many"}, "adapt=bpa: configuration key 'nbest': Value 'many'"),
        ({"name": "bpa", "nbest": 0}, "adapt.nbest is 0: give at least 1"),
        ({"name": "recognise", "num_classes": 0}, "adapt.num_classes is 0: give at least 1"),
        ({"name": "bap"}, "adapt.name is 'bap': choose one of bagging, bpa, recognise"),
    ],
)
def test_wrong_settings_are_named(node, sentence):
    with pytest.raises(UserError, match=re.escape(sentence)):
        adapter_config(node)


def test_what_cannot_be_adapted_is_named(dev_sets):
    mixture, recognise, tuner = MixingConfig(), RecogniseStageConfig(), LITTLE_MERT
    for sentence, arguments in {
        "an adaptation needs a development set": (BpaStageConfig(), mixture, {}, {}, None),
        "adapt=recognise tunes weights for every class": (recognise, mixture, dev_sets, {}, None),
        "both label sentences": (recognise, MixingConfig(labels="clusters"), dev_sets, {}, tuner),
        "is 3 and there are 2 development sets": (RecogniseStageConfig(num_classes=3), mixture, dev_sets, {}, tuner),
    }.items():
        with pytest.raises(UserError, match=sentence):
            check_adaptation(*arguments)
    check_adaptation(BpaStageConfig(), mixture, {}, dev_sets, None)


def test_it_is_said_before_any_work(corpus, tmp_path):
    with pytest.raises(UserError, match="choose a tuner too"):
        train(train_config(tmp_path / "run", [*corpus, "adapt=recognise"]))
    assert not (tmp_path / "run" / "artefacts").exists()


def test_weights_and_an_adaptation_exclude_each_other(run):
    with pytest.raises(UserError, match="add adapted=false"):
        run_decoder(run("bpa"), ["le"], ["weights.lm=1"])


def test_a_damaged_adaptation_is_named(run, tmp_path):
    folder = tmp_path / "model"
    (folder / "adaptation").mkdir(parents=True)
    for path in (run("none") / "model").iterdir():
        (folder / path.name).symlink_to(path)
    with pytest.raises(UserError, match=re.escape("adaptation.json' is missing, damaged or of another version")):
        open_model(folder)


def test_groups_compose():
    assert adapter_config(compose_config("train", []).adapt) is None
    bag = adapter_config(compose_config("train", ["adapt=bagging", "adapt.members=7", "adapt.mert.seed=5"]).adapt)
    assert (bag.members, bag.sizes, bag.mert) == (7, (5,), MertConfig(seed=5))
    assert adapter_config(compose_config("train", ["adapt=bpa", "adapt.delta=2"]).adapt).delta == 2.0


EXAMPLE = re.search(r"cat > small.*?```\n\n```\n(.*?)```", (REPOSITORY / "docs" / "nbest.md").read_text(), re.S)


@pytest.fixture
def files(tmp_path):
    """The files of the worked example in docs/nbest.md."""
    for name, text in re.findall(r"cat > (\S+) <<'END'\n(.*?)END\n", EXAMPLE.group(0), re.S):
        (tmp_path / name).write_text(text)
    for text, name in re.findall(r"printf '(.*?)' > (\S+)", EXAMPLE.group(0)):
        (tmp_path / name).write_text(text.replace("\\n", "\n"))
    return tmp_path


def inside(folder, value):
    """The value with its file names as paths in the folder."""
    return re.sub(r"([\w.]+)", rf"{folder}/\1", value)


def list_options(folder, *more):
    """The configuration for files of the example, with other values or settings of the adaptation."""
    settings = [part for part in more if part.startswith(("adapt=", "adapt.", "online="))]
    values = {
        "nbest": "[test.nbest]",
        "weights_file": "weights.txt",
        "output": "test.out",
        "adaptation_nbest": "[small.nbest]",
        "adaptation_references": "[small.en]",
        **dict(part.split("=", 1) for part in more if part not in settings),
    }
    files = [f"{key}={inside(folder, value)}" for key, value in values.items() if value]
    return compose_config("adapt_lists", [*files, *settings])


def test_the_worked_example_is_true(files):
    command = re.search(r"jaxsmt adapt-lists (.*?)\ncat", EXAMPLE.group(0), re.S).group(1)
    words = [word.split("=", 1) for word in command.replace("\\\n", "").split()]
    options = [f"{key}={value if key.startswith('adapt.') else inside(files, value)}" for key, value in words]
    adapt_lists(compose_config("adapt_lists", options))
    assert (files / "test.out").read_text() == EXAMPLE.group(1)


def test_members_vote_on_lists(files):
    known = ["dev_nbest=[small.nbest]", "dev_references=[small.en]", "adapt=bagging", "adapt.members=2"]
    quick = [f"adapt.mert.{part}" for part in MERT]
    adapt_lists(list_options(files, *known, *quick, "member_weights=members"))
    chosen = (files / "test.out").read_text()
    assert chosen == EXAMPLE.group(1)
    names = [line.split()[0] for line in (files / "members" / "member2.txt").read_text().splitlines()]
    assert names == ["LM0_0", "TM0_0"]
    lines = (files / "test.nbest").read_text().splitlines(keepends=True)
    (files / "one.nbest").write_text("".join(lines[:2]))
    (files / "two.nbest").write_text("".join(lines[2:]))
    adapt_lists(list_options(files, *known, *quick, "nbest=[one.nbest,two.nbest]"))
    assert (files / "test.out").read_text() == chosen


def test_lists_are_adapted_to_sentence_by_sentence(files):
    """The first sentence is chosen by the weights of the file; its reference, as those before it, helps the next."""
    (files / "all.nbest").write_text((files / "small.nbest").read_text())
    arriving = ["online=true", "nbest=[all.nbest]", "references=[small.en]", "adapt.delta=1", "adapt.sigma_prior=0.5"]
    adapt_lists(list_options(files, *arriving, "adaptation_nbest=", "adaptation_references="))
    chosen = (files / "test.out").read_text().splitlines()
    assert chosen[0] == "it is the house"
    assert chosen[2] == "this is a roof"
    adapt_lists(list_options(files, *arriving))  # the same sentences were seen before
    assert (files / "test.out").read_text() == (files / "small.en").read_text()


def test_lists_are_rescored_by_a_large_language_model(files, kenlm):
    """The references' words are what the model has seen."""
    write_word_arpa(files / "big.arpa", dict.fromkeys(["this", "is", "a", "garden", "here", "you", "are"], -1.0))
    (files / "weights.txt").write_text("LM0_0 0.1\nTM0_0 0.1\nkenlm-big_0 1\n")
    adapt_lists(list_options(files, "rescore.kenlm=[big.arpa]"))
    assert (files / "test.out").read_text() == EXAMPLE.group(1)
    known = ["dev_nbest=[small.nbest]", "dev_references=[small.en]", "adapt=bagging", "adapt.members=2"]
    quick = [f"adapt.mert.{part}" for part in MERT]
    adapt_lists(list_options(files, *known, *quick, "member_weights=members", "rescore.kenlm=[big.arpa]"))
    names = [line.split()[0] for line in (files / "members" / "member1.txt").read_text().splitlines()]
    assert names == ["LM0_0", "TM0_0", "kenlm-big_0"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["online=true"], "online=true learns from references of the lists, which are not given: name references=[…]"),
        (["online=true", "adapt=bagging"], "adapt=bagging cannot learn sentence by sentence: choose adapt=bpa"),
        (["rescore.kenlm=[nowhere.bin]"], "nowhere.bin"),
        (["adapt=none"], "adapt=none cannot work on lists: choose adapt=bpa or adapt=bagging"),
        (["adapt=bagging"], "name dev_nbest=[…] and dev_references=[…]"),
        (["adaptation_nbest=[]"], "name adaptation_nbest=[…] and adaptation_references=[…]"),
        (["nbest="], "there is nothing to rerank"),
        (["weights_file="], "name their file, weights_file=…"),
        (["weights_file=small.en"], "small.en' line 1 is 'this is a house': give a feature name and a number a line"),
        (["nbest=[nowhere.nbest]"], "nowhere.nbest' does not exist"),
    ],
)
def test_mistakes_with_lists_are_named(files, options, sentence):
    with pytest.raises(UserError) as raised:
        adapt_lists(list_options(files, *options))
    assert sentence in str(raised.value)
    assert not (files / "test.out").exists()
