"""One protocol for all tuners."""

from typing import Any, Protocol

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.tune.config import MertConfig, MiraConfig, ProConfig, RiskConfig, TrustRegionConfig
from jaxsmt.tune.lists import TuningLists
from jaxsmt.tune.mert.tuner import mert
from jaxsmt.tune.mira import mira
from jaxsmt.tune.pro import pro
from jaxsmt.tune.risk.tuner import risk
from jaxsmt.tune.trust_region import trust_region

TunerConfig = MertConfig | MiraConfig | ProConfig | RiskConfig | TrustRegionConfig


class Tuner(Protocol):
    """Finds weights [F] on n-best lists, from the weights [F] of the last decoder run."""

    metric: str

    def __call__(self, lists: TuningLists, start: np.ndarray) -> tuple[np.ndarray, Any]:
        """New weights [F] and what the tuner has to tell about the run."""
        ...


class _Configured:
    def __init__(self, tune_fn: Any, config: TunerConfig):
        self._tune_fn, self._config = tune_fn, config
        self.metric = getattr(config, "metric", "bleu")

    def __call__(self, lists: TuningLists, start: np.ndarray) -> tuple[np.ndarray, Any]:
        return self._tune_fn(lists, start, self._config)


def make_tuner(config: TunerConfig) -> Tuner:
    """The tuner that a configuration is for."""
    functions = {
        MertConfig: mert, MiraConfig: mira, ProConfig: pro, RiskConfig: risk, TrustRegionConfig: trust_region,
    }  # fmt: skip
    if type(config) not in functions:
        name = type(config).__name__
        raise UserError(f"'{name}' is no configuration of a tuner: use mert, mira, pro, risk or trust_region")
    return _Configured(functions[type(config)], config)
