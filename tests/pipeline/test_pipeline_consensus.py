"""Consensus: models that are trained with it, decoding with and without, and lists of other systems."""

import json

import numpy as np
import pytest

from jaxsmt.adapt.consensus.config import ConsensusConfig, ConsensusTraining
from jaxsmt.adapt.consensus.risk import choose, posteriors
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.model.folder import open_model
from jaxsmt.model.reranking.bagging import BaggedTranslator
from jaxsmt.model.reranking.consensus import ConsensusTranslator
from jaxsmt.model.translation import make_translator
from jaxsmt.pipeline.commands.consensus_lists import consensus_lists
from jaxsmt.pipeline.commands.decode import decode
from jaxsmt.pipeline.commands.train import train
from jaxsmt.pipeline.consensus import check_consensus
from jaxsmt.tune.nbest import read_nbest
from tests.pipeline.small_corpus import compose_config, write_corpus

QUICK = ["align=ibm1", "align.ibm1_iterations=2", "lm=trigram", "translate=[test]"]
BAG = ["adapt=bagging", "adapt.members=3", "adapt.nbest=5", "adapt.rounds=0"]
BAG += [f"adapt.mert.{part}" for part in ("restarts=1", "perturbation_rounds=0", "max_iterations=2")]


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("consensus")


@pytest.fixture(scope="module")
def run(work_dir):
    """Trains once for each set of options; returns the folder of the results."""
    corpus, done = write_corpus(work_dir / "corpus"), {}

    def train_once(*options):
        if options not in done:
            done[options] = work_dir / f"run{len(done)}"
            files = [f"work_dir={work_dir}", f"output_dir={done[options]}"]
            train(compose_config("train", [*corpus, *QUICK, *options, *files]))
        return done[options]

    return train_once


def translations(folder, weights):
    return (folder / "translations" / f"test.travel.{weights}.txt").read_text(encoding="utf-8").splitlines()


def decoded(folder, work_dir, *options):
    files = [f"model_dir={folder / 'model'}", f"input={work_dir / 'corpus' / 'travel.test.fr'}", "domain=travel"]
    decode(compose_config("decode", [*files, f"output={folder / 'output'}", *options]))
    return (folder / "output").read_text(encoding="utf-8").splitlines()


def test_it_is_off_by_default(run):
    folder = run()
    assert open_model(folder / "model").consensus is None
    assert "consensus" not in json.loads((folder / "model" / "model.json").read_text())
    assert not (folder / "translations" / "test.travel.consensus.txt").exists()


def test_a_model_has_the_scale_that_was_found(run, work_dir):
    folder = run("consensus=mbr", "consensus.nbest=20", "consensus.gammas=[0.3,3]")
    stored = open_model(folder / "model").consensus
    assert stored in (ConsensusConfig(nbest=20, gamma=0.3), ConsensusConfig(nbest=20, gamma=3.0))
    tables = [path.read_text().splitlines() for path in work_dir.glob("artefacts/consensus*/table.txt")]
    bleu = {line.split()[0]: float(line.split()[1]) for line in tables[0][1:]}
    assert bleu[f"{stored.gamma:g}"] == max(bleu["0.3"], bleu["3"])
    assert decoded(folder, work_dir) == translations(folder, "consensus")
    rows = json.loads((folder / "scores.json").read_text())["scores"]
    assert [row["weights"] for row in rows if row["domain"] == "travel"] == ["unweighted", "own domain", "consensus"]


def test_the_choice_is_that_of_the_lists(run, work_dir):
    """What decode.py writes is what the consensus of its own n-best lists is."""
    folder = run()
    lists = folder / "lists.nbest"
    decoded(folder, work_dir, "nbest=20", f"nbest_output={lists}")
    found = read_nbest(lists)
    rows = choose(found.texts, found.offsets, posteriors(found.scores, found.offsets, [0.4]), "chrf")[0]
    options = ["consensus.gamma=0.4", "consensus.utility=chrf", "consensus.nbest=20"]
    output = decoded(folder, work_dir, *options, "nbest=3", f"nbest_output={folder / 'mbr.nbest'}")
    ranked = read_nbest(folder / "mbr.nbest")
    assert [ranked.texts[k] for k in ranked.offsets[:-1]] == [found.texts[k] for k in rows]
    assert output == decoded(folder, work_dir, *options)
    assert (np.diff(ranked.scores.reshape(-1, 3)) <= 0).all()
    assert (ranked.scores <= 1).all()


def test_a_large_scale_or_a_list_of_one_changes_nothing(run, work_dir):
    folder = run()
    plain = decoded(folder, work_dir)
    assert decoded(folder, work_dir, "consensus.gamma=1e9") == plain
    assert decoded(folder, work_dir, "consensus.gamma=0", "consensus.nbest=1") == plain


def test_a_bag_has_a_consensus_of_its_merged_lists(run, work_dir):
    folder = run(*BAG, "consensus=mbr", "consensus.gamma=0.5")
    translator = make_translator(open_model(folder / "model"))
    assert isinstance(translator, ConsensusTranslator)
    assert isinstance(translator.ranker, BaggedTranslator)
    assert translator.ranker.num_votes == 3
    assert decoded(folder, work_dir) == translations(folder, "consensus")
    assert decoded(folder, work_dir, "consensus.gamma=1e9") == translations(folder, "adapted")
    assert decoded(folder, work_dir, "adapted=false") == translations(folder, "own-domain")


def test_a_tuned_bag_has_a_scale(run):
    folder = run(*BAG, "consensus=mbr", "consensus.gammas=[1]")
    assert open_model(folder / "model").consensus == ConsensusConfig(gamma=1.0)


def test_mistakes_are_named(run, work_dir):
    with pytest.raises(UserError, match="consensus=mbr needs a development set"):
        check_consensus(ConsensusTraining(), {})
    check_consensus(ConsensusTraining(gamma=1.0), {})
    check_consensus(None, {})
    with pytest.raises(UserError, match=r"give consensus\.gamma too"):
        decoded(run(), work_dir, "consensus.nbest=5")
    folders = [f"{key}={work_dir / 'wrong'}" for key in ("work_dir", "output_dir")]
    with pytest.raises(UserError, match="did you mean 'gammas'"):
        train(compose_config("train", ["consensus=mbr", "+consensus.gamas=[1]", *folders]))


LISTS = """0 ||| x y z v w ||| A= -1 ||| -1
0 ||| a b c d e ||| A= -2 ||| -2
0 ||| a b c d f ||| A= -3 ||| -3
1 ||| a b c d ||| A= -2 ||| -2
"""
OTHER = """0 ||| a b c d e ||| B= 1 2 ||| 20
2 ||| k l ||| B= 1 2 ||| 20
"""


@pytest.fixture
def lists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path / "one.nbest", LISTS)
    write_text(tmp_path / "two.nbest", OTHER)
    write_text(tmp_path / "good.en", "a b c d e\na b c d\n")
    write_text(tmp_path / "weights.txt", "A_0 100\n")
    return tmp_path


def chosen(folder, *options):
    found = consensus_lists(compose_config("consensus_lists", [*options, f"output={folder / 'out'}"]))
    return (folder / "out").read_text().split("\n")[:-1], found


def test_lists_of_a_system(lists):
    known = ["dev_nbest=[one.nbest]", "dev_references=[good.en]"]
    assert chosen(lists, "nbest=[one.nbest]", *known) == (["a b c d e", "a b c d"], 100.0)
    assert chosen(lists, "nbest=[one.nbest]", "consensus.gamma=50") == (["x y z v w", "a b c d"], None)
    assert chosen(lists, "nbest=[one.nbest]", "consensus.gamma=0.1")[0] == ["a b c d e", "a b c d"]
    weighted = ["consensus.gamma=0.1", "weights_file=weights.txt"]
    assert chosen(lists, "nbest=[one.nbest]", *weighted)[0] == ["x y z v w", "a b c d"]


def test_lists_of_several_systems(lists):
    """The other system is sure of a translation that is the second one of the first system."""
    both = "nbest=[one.nbest,two.nbest]"
    assert chosen(lists, both, "consensus.gamma=1")[0] == ["a b c d e", "a b c d", "k l"]
    write_text(lists / "three.en", "a b c d e\na b c d\nk l m n\n")
    known = ["dev_nbest=[one.nbest,two.nbest]", "dev_references=[three.en]"]
    assert chosen(lists, both, *known)[0] == ["a b c d e", "a b c d", "k l"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "nothing to choose from"),
        (["nbest=[one.nbest]"], "the scale of scores is found"),
        (["nbest=[one.nbest]", "consensus=none"], "chooses nothing"),
        (["nbest=[one.nbest]", "consensus.utility=ter"], "consensus.utility is 'ter'"),
        (
            ["nbest=[one.nbest]", "dev_nbest=[one.nbest,two.nbest]", "dev_references=[good.en]"],
            "nbest has 1 files and dev_nbest 2",
        ),
    ],
)
def test_mistakes_in_consensus_lists_are_named(lists, options, sentence):
    with pytest.raises(UserError, match=sentence):
        consensus_lists(compose_config("consensus_lists", options))
