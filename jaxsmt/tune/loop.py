"""The outer loop of tuning: decode, merge the n-best lists, optimise, until the weights stay."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.norms import l1_normalised
from jaxsmt.common.progress import log
from jaxsmt.common.settings import check_ranges
from jaxsmt.tune.lists import TuningLists, bleu_of_sums, list_score, ter_of_sums
from jaxsmt.tune.nbest import NBestLists, merge_nbest
from jaxsmt.tune.scoring import score_lists
from jaxsmt.tune.tuner import Tuner

_NUM_SAMPLES, _SAMPLING_SEED = 1000, 12345
DecodeFn = Callable[[np.ndarray], NBestLists]
WatchFn = Callable[[float], None]  # is told BLEU of every iteration; raises NotWorthIt to end the tuning


class NotWorthIt(Exception):
    """Somebody who watches a tuning has seen enough of it."""


@dataclass(frozen=True)
class LoopConfig:
    """When to stop.

    max_iterations: decoder runs, at the most.
    min_change: stop when no (L1-normalised) weight moves by more.
    min_gain, patience: stop after so many iterations in a row whose 1-best were no better than the best ones before by
      this much (0.001 is 0.1 BLEU points); batch tuners go on moving weights that no longer matter.
    with_ter: count TER for the table even where BLEU is tuned.
    """

    max_iterations: int = 15
    min_change: float = 1e-3
    min_gain: float = 5e-4
    patience: int = 3
    with_ter: bool = False

    def __post_init__(self) -> None:
        check_ranges(self, "loop", {"max_iterations": (1, 10_000), "patience": (1, 10_000)})
        check_ranges(self, "loop", {"min_change": (0.0, 1.0), "min_gain": (0.0, 1.0)})


@dataclass(frozen=True)
class TuningIteration:
    """One line of the table: of the decoder's 1-best before the tuner changed the weights.

    weights: the weights decoded with; tuned: those the tuner found; list_score: their objective on the merged lists.
    interval: what BLEU is in 95 of 100 samples of the sentences, drawn with replacement; empty where none was drawn.
    """

    number: int
    bleu: float
    ter: float | None
    length_ratio: float
    num_hypotheses: int
    list_score: float
    change: float
    weights: tuple[float, ...]
    tuned: tuple[float, ...]
    interval: tuple[float, ...] = ()


@dataclass(frozen=True)
class TuningResult:
    """weights: [F], the best ones decoded with (by the metric on the decoder's own 1-best); iterations: the table."""

    weights: np.ndarray
    feature_names: tuple[str, ...]
    iterations: tuple[TuningIteration, ...]
    has_converged: bool


def tune(
    decode_fn: DecodeFn, references: Sequence[Sequence[str]], start: np.ndarray, tuner: Tuner,
    config: LoopConfig | None = None, folder: str | Path | None = None, watch_fn: WatchFn | None = None,
) -> TuningResult:  # fmt: skip
    """Tunes weights [F] of a decoder; decode_fn gives its n-best lists for given weights and stays loaded.

    With a folder each iteration is saved when it is done (lists and table), and a run that was interrupted goes on
    after its last whole iteration. watch_fn is told of all iterations, those before the interruption too.
    """
    config = config or LoopConfig()
    merged, iterations = _load(folder) if folder is not None else (None, [])
    watch(iterations, watch_fn)
    with_ter = config.with_ter or tuner.metric == "ter"
    while len(iterations) < config.max_iterations and not _has_converged(iterations, config, tuner.metric):
        weights = np.array(iterations[-1].tuned) if iterations else np.asarray(start, np.float64)
        new = decode_fn(weights)
        merged = new if merged is None else merge_nbest([merged, new])
        lists = score_lists(merged, references, with_ter)
        weights = np.pad(weights, (0, lists.num_features - len(weights)))  # sparse features that are new start at 0
        tuned, _ = tuner(lists, weights)
        first = score_lists(_one_best(new), references, with_ter)
        iterations.append(_iteration(len(iterations) + 1, first, lists, weights, tuned, tuner.metric))
        log.info("%s", table_row(iterations[-1]))
        if folder is not None:
            _save(folder, merged, iterations)
        watch(iterations[-1:], watch_fn)
    return _result(iterations, merged, tuner.metric, _has_converged(iterations, config, tuner.metric), start)


def watch(iterations: Sequence[TuningIteration], watch_fn: WatchFn | None) -> None:
    """Tells of iterations, with as many digits as `curve` keeps."""
    for row in iterations if watch_fn is not None else ():
        watch_fn(_rounded(row.bleu))  # type: ignore[misc]


def _has_converged(iterations: list[TuningIteration], config: LoopConfig, metric: str) -> bool:
    if not iterations or iterations[-1].change <= config.min_change:
        return bool(iterations)
    quality = _qualities(iterations, metric)
    before, last = quality[: -config.patience], quality[-config.patience :]
    return bool(before) and max(last) < max(before) + config.min_gain


def _qualities(iterations: list[TuningIteration], metric: str) -> list[float]:
    """What the decoder's 1-best were worth; more is better."""
    return [-(row.ter or 0.0) if metric == "ter" else row.bleu for row in iterations]


def _one_best(lists: NBestLists) -> NBestLists:
    return lists.take(lists.offsets[:-1][np.diff(lists.offsets) > 0])


def _iteration(
    number: int, first: TuningLists, lists: TuningLists, weights: np.ndarray, tuned: np.ndarray, metric: str
) -> TuningIteration:
    has = first.sizes > 0
    statistics = first.statistics("bleu")[has, 0]
    sums = statistics.sum(0)
    ter = None if first.ter is None else float(ter_of_sums(first.ter[has, 0].sum(0)))
    change = float(np.abs(l1_normalised(tuned) - l1_normalised(weights)).max(initial=0.0))
    return TuningIteration(
        number, float(bleu_of_sums(sums)), ter, float(sums[0] / max(sums[1], 1)), int(lists.sizes.sum()),
        list_score(lists, tuned, metric), change, tuple(map(float, weights)), tuple(map(float, tuned)),
        bleu_interval(statistics),
    )  # fmt: skip


def bleu_interval(statistics: np.ndarray) -> tuple[float, ...]:
    """The 2.5th and the 97.5th percentile of BLEU over bootstrap samples (Koehn 2004) of statistics [B, 10].

    Samples are the same for every text of B sentences; the sums are of whole numbers, and so are exact.
    """
    if not len(statistics):
        return ()
    rng = np.random.default_rng(_SAMPLING_SEED)
    equal = np.full(len(statistics), 1 / len(statistics))
    drawn = rng.multinomial(len(statistics), equal, _NUM_SAMPLES)  # [S, B]: how often each sentence is in a sample
    scores = bleu_of_sums(drawn.astype(np.float64) @ statistics)
    return tuple(float(value) for value in np.percentile(scores, (2.5, 97.5)))


def _result(
    iterations: list[TuningIteration], merged: NBestLists | None, metric: str, has_converged: bool, start: np.ndarray
) -> TuningResult:
    if not iterations or merged is None:
        return TuningResult(np.asarray(start, np.float64), (), (), False)
    best = iterations[int(np.argmax(_qualities(iterations, metric)))]
    return TuningResult(np.array(best.weights), merged.feature_names, tuple(iterations), has_converged)


TABLE_HEAD = "iteration   BLEU    TER  length  hypotheses  list score  change"


def table_row(row: TuningIteration) -> str:
    """One line of the table; scores in per cent."""
    ter = "     –" if row.ter is None else f"{100 * row.ter:6.2f}"
    return (
        f"{row.number:9d} {100 * row.bleu:6.2f} {ter} {row.length_ratio:7.3f} {row.num_hypotheses:11d} "
        f"{100 * row.list_score:11.2f} {row.change:7.4f}"
    )


def table(result: TuningResult) -> str:
    """The table of a tuning run, with the weights it chose."""
    weights = "\n".join(f"{n} {w:.6g}" for n, w in zip(result.feature_names, result.weights, strict=False))
    return "\n".join([TABLE_HEAD, *map(table_row, result.iterations), "", weights]) + "\n"


def curve(result: TuningResult) -> str:
    """The same without the weights, as JSON; scores rounded to six digits."""
    names = ("number", "bleu", "interval", "ter", "length_ratio", "num_hypotheses", "list_score", "change")
    rows = [{name: _rounded(getattr(row, name)) for name in names} for row in result.iterations]
    chosen = [row.number for row in result.iterations if np.array_equal(row.weights, result.weights)]
    state = {"iterations": rows, "chosen": chosen[0] if chosen else None, "has_converged": result.has_converged}
    return json.dumps(state, indent=1) + "\n"


def _rounded(value: Any) -> Any:
    return [_rounded(part) for part in value] if isinstance(value, tuple) else round(value, 6) if value else value


def _save(folder: str | Path, merged: NBestLists, iterations: list[TuningIteration]) -> None:
    """Lists first, table last: the table says which lists belong to it, and appears whole or not at all."""
    folder = Path(folder)
    number = len(iterations)
    data = "\n".join(merged.texts).encode()
    arrays = {
        "features": merged.features, "scores": merged.scores, "offsets": merged.offsets,
        "texts": np.frombuffer(data, np.uint8),
    }  # fmt: skip
    save_arrays(folder / f"lists-{number}.safetensors", arrays)
    state = {
        "version": 1, "feature_names": merged.feature_names, "num_dense": merged.num_dense,
        "iterations": [asdict(row) for row in iterations],
    }  # fmt: skip
    write_text(folder / "tuning.json", json.dumps(state, indent=1) + "\n")
    for old in folder.glob("lists-*.safetensors"):
        if old.name != f"lists-{number}.safetensors":
            old.unlink()


def _load(folder: str | Path) -> tuple[NBestLists | None, list[TuningIteration]]:
    path = Path(folder) / "tuning.json"
    if not path.is_file():
        return None, []
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        vectors = ("weights", "tuned", "interval")
        rows = [
            TuningIteration(**row | {name: tuple(row.get(name, ())) for name in vectors}) for row in state["iterations"]
        ]
    except (ValueError, KeyError, TypeError):
        raise UserError(f"'{path}' is no record of a tuning run: delete the folder to start anew") from None
    arrays = open_arrays(path.parent / f"lists-{len(rows)}.safetensors")
    texts = tuple(arrays["texts"].tobytes().decode().split("\n")) if len(arrays["scores"]) else ()
    merged = NBestLists(
        texts, np.array(arrays["features"]), np.array(arrays["scores"]), np.array(arrays["offsets"]),
        tuple(state["feature_names"]), state["num_dense"], ((),) * len(texts),
    )  # fmt: skip
    return merged, rows
