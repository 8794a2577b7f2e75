"""Little adaptation text: Bayesian predictive adaptation beside re-estimated weights, on real domains.

    python train.py corpus=scarce tune=mert
    python benchmarks/scarce.py --model runs/scarce/model --domains medical pydoc conversation game

For every domain: n-best lists of its development set (adaptation sets are drawn from it) and test set under the
model's weights; all methods for |A| from 10 to 1000; tables and pictures in --output. The data folder is
$JAXSMT_DATA or ../shared/data beside the repository.
"""

import argparse
import dataclasses
import os
from pathlib import Path

import numpy as np
from measure import measured, print_figures
from scarce_plots import plot_comparison, plot_sweep, plot_times

from jaxsmt.adapt.bpa.comparison import Comparison, ComparisonConfig, compare, comparison_text, precision_text, sweep
from jaxsmt.adapt.bpa.config import BpaConfig
from jaxsmt.common.device import setup_device
from jaxsmt.common.files import write_text
from jaxsmt.model.folder import open_model
from jaxsmt.model.model import Model
from jaxsmt.model.translation import PlainTranslator, plain_translator
from jaxsmt.model.tuned_weights import vector_of
from jaxsmt.pipeline.stages.tuning import decode_lists, tuning_text
from jaxsmt.text.reading import BitextSource
from jaxsmt.tune.lists import TuningLists
from jaxsmt.tune.mert.tuner import MertConfig
from jaxsmt.tune.scoring import score_lists

DATA = Path(os.environ.get("JAXSMT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "fr-en"
SWEEPS = {  # by method: settings and their values
    "heuristic": {
        "delta": (1.0, 2.0, 4.0, 8.0),
        "sigma_prior": (0.01, 0.1, 1.0),
        "num_samples": (100, 1000, 5000),
        "nbest": (10, 50, 100),
    },
    "mcmc": {"sigma_proposal": (0.0001, 0.001, 0.01, 0.1)},
}


def main() -> None:
    options = parse_options()
    setup_device()
    model = open_model(options.model)
    translator = plain_translator(model)
    weights = vector_of(model.weights)
    dev = scored_lists(model, translator, {name: source_of(name, "dev", 100) for name in model.names}, options.nbest)
    config = ComparisonConfig(
        sizes=tuple(options.sizes), repetitions=options.repetitions, methods=tuple(options.methods),
        bpa=BpaConfig(proposal="laplace", oracle=options.oracle),
        mert=MertConfig(metric=options.metric, restarts=4, perturbation_rounds=0),
    )  # fmt: skip
    figures = {}
    for name in options.domains:
        pool = scored_lists(model, translator, {name: source_of(name, "dev", max(options.sizes))}, options.nbest)
        test = scored_lists(model, translator, {name: source_of(name, "test", options.lines)}, options.nbest)
        with measured() as spent:
            found = compare(dev, pool, test, config, weights)
        report(name, found, Path(options.output))
        if options.sweeps and name == options.domains[0]:
            sweeps(dev, pool, test, config, weights, Path(options.output))
        figures[name] = as_figures(found) | {"cpu_seconds": round(spent.cpu_seconds, 1)}
    print_figures(figures)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="runs/scarce/model")
    parser.add_argument("--output", default="runs/scarce/adaptation")
    parser.add_argument("--domains", nargs="+", default=["medical", "pydoc", "conversation", "game"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[10, 20, 50, 100, 200, 500])
    parser.add_argument("--methods", nargs="+", default=list(ComparisonConfig().methods))
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--nbest", type=int, default=100)
    parser.add_argument("--lines", type=int, default=500, help="lines of each test set")
    parser.add_argument("--oracle", default="ter", choices=("ter", "bleu"), help="what BPA adapts to")
    parser.add_argument("--metric", default="bleu", choices=("ter", "bleu"), help="what MERT is run for")
    parser.add_argument("--sweeps", action=argparse.BooleanOptionalAction, default=True, help="over settings of BPA")
    return parser.parse_args()


def source_of(name: str, part: str, first: int) -> BitextSource:
    source, target = (str(DATA / name / f"{part}.{language}.gz") for language in ("fr", "en"))
    return BitextSource(source, target, source_language="fr", target_language="en", first=first)


def scored_lists(model: Model, translator: PlainTranslator, sets: dict[str, BitextSource], size: int) -> TuningLists:
    """n-best lists under the model's weights, with BLEU and TER statistics."""
    text = tuning_text(model, sets)
    lists = decode_lists(translator, text, model.weights, size)
    return score_lists(lists, text.references, with_ter=True)


def report(name: str, found: Comparison, output: Path) -> None:
    tables = [comparison_text(found, "ter"), comparison_text(found, "bleu"), precision_text(found, found.sizes)]
    text = "\n".join([name, *tables])
    print(text)
    write_text(output / f"{name}.txt", text)
    for metric in ("ter", "bleu"):
        plot_comparison(found, output / f"{name}.{metric}.png", metric, bars=True)
    plot_times(found, output / f"{name}.seconds.png")


def sweeps(
    dev: TuningLists, pool: TuningLists, test: TuningLists, config: ComparisonConfig, weights: np.ndarray, output: Path
) -> None:
    """The effect of δ, σ_T, S and n on the heuristic sampler, and of σ_o on Metropolis–Hastings."""
    for method, settings in SWEEPS.items():
        config = dataclasses.replace(config, methods=(method,))
        for parameter, values in settings.items():
            found = sweep(dev, pool, test, parameter, values, config, weights)
            plot_sweep(found, parameter, output / f"{parameter}.png")
            tables = [f"{parameter} {value}\n{comparison_text(one, 'ter')}" for value, one in found.items()]
            print("\n".join(tables))
            write_text(output / f"{parameter}.txt", "\n".join(tables))


def as_figures(found: Comparison) -> dict[str, dict[str, list[float]]]:
    """TER means and 2σ by method, in the order of the sizes."""
    means, intervals = found.means("ter"), found.intervals("ter")
    return {
        method: {"ter": means[number].round(3).tolist(), "interval": intervals[number].round(3).tolist()}
        for number, method in enumerate(found.methods)
    }


if __name__ == "__main__":
    main()
