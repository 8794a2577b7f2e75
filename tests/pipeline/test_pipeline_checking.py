"""Before it runs: mixed-up languages stop a training."""

import pytest

from jaxsmt.common.errors import UserError
from jaxsmt.pipeline.checking.languages import check_languages
from jaxsmt.pipeline.commands.train import corpus_sources, train
from tests.pipeline.small_corpus import train_config, write_corpus


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
