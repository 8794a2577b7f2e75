"""E-steps by tasks, a lane each: parameters and counts go through files, and are added as one process adds them."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, reduce
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from jaxsmt.align.cells import Cells, WordPairs
from jaxsmt.align.em import BatchSums, FoundLinks, Parameters, PassKind, add_sums
from jaxsmt.align.lanes import Found, LaneText, PassResult, counted_lane, lanes_of
from jaxsmt.align.lexicon import Lexicon, LexiconCounts, add_counts, zero_counts
from jaxsmt.align.positions import Positions
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.cluster.tasks import TaskRunner
from jaxsmt.common.files import remove
from jaxsmt.common.ragged import Ragged, offsets_of
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.buckets import Batch

TEXT, PARAMETERS = "text.safetensors", "parameters"
Columns = Mapping[str, np.ndarray]


@contextmanager
def passes_by_tasks(tasks: TaskRunner, text: LaneText) -> Iterator[Callable[[Parameters, PassKind, bool], PassResult]]:
    """A function like `pass_here` of the text, whose lanes are tasks."""
    lanes, passes = lanes_of(text.cells), itertools.count()

    def run_pass(parameters: Parameters, kind: PassKind, keeps_links: bool) -> PassResult:
        own = folder / f"pass-{next(passes)}"  # no name twice: other machines may remember what a file was
        own.mkdir()
        save_arrays(own / PARAMETERS, _arrays_of(lexicon=parameters.lexicon, positions=parameters.positions))
        numbers = parameters.p0, parameters.threshold
        told = [(own / f"lane-{place}", lane, numbers, kind, keeps_links) for place, lane in enumerate(lanes)]
        found = [open_arrays(path) for path in tasks.run(count_lane, told, kind.model, len(told))]
        counts = [LexiconCounts(**{name: jnp.array(value) for name, value in _part(one, "counts")}) for one in found]
        sums = add_sums(_batch_sums(found, lanes))
        links = _found_links(found, lanes, text.cells.batches) if keeps_links else []
        remove(own)
        return PassResult(reduce(add_counts, counts), sums, links)

    with tasks.scratch("alignment") as folder:
        _save_text(folder, text)
        yield run_pass


def count_lane(output: Path, lane: list[int], numbers: tuple, kind: PassKind, keeps_links: bool) -> Path:
    """Passes over one lane and writes what it gives; numbers: p0 and the threshold of `Parameters`."""
    text = _open_text(output.parent.parent)
    given = open_arrays(output.with_name(PARAMETERS))
    lexicon = Lexicon(**{name: jnp.array(value) for name, value in _part(given, "lexicon")})
    positions = Positions(**{name: np.array(value) for name, value in _part(given, "positions")})
    counts = [zero_counts(text.pairs)]
    steps = counted_lane(text, lane, counts, 0, Parameters(lexicon, positions, *numbers), kind)
    sums, links = [], []
    for _, (part, found) in steps:
        sums.append(part)
        if keeps_links:
            links.append([np.asarray(field) for field in found])
    arrays = _arrays_of(counts=counts[0])
    for name, values in zip(BatchSums._fields, zip(*sums, strict=True), strict=False):  # a lane may be empty
        arrays[f"sums.{name}"] = np.stack([np.asarray(value) for value in values])
    for name, values in zip(FoundLinks._fields, zip(*links, strict=True), strict=False):
        arrays[f"links.{name}"] = np.concatenate([value.reshape(-1) for value in values])
    save_arrays(output, arrays)
    return output


def _save_text(folder: Path, text: LaneText) -> None:
    cells, batches = text.cells, text.cells.batches
    rows = Ragged(
        np.concatenate([batch.rows for batch in batches]),
        offsets_of(np.array([len(batch.rows) for batch in batches], np.int64)),
    )
    arrays = {"index": cells.index, "starts": cells.starts}
    arrays["widths"] = np.array([(batch.width_source, batch.width_target) for batch in batches], np.int64)
    parts = {"source": text.bitext.source, "target": text.bitext.target, "rows": rows, "pairs": text.pairs}
    arrays |= {f"{name}.{field}": value for name, part in parts.items() for field, value in vars(part).items()}
    save_arrays(folder / TEXT, arrays)


@lru_cache(maxsize=1)
def _open_text(folder: Path) -> LaneText:
    """What `_save_text` wrote, mapped; a process keeps the last one."""
    arrays = open_arrays(folder / TEXT)
    rows, widths = Ragged(**dict(_part(arrays, "rows"))), arrays["widths"].tolist()
    batches = [Batch(np.array(rows[number]), *widths[number]) for number in range(len(rows))]
    bitext = Bitext(Ragged(**dict(_part(arrays, "source"))), Ragged(**dict(_part(arrays, "target"))))
    cells = Cells(batches, arrays["index"], arrays["starts"])
    return LaneText(bitext, cells, WordPairs(**dict(_part(arrays, "pairs"))))


def _arrays_of(**parts: Lexicon | LexiconCounts | Positions) -> dict[str, np.ndarray]:
    fields = ((name, field, value) for name, part in parts.items() for field, value in part._asdict().items())
    return {f"{name}.{field}": np.asarray(value) for name, field, value in fields}


def _part(arrays: Columns, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """The fields of one part, by name."""
    return ((key.partition(".")[2], array) for key, array in arrays.items() if key.startswith(f"{name}."))


def _batch_sums(found: list[dict[str, np.ndarray]], lanes: list[list[int]]) -> list[BatchSums]:
    """The sums of all batches, in the order of the batches."""
    sums: dict[int, BatchSums] = {}
    for arrays, lane in zip(found, lanes, strict=True):
        columns = dict(_part(arrays, "sums"))
        for turn, number in enumerate(lane):
            sums[number] = BatchSums(*(columns[name][turn] for name in BatchSums._fields))
    return [sums[number] for number in range(len(sums))]


def _found_links(found: list[dict[str, np.ndarray]], lanes: list[list[int]], batches: list[Batch]) -> Found:
    """The links of all batches, copied out of the files."""
    links: dict[int, FoundLinks] = {}
    for arrays, lane in zip(found, lanes, strict=True):
        columns, place = dict(_part(arrays, "links")), [0, 0, 0]
        for number in lane:
            size, width, height = batches[number].shape
            fields = []
            for which, shape in enumerate([(size, height), (size, width), (size, width, -(-height // 8))]):
                end = place[which] + int(np.prod(shape))
                fields.append(np.array(columns[FoundLinks._fields[which]][place[which] : end]).reshape(shape))
                place[which] = end
            links[number] = FoundLinks(*fields)
    return [(batch, links[number]) for number, batch in enumerate(batches)]
