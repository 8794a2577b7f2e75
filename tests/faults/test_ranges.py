"""Every number of a configuration has a range: what is no number, or beyond any use, is refused by its whole key."""

import dataclasses
import math
import re

import pytest

from jaxsmt.align.model import AlignConfig
from jaxsmt.common.errors import UserError
from jaxsmt.common.settings import with_changes
from jaxsmt.evaluate.compare import CompareConfig
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.model.mixing import MixingConfig
from jaxsmt.model.rescoring import RescoringTraining
from jaxsmt.pipeline.config.adapters import ADAPTERS
from jaxsmt.pipeline.config.consensus import WAYS
from jaxsmt.pipeline.config.rooms import room_config
from jaxsmt.pipeline.config.schemas import LanguageModelConfig, TmConfig
from jaxsmt.pipeline.config.tuners import TUNERS
from jaxsmt.search.decoder import SearchConfig
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.encoding import TextConfig
from jaxsmt.tune.loop import LoopConfig

ROOMS = [
    ("text", TextConfig), ("align", AlignConfig), ("extract", ExtractConfig), ("tm", TmConfig),
    ("lm", LanguageModelConfig), ("mixture", MixingConfig), ("search", SearchConfig), ("weights", SearchWeights),
    ("rescore", RescoringTraining), ("loop", LoopConfig), ("evaluate", CompareConfig),
    *(("tune", room) for room in TUNERS.values()), *(("adapt", room) for room in ADAPTERS.values()),
    *(("consensus", room) for room in WAYS.values()),
]  # fmt: skip
HUGE = (-(10**12), 10**12)
NO_NUMBERS = (math.nan, math.inf, -math.inf)


def numbers_of(room, path=()):
    """(path, whether it is a list, whether it is whole) of every number of a dataclass."""
    for column in dataclasses.fields(room):
        here = (*path, column.name)
        if dataclasses.is_dataclass(column.default_factory):
            yield from numbers_of(column.default_factory, here)
            continue
        kind = str(column.type)
        if room is SearchWeights or "float" in kind or re.search(r"\bint\b", kind):
            yield here, "tuple" in kind, "float" not in kind and room is not SearchWeights


def nested(path, value):
    return {path[0]: nested(path[1:], value)} if len(path) > 1 else {path[0]: value}


@pytest.mark.parametrize(("group", "room"), ROOMS)
def test_no_number_is_without_a_range(group, room):
    for path, is_list, is_whole in numbers_of(room):
        for value in HUGE if is_whole else NO_NUMBERS:
            with pytest.raises(UserError, match=rf"^{group}\.{re.escape('.'.join(path))} is .*{value}"):
                room_config(room, nested(path, [value] if is_list else value), group)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"estimation": {"order": 70}}, "lm.estimation.order is 70: give a number from 1 to 9"),
        ({"estimation": {"prune": [1, 2]}}, "lm.estimation.prune is [1, 2] for order 5"),
        ({"classes": {"estimation": {"order": 0}}}, "lm.classes.estimation.order is 0"),
        ({"mixture": {"prior": -1.0}}, "lm.mixture.prior is -1.0: give a number from 0"),
    ],
)
def test_the_real_key_is_named(values, sentence):
    with pytest.raises(UserError, match="^" + re.escape(sentence)):
        room_config(LanguageModelConfig, values, "lm")


def test_what_a_tuner_of_members_is_told_is_named_where_it_stands():
    with pytest.raises(UserError, match=r"^adapt\.mert\.restarts is -1"):
        room_config(ADAPTERS["bagging"], {"mert": {"restarts": -1}}, "adapt")


def test_changes_are_named_where_they_stand():
    with pytest.raises(UserError, match=r"^search\.beam\.kept is 0: give a number from 1"):
        with_changes(SearchConfig(), {"beam": {"kept": 0}}, "search")
