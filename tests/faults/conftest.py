"""A small model that the tests of faults share, with its artefacts."""

import pytest

from jaxsmt.pipeline.commands.train import train
from tests.faults.forked import Forker
from tests.pipeline.small_corpus import train_config, write_corpus

QUICK = ("align=ibm1", "align.ibm1_iterations=2", "lm=trigram", "translate=[]")


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A folder with corpus, artefacts and model; who changes something puts it back."""
    folder = tmp_path_factory.mktemp("faults")
    train(train_config(folder, [*write_corpus(folder / "corpus"), *QUICK]))
    return folder


@pytest.fixture(scope="session")
def forker(tmp_path_factory):
    """Starts processes quickly."""
    with Forker(tmp_path_factory.mktemp("forker")) as started:
        yield started
