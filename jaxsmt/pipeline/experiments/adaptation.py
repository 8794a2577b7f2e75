"""Adaptation to few sentences beside weights estimated anew (Sanchis-Trilles & Casacuberta 2015)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.adapt.bpa.comparison import Comparison, ComparisonConfig, compare
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.common.errors import UserError
from jaxsmt.common.progress import log
from jaxsmt.model.folder import open_model
from jaxsmt.model.translation import PlainTranslator, plain_translator
from jaxsmt.model.tuned_weights import vector_of
from jaxsmt.pipeline.experiments.config import Place
from jaxsmt.pipeline.experiments.tables import MeasuredCell, ResultTable
from jaxsmt.pipeline.stages.tuning import decode_lists, tuning_text
from jaxsmt.text.reading import BitextSource
from jaxsmt.tune.config import MertConfig
from jaxsmt.tune.lists import TuningLists
from jaxsmt.tune.scoring import score_lists

Sets = Mapping[str, BitextSource]


@dataclass(frozen=True)
class AdaptationConfig:
    """methods, sizes of adaptation sets, repetitions and seed as in `ComparisonConfig`; nbest: length of all lists;
    oracle: 'ter' or 'bleu', what BPA adapts to; mert_metric: what MERT is run for."""

    methods: tuple[str, ...] = ComparisonConfig.methods
    sizes: tuple[int, ...] = (10, 50, 100)
    repetitions: int = 10
    nbest: int = 100
    oracle: str = "ter"
    mert_metric: str = "bleu"
    seed: int = 1

    @property
    def comparison(self) -> ComparisonConfig:
        return ComparisonConfig(
            self.methods, self.sizes, self.repetitions, seed=self.seed,
            bpa=BpaConfig(proposal="laplace", oracle=self.oracle),
            mert=MertConfig(metric=self.mert_metric, restarts=4, perturbation_rounds=0),
        )  # fmt: skip


def adaptation_tables(model_dir: Path, sets: Mapping[str, Sets], config: AdaptationConfig) -> list[ResultTable]:
    """Tables of every text that there is something to adapt to; sets: those of the corpus by part."""
    names = [name for name in sets["adapt"] if name in sets["test"]]
    if not names:
        raise UserError(
            "no set of corpus.adapt is in corpus.test too: name text to adapt to and a test set alike, "
            "for instance +corpus.adapt.law… and +corpus.test.law…"
        )
    model = open_model(model_dir)
    translator = plain_translator(model)
    dev = scored_lists(translator, sets["dev"], config.nbest)
    tables = []
    for name in names:
        log.info("adapting to '%s'", name)
        pool, test = (scored_lists(translator, {name: sets[part][name]}, config.nbest) for part in ("adapt", "test"))
        found = compare(dev, pool, test, config.comparison, vector_of(model.weights))
        tables += comparison_tables(found, name)
    return tables


def scored_lists(translator: PlainTranslator, sets: Sets, size: int) -> TuningLists:
    """n-best lists under the model's own weights, with BLEU and TER statistics."""
    text = tuning_text(translator.model, sets)
    lists = decode_lists(translator, text, translator.model.weights, size)
    return score_lists(lists, text.references, with_ter=True)


def comparison_tables(found: Comparison, text: str) -> list[ResultTable]:
    """TER and BLEU with 2σ, 2σ of TER alone, and precisions of single words; columns are |A|."""
    ter, bleu = (_cells(found, found.means(metric), found.intervals(metric)) for metric in ("ter", "bleu"))
    intervals = _cells(found, found.intervals("ter"))
    words = _cells(found, found.precisions()[:, :, 0])
    return [
        ResultTable("ter", f"TER ± 2σ with |A| sentences, {text}", text, ter, True),
        ResultTable("bleu", f"BLEU ± 2σ, {text}", text, bleu),
        ResultTable("interval", f"2σ of TER, {text}", text, intervals, True),
        ResultTable("unigrams", f"Precision of single words, per cent, {text}", text, words),
    ]


def _cells(found: Comparison, values: np.ndarray, spreads: np.ndarray | None = None) -> dict[Place, MeasuredCell]:
    """Of [M, Z] values."""
    return {
        (method, str(size)): MeasuredCell(float(values[m, z]), 0.0 if spreads is None else float(spreads[m, z]))
        for m, method in enumerate(found.methods)
        for z, size in enumerate(found.sizes)
    }
