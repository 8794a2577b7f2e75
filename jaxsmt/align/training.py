"""Training an aligner on a parallel text by EM, and aligning text with it."""

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
import numpy as np

from jaxsmt.align.agreement import unpacked_links
from jaxsmt.align.cells import Cells, WordPairs, find_cells, number_cells
from jaxsmt.align.em import UNSEEN, BatchSums, FoundLinks, PaddedPairs, Parameters, PassKind, find_links
from jaxsmt.align.lane_tasks import passes_by_tasks
from jaxsmt.align.lanes import Found, LaneText, PassResult, lanes_at_once, padded_pairs, pass_here, shared_lanes
from jaxsmt.align.lexicon import Lexicon, m_step, uniform_lexicon
from jaxsmt.align.links import make_links
from jaxsmt.align.model import PRODUCT, AlignConfig, Aligner
from jaxsmt.align.positions import Positions, count_lengths, initial_positions, update_jumps, update_tension
from jaxsmt.align.symmetrise import symmetrise
from jaxsmt.common.cluster.tasks import TaskRunner
from jaxsmt.common.devices.spreading import Replicas
from jaxsmt.common.errors import UserError
from jaxsmt.common.lanes import in_lanes
from jaxsmt.common.progress import log, track
from jaxsmt.common.ragged import Ragged
from jaxsmt.common.sizes import padded_rows, rounded_size
from jaxsmt.common.wording import counted
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.buckets import Batch, make_batches
from jaxsmt.text.vocabulary import UNKNOWN

_CELLS_PER_SHAPE = 20_000_000  # compiling a shape takes as long as a few passes over a tenth of this
_FEW_CELLS = 2_000_000  # below, all sentences get one shape, which the next small text is likely to have too
_MIN_SHAPES = 3

PassFn = Callable[[Parameters, PassKind, bool], PassResult]


@dataclass(frozen=True)
class EmIteration:
    """One EM pass as reported to `progress`: perplexities under the parameters it starts with, forward and reverse."""

    model: str
    number: int
    perplexity: tuple[float, float]
    tension: tuple[float, float]


def train_and_align(
    bitext: Bitext, num_source_words: int, num_target_words: int, config: AlignConfig | None = None, *,
    prior_fn: Callable[[WordPairs], np.ndarray] | None = None, progress: Callable[[EmIteration], None] | None = None,
    tasks: TaskRunner | None = None,
) -> tuple[Aligner, Ragged]:  # fmt: skip
    """Trains and aligns the training text: the links are those of the last pass, as `align` would give them.

    prior_fn: [P] float32, how often the words of each pair were linked in other text, or what their spelling is worth
      (`likeness_prior`); counts of a Dirichlet prior.
    tasks: who passes over lanes of the text; None: this process.
    """
    config = config or AlignConfig()
    _check(bitext, num_source_words, num_target_words)
    sizes = rounded_size(num_source_words), rounded_size(num_target_words)
    pairs, cells = number_cells(bitext, _batches(bitext, config), *sizes, _bytes(config))
    text = LaneText(bitext, cells, pairs)
    extra = None if prior_fn is None else prior_fn(pairs)
    with nullcontext(partial(pass_here, text)) if tasks is None else passes_by_tasks(tasks, text) as pass_fn:
        aligner, found = _train(text, pass_fn, config, extra, progress)
    return aligner, _links(found, len(bitext), config)


def align(aligner: Aligner, bitext: Bitext, config: AlignConfig | None = None) -> Ragged:
    """Symmetrised links of any text; words the aligner has not seen follow the model of positions."""
    config = config or aligner.config
    return _links(_find(aligner, bitext, config), len(bitext), config)


def align_directed(aligner: Aligner, bitext: Bitext, config: AlignConfig | None = None) -> tuple[Ragged, Ragged]:
    """Forward links (every target word has at most one) and reverse links (every source word)."""
    return _directed_links(_find(aligner, bitext, config or aligner.config), len(bitext))


def _find(aligner: Aligner, bitext: Bitext, config: AlignConfig) -> Found:
    model, pairs = aligner.model, aligner.pairs
    known = Bitext(
        _known_words(bitext.source, len(pairs.hot_source)), _known_words(bitext.target, len(pairs.hot_target))
    )
    cells = find_cells(known, _batches(known, config), pairs, _bytes(config))
    longest = max([1, *(max(batch.width_source, batch.width_target) for batch in cells.batches)])
    positions = _widened(aligner.config.positions_of(aligner.positions, model), longest)
    p0 = aligner.config.null_probability_of(model)
    parameters, lexica = Parameters(aligner.lexicon, positions, p0, config.product_threshold), Replicas(aligner.lexicon)
    find = partial(find_links, model=model, wide=config.kind_of(model).wide)
    lanes = []
    for place, lane in enumerate(shared_lanes([math.prod(batch.shape) for batch in cells.batches], lanes_at_once())):
        own = partial(find, parameters=parameters._replace(lexicon=lexica.on(place)))
        lanes.append(_aligned_lane(known, cells, lane, own))
    done = dict(track(in_lanes(lanes), "aligning", len(cells.batches)))
    return [(batch, done[number]) for number, batch in enumerate(cells.batches)]


def _train(
    text: LaneText, pass_fn: PassFn, config: AlignConfig, extra: np.ndarray | None,
    progress: Callable[[EmIteration], None] | None,
) -> tuple[Aligner, Found]:  # fmt: skip
    """The aligner, and what the last pass links; extra: [P] of the prior, as in `m_step`."""
    bitext, cells, pairs = text
    log.info("aligning %s with %s", counted(len(bitext), "sentence pair"), counted(len(pairs), "word pair"))
    lexicon = uniform_lexicon(pairs)
    widest = max(max(batch.width_source, batch.width_target) for batch in cells.batches)
    positions = initial_positions(config.tension, max(rounded_size(widest), 32))
    sides = bitext.source.lengths, bitext.target.lengths
    lengths = count_lengths(*sides), count_lengths(*sides[::-1])
    words = np.array([max(int(np.sum(part.made * part.pairs)), 1) for part in lengths])
    for number, model in enumerate(config.schedule, 1):
        is_last = number == len(config.schedule)
        if is_last:  # what is less probable than a pair never seen is treated as such from here on
            lexicon = Lexicon(*(jnp.maximum(part, UNSEEN) for part in lexicon))
        parameters = Parameters(
            lexicon, config.positions_of(positions, model), config.null_probability_of(model), config.product_threshold
        )
        counts, sums, found = pass_fn(parameters, config.kind_of(model), is_last)
        del parameters
        perplexity = np.exp(-sums.log_likelihood / words).tolist()
        _report(EmIteration(model, number, tuple(perplexity), tuple(positions.tension.tolist())), progress)
        if not is_last:  # the last pass is there to align
            lexicon = m_step(counts, pairs, config.alpha, extra)
            may_tighten = config.optimise_tension and number > 1
            positions = _update_positions(positions, sums, words, lengths, model, may_tighten)
        del counts
    return _compact(pairs, lexicon, positions, config), found


def _aligned_lane(
    bitext: Bitext, cells: Cells, lane: list[int], find: Callable[[PaddedPairs], FoundLinks]
) -> Iterator[tuple[int, FoundLinks]]:
    for number in lane:
        yield number, find(padded_pairs(bitext, cells, number))


def _update_positions(
    positions: Positions, sums: BatchSums, words: np.ndarray, lengths: tuple, model: str, optimise_tension: bool
) -> Positions:
    """The M-step of the position model in use; lexicon and positions are updated side by side."""
    if model == "hmm":
        jumps, departures = np.asarray(sums.jump), np.asarray(sums.departures)
        jump = [update_jumps(positions.jump[d], jumps[d], departures[d]) for d in (0, 1)]
        return positions._replace(jump=np.stack(jump))
    if model == "diagonal" and optimise_tension:
        feature = sums.feature / np.maximum(words - sums.null, 1e-6)
        tension = [update_tension(float(positions.tension[d]), feature[d], lengths[d]) for d in (0, 1)]
        return positions._replace(tension=np.array(tension, np.float32))
    return positions


def _links(found: Found, num_rows: int, config: AlignConfig) -> Ragged:
    """The links of R pairs, as the configuration wants them made of both directions."""
    if config.symmetrisation == PRODUCT:
        return _agreed_links(found, num_rows)
    return symmetrise(*_directed_links(found, num_rows), config.symmetrisation)


def _agreed_links(found: Found, num_rows: int) -> Ragged:
    parts = [np.zeros((3, 0), np.int64)]
    for batch, links in found:
        place, source, target = unpacked_links(np.asarray(links.agreed))
        parts.append(np.stack([batch.rows[place], source, target]))
    row, source, target = np.concatenate(parts, axis=1)
    return make_links(row, source, target, num_rows)


def _directed_links(found: Found, num_rows: int) -> tuple[Ragged, Ragged]:
    forward, reverse = [np.zeros((3, 0), np.int64)], [np.zeros((3, 0), np.int64)]
    for batch, links in found:
        for_target, for_source = np.asarray(links.for_target), np.asarray(links.for_source)
        place, j = np.nonzero(for_target >= 0)
        forward.append(np.stack([batch.rows[place], for_target[place, j], j]))
        place, i = np.nonzero(for_source >= 0)
        reverse.append(np.stack([batch.rows[place], i, for_source[place, i]]))
    first, second = np.concatenate(forward, axis=1), np.concatenate(reverse, axis=1)
    return (
        make_links(first[0], first[1], first[2], num_rows),
        make_links(second[0], second[1], second[2], num_rows),
    )


def _widened(positions: Positions, longest: int) -> Positions:
    """Jump weights for at least `longest` words; widths that training had no use for get its smallest weight."""
    missing = longest - (positions.jump.shape[1] - 1) // 2
    if missing <= 0:
        return positions
    edge = np.tile(positions.jump.min(axis=1, keepdims=True), (1, missing))
    return positions._replace(jump=np.concatenate([edge, positions.jump, edge], axis=1))


def _compact(pairs: WordPairs, lexicon: Lexicon, positions: Positions, config: AlignConfig) -> Aligner:
    """The aligner without the pairs that are no more probable than unseen ones."""
    probability = np.asarray(lexicon.pair)[: len(pairs)]
    is_kept = (probability > np.float32(UNSEEN)).any(axis=1) & pairs.is_seen
    is_seen = is_kept.copy()
    is_kept[: pairs.num_hot] = True  # the grid stays whole
    kept = WordPairs(
        pairs.source_word[is_kept], pairs.target_word[is_kept], is_seen[is_kept], pairs.hot_source, pairs.hot_target
    )
    small = Lexicon(jnp.asarray(padded_rows(probability[is_kept])), lexicon.null_target, lexicon.null_source)
    return Aligner(kept, small, positions, config.schedule[-1], config)


def _batches(bitext: Bitext, config: AlignConfig) -> list[Batch]:
    if not len(bitext):
        return []
    cells = int(np.sum(bitext.source.lengths * bitext.target.lengths))
    max_shapes = max(cells // _CELLS_PER_SHAPE, min(1 + cells // _FEW_CELLS, _MIN_SHAPES))
    return make_batches(
        bitext.source.lengths, bitext.target.lengths, step=4 if max_shapes > 1 else 16,
        cells_per_batch=config.cells_per_batch, max_shapes=min(max_shapes, config.max_shapes),
    )  # fmt: skip


def _bytes(config: AlignConfig) -> int:
    return int(config.index_memory_gb * 2**30)


def _known_words(text: Ragged, num_words: int) -> Ragged:
    return Ragged(np.where(text.values < num_words, text.values, UNKNOWN).astype(np.int32), text.offsets)


def _check(bitext: Bitext, num_source_words: int, num_target_words: int) -> None:
    if not len(bitext.source.values) or not len(bitext.target.values):
        raise UserError("the text to align has no words on one side: check the corpus files and the cleaning limits")
    for text, size, side in ((bitext.source, num_source_words, "source"), (bitext.target, num_target_words, "target")):
        if text.values.max() >= size:
            raise ValueError(f"{side} word id {text.values.max()} is outside a vocabulary of {size}")


def _report(iteration: EmIteration, progress: Callable[[EmIteration], None] | None) -> None:
    log.info(
        "iteration %d (%s): perplexity forward %.4f, reverse %.4f; tension %.4f, %.4f",
        iteration.number, iteration.model, *iteration.perplexity, *iteration.tension,
    )  # fmt: skip
    if progress is not None:
        progress(iteration)
