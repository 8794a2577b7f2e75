"""Moses phrase, rule and reordering tables in and out, plain or .gz.

f ||| e ||| p(f|e) lex(f|e) p(e|f) lex(e|f) ||| alignment ||| c(e) c(f) c(f,e) ||| |||
f [X] ||| e [X] ||| …  with nonterminals [X][X], paired by the alignment
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.grouping import positions_in, unique_rows, widened
from jaxsmt.text.vocabulary import merge_vocabularies
from jaxsmt.tm.component import Component
from jaxsmt.tm.moses.lexical import LexicalPaths, read_lexical_counts
from jaxsmt.tm.moses.parse import BadLines, Chunk, Interners, LinkCodes, TokenIds, line_chunks, parse_lines
from jaxsmt.tm.moses.write import write_table
from jaxsmt.tm.reordering import component_orientations, orientation_counts
from jaxsmt.tm.scored import PLAIN_LABEL, ScoredTable, component_of_table, score_component
from jaxsmt.tm.union import intern_sides


def read_scored_table(path: str | Path, name: str | None = None, unescape: bool = False) -> ScoredTable:
    """Reads a phrase or rule table with its scores as they are.

    unescape: turns &#124; &#91; &#93; back into | [ ]; otherwise tokens stay as written.
    """
    path = Path(path)
    return _assemble(path, name, *_read(path, unescape))


def read_component(
    path: str | Path, lexical: LexicalPaths, name: str | None = None, unescape: bool = False
) -> Component:
    """Reads a phrase or rule table with its counts column, and Moses' two `lex.counts` files, as a component."""
    path = Path(path)
    interners, chunks = _read(path, unescape)
    word_counts = read_lexical_counts(lexical, interners.source, interners.target)
    table = _assemble(path, name, interners, chunks)
    if table.counts is None:
        raise _no_counts(path)
    return component_of_table(table, word_counts)


def check_component_table(path: str | Path) -> None:
    """Raises UserError where the first lines of a file are not those of a table with counts."""
    path = Path(path)
    first = next(iter(line_chunks(path)), None)
    if first is None:
        raise UserError(f"table '{path}' is empty: check how it was made")
    number, lines = first
    interners = _interners_for(lines[0], unescape=True)
    try:
        chunk = parse_lines(lines, interners)
    except BadLines:
        raise _located(path, number, lines, interners) from None
    if chunk.counts is None:
        raise _no_counts(path)


def _no_counts(path: Path) -> UserError:
    return UserError(
        f"'{path}' has no counts column (c(e) c(f) c(f,e)) in every line: use it as a table of fixed scores, "
        "or score it again with counts"
    )


def read_reordering_table(path: str | Path, table: ScoredTable, unescape: bool = False) -> np.ndarray:
    """[P, 6] float32: orientation probabilities of the pairs of `table`, NaN where the file lacks a pair."""
    other = read_scored_table(path, unescape=unescape)
    if other.scores.shape[1] != 6:
        raise UserError(
            f"'{path}' has {other.scores.shape[1]} scores a line: a msd-bidirectional-fe reordering table has 6"
        )
    places = _places_of_pairs(table, other)
    return np.concatenate([other.scores, np.full((1, 6), np.nan, np.float32)])[places]


def with_reordering(component: Component, path: str | Path, unescape: bool = False) -> Component:
    """The component with orientation counts recovered from a Moses reordering table."""
    probabilities = read_reordering_table(path, score_component(component), unescape)
    missing = int(np.isnan(probabilities).any(1).sum())
    if missing:
        raise UserError(
            f"'{path}' lacks {missing} of the {len(component)} pairs of component '{component.name}': "
            "give the reordering table of the same corpus"
        )
    counts = orientation_counts(probabilities, component.rules.joint_counts)
    return replace(component, rules=replace(component.rules, orientation_counts=counts))


def write_component(path: str | Path, component: Component, word_decimals: int | None = 7) -> None:
    """Writes a component as a phrase or rule table with counts.

    word_decimals: word probabilities are rounded before they enter lexical weights, as Moses does; None: not at all.
    """
    write_table(Path(path), score_component(component, word_decimals))


def write_reordering_table(path: str | Path, table: ScoredTable, probabilities: np.ndarray) -> None:
    """Writes orientation probabilities [P, 6] of the pairs of `table`."""
    write_table(Path(path), replace(table, scores=np.asarray(probabilities), counts=None), with_alignment=False)


def write_component_reordering(path: str | Path, component: Component) -> None:
    """Writes the reordering table of a component that has orientation counts."""
    counts = component.rules.orientation_counts
    if counts is None:
        raise UserError(f"component '{component.name}' has no orientation counts: train it with reordering")
    write_reordering_table(path, score_component(component), component_orientations(counts))


def _read(path: Path, unescape: bool) -> tuple[Interners, list[Chunk]]:
    interners = None
    chunks = []
    for number, lines in line_chunks(path):
        interners = interners or _interners_for(lines[0], unescape)
        try:
            chunks.append(parse_lines(lines, interners))
        except BadLines:
            raise _located(path, number, lines, interners) from None
    if interners is None:
        raise UserError(f"table '{path}' is empty: check how it was made")
    return interners, chunks


def _interners_for(first_line: str, unescape: bool) -> Interners:
    fields = first_line.split("|||")
    last = fields[0].strip(" ").split(" ")[-1]
    hierarchical = len(last) > 2 and last[0] == "[" and last[-1] == "]"
    num_scores = len(fields[2].split()) if len(fields) > 2 else 0
    source, target = TokenIds(hierarchical, unescape), TokenIds(hierarchical, unescape)
    return Interners(source, target, LinkCodes(), hierarchical, num_scores)


def _located(path: Path, number: int, lines: list[str], interners: Interners) -> UserError:
    """Finds the first bad line by halving."""
    if len(lines) > 1:
        half = len(lines) // 2
        try:
            parse_lines(lines[:half], interners)
        except BadLines:
            return _located(path, number, lines[:half], interners)
        return _located(path, number + half, lines[half:], interners)
    try:
        parse_lines(lines, interners)
    except BadLines as error:
        return UserError(f"'{path}' line {number} {error}")
    raise AssertionError("the line is good alone and bad with others")


def _assemble(path: Path, name: str | None, interners: Interners, chunks: list[Chunk]) -> ScoredTable:
    source_width, target_width = (max(getattr(c, side).shape[1] for c in chunks) for side in ("source", "target"))
    source_sides, source_index = unique_rows(np.concatenate([widened(c.source, source_width) for c in chunks]))
    target_sides, target_index = unique_rows(np.concatenate([widened(c.target, target_width) for c in chunks]))
    keys = source_index * len(target_sides) + target_index
    order = np.argsort(keys, kind="stable")
    repeated = np.nonzero(np.diff(keys[order]) == 0)[0]
    if len(repeated):
        first, second = order[repeated[0]] + 1, order[repeated[0] + 1] + 1
        raise UserError(f"'{path}' line {second} repeats the pair of line {first}: keep one of them")
    labels, left_labels, gap_labels = _labels(interners, chunks)
    has_counts = all(c.counts is not None for c in chunks)
    return ScoredTable(
        name=path.name if name is None else name,
        kind="hiero" if interners.hierarchical else "phrase",
        source_vocabulary=interners.source.vocabulary(),
        target_vocabulary=interners.target.vocabulary(),
        source_sides=source_sides,
        target_sides=target_sides,
        source_index=source_index[order].astype(np.int32),
        target_index=target_index[order].astype(np.int32),
        scores=np.concatenate([c.scores for c in chunks])[order],
        links_by_target=np.concatenate([widened(c.links, target_width) for c in chunks])[order],
        counts=np.concatenate([c.counts for c in chunks if c.counts is not None])[order] if has_counts else None,
        labels=labels,
        left_labels=left_labels[order],
        gap_labels=gap_labels[order],
    )


def _labels(interners: Interners, chunks: list[Chunk]) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Label names with X first, and label numbers of left-hand sides [P] and gaps [P, 2]."""
    # '[X]' and '[X][S]': the last bracket is the target language's label
    of_bracket = [text[text.rindex("[") + 1 : -1] for text in interners.target.brackets]
    labels = tuple(dict.fromkeys([PLAIN_LABEL, *of_bracket]))
    number = np.array([0] + [labels.index(label) for label in of_bracket], np.int8)  # bracket ids are -1, -2, …
    left = np.concatenate([c.left_labels for c in chunks])
    gaps = np.concatenate([c.gap_labels for c in chunks])
    return labels, number[-left], number[-gaps]


def _places_of_pairs(table: ScoredTable, other: ScoredTable) -> np.ndarray:
    """[P] for each pair of `table` its place in `other`, len(other) where it is not there."""
    _, source_maps = merge_vocabularies([table.source_vocabulary, other.source_vocabulary])
    _, target_maps = merge_vocabularies([table.target_vocabulary, other.target_vocabulary])
    _, source_places = intern_sides([table.source_sides, other.source_sides], source_maps)
    distinct, target_places = intern_sides([table.target_sides, other.target_sides], target_maps)
    keys, other_keys = (
        source_place[part.source_index] * len(distinct) + target_place[part.target_index]
        for part, source_place, target_place in zip((table, other), source_places, target_places, strict=True)
    )
    order = np.argsort(other_keys)
    return np.append(order, len(other))[positions_in(other_keys[order], keys)]
