"""Phrase pairs of a batch as rows to be counted: sides, links, orientations."""

import numpy as np

from jaxsmt.extract.alignments import WordLinks, mask_ranks, symbol_shift
from jaxsmt.extract.boxes import Boxes, find_boxes, link_grid
from jaxsmt.extract.config import ExtractConfig
from jaxsmt.extract.corpus import AlignedCorpus
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.buckets import Batch

MONO, SWAP, OTHER = 0, 1, 2
# Columns of R pairs seen; those of a source side in one place of the text stand together. Of each such side [O]:
# source_key, of rules source_rest, and num_rows, its rows. Of each [R]: target_key, target_rest, alignment, detail
Rows = dict[str, np.ndarray]


def phrase_rows(batch: Batch, corpus: AlignedCorpus, config: ExtractConfig) -> Rows:
    """The phrase pairs of a batch, every occurrence a row.

    Columns: source_key [O], num_rows [O]; target_key [R] (n-gram numbers as source_key), alignment (packed links),
    detail (orientations to the previous and next phrase as previous · 3 + next; 0 where they are not asked for). With
    several alignments a box that more than one of them allows counts once, with the links of the first.
    """
    parts, seen = [], np.zeros(0, np.int64)
    for links, word_links in zip(corpus.alignments, corpus.word_links, strict=True):
        is_linked = link_grid(batch, links)
        boxes = find_boxes(batch, corpus.bitext, is_linked, config.max_phrase_length)
        if len(corpus.alignments) > 1:
            boxes, seen = _leave_out(boxes, seen, batch, config.max_phrase_length)
        parts.append(_rows_of(boxes, batch, corpus, word_links, is_linked, config))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _rows_of(
    boxes: Boxes, batch: Batch, corpus: AlignedCorpus, word_links: WordLinks, is_linked: np.ndarray,
    config: ExtractConfig,
) -> Rows:  # fmt: skip
    row = batch.rows[boxes.sentence]
    source = corpus.bitext.source.offsets[row] + boxes.source_start  # places in the whole text
    target = corpus.bitext.target.offsets[row] + boxes.target_start
    detail = orientations(boxes, batch, corpus.bitext, is_linked) if config.orientations else 0
    first, sizes = boxes.source_spans()
    return {
        "source_key": corpus.source_ngrams.lookup(source[first], boxes.source_length[first]),
        "num_rows": sizes.astype(np.int32),
        "target_key": corpus.target_ngrams.lookup(target, boxes.target_length),
        "alignment": phrase_alignments(source, target, boxes.target_length, word_links, config.max_phrase_length),
        "detail": np.broadcast_to(detail, row.shape).astype(np.uint16),
    }


def _leave_out(boxes: Boxes, seen: np.ndarray, batch: Batch, max_length: int) -> tuple[Boxes, np.ndarray]:
    """The boxes that earlier alignments have not given, and the keys of all boxes so far."""
    _, width_source, width_target = batch.shape
    key = (boxes.sentence * width_source + boxes.source_start) * (max_length + 1) + boxes.source_length
    key = (key * width_target + boxes.target_start) * (max_length + 1) + boxes.target_length
    new = ~np.isin(key, seen)
    columns = (boxes.sentence, boxes.source_start, boxes.source_length, boxes.target_start, boxes.target_length)
    return Boxes(*(column[new] for column in columns)), np.concatenate([seen, key[new]])


def phrase_alignments(
    source: np.ndarray, target: np.ndarray, target_length: np.ndarray, word_links: WordLinks, width: int
) -> np.ndarray:
    """[R] uint64: the packed links of boxes that start at text places `source`, `target` [R]."""
    rank_of, _ = mask_ranks(width)
    key = np.zeros(len(source), np.uint64)
    for column in range(width):
        inside = np.flatnonzero(target_length > column)
        word = target[inside] + column
        shift = np.maximum(word_links.first[word] - source[inside], 0)
        mask = np.left_shift(word_links.mask[word].astype(np.int64), shift)
        key[inside] |= rank_of[mask] << symbol_shift(column, width, width)
    return key


def orientations(boxes: Boxes, batch: Batch, bitext: Bitext, is_linked: np.ndarray) -> np.ndarray:
    """[K] int: previous · 3 + next, word-based msd (Koehn et al. 2005, section 3).

    Previous: mono if only the word pair before both spans is linked, swap if only the pair of the source word
    after and the target word before is, otherwise other; next likewise at the end. The borders of the sentence
    are linked to each other, start to start and end to end.
    """
    num_batch, num_source, num_target = is_linked.shape
    framed = np.zeros((num_batch, num_source + 2, num_target + 2), bool)
    framed[:, 1:-1, 1:-1] = is_linked
    framed[:, 0, 0] = True
    every = np.arange(num_batch)
    framed[every, batch.take(bitext.source.lengths) + 1, batch.take(bitext.target.lengths) + 1] = True

    flat, stride = framed.reshape(-1), num_target + 2
    corner = boxes.sentence * ((num_source + 2) * stride)
    source_before = corner + boxes.source_start * stride
    source_after = source_before + (boxes.source_length + 1) * stride
    target_before, target_after = boxes.target_start, boxes.target_start + boxes.target_length + 1
    previous = _orientation(flat[source_before + target_before], flat[source_after + target_before])
    following = _orientation(flat[source_after + target_after], flat[source_before + target_after])
    return previous * 3 + following


def _orientation(is_straight: np.ndarray, is_crossed: np.ndarray) -> np.ndarray:
    return np.where(is_straight == is_crossed, OTHER, np.where(is_straight, MONO, SWAP))
