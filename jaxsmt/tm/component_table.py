"""Each component as a model of its own: its rules with its own features, beside the pairs of the union.

What log-linear and linear mixtures, fill-up and ensembles combine are finished scores of separate models. These depend
on no λ, so they are computed once. A component's lexical weights use its own alignment of a pair, as its own table
would; the union, whose counts are mixed before anything is divided, has one alignment for all (`UnionView`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.common.grouping import widened
from jaxsmt.common.ragged import offsets_of, ranges
from jaxsmt.tm.component import Component
from jaxsmt.tm.features import pair_features
from jaxsmt.tm.union import Statistics, UnionView, build_union, intern_sides

ROWS_PER_CHUNK = 1 << 18


@dataclass(frozen=True)
class ComponentTable:
    """R rules of D components, sorted by (pair of the union, component); every pair has at least one."""

    num_components: int
    first_row: np.ndarray  # [P + 1] int64: the rules of pair p are rows first_row[p]..first_row[p + 1] - 1
    pair: np.ndarray  # [R] int32
    component: np.ndarray  # [R] int32
    features: np.ndarray  # [R, 4] float32 natural logarithms, floored as all features are
    links_by_target: np.ndarray  # [R, Lt] uint16: the component's own alignment

    def __len__(self) -> int:
        """R."""
        return len(self.pair)

    def rows_of(self, pair_index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All rows of pairs [A], one pair after the other, and the first one's place of each pair [A]."""
        size = np.diff(self.first_row)[pair_index]
        return ranges(self.first_row[pair_index], size)[0], np.cumsum(size) - size

    def spread(self, values: np.ndarray, missing: float) -> np.ndarray:
        """Values of rows [R, ...] as [P, D, ...], with `missing` where a component lacks the pair."""
        table = np.full((len(self.first_row) - 1, self.num_components, *values.shape[1:]), missing, values.dtype)
        table[self.pair, self.component] = values
        return table


def component_table(union: UnionView, components: Sequence[Component]) -> ComponentTable:
    """The rules of the components that `union` was built from."""
    views = [build_union([component]) for component in components]
    pair = np.concatenate(_places_in(union, views))
    component = np.repeat(np.arange(len(views), dtype=np.int32), [len(view) for view in views])
    order = np.argsort(pair, kind="stable")
    width = union.links_by_target.shape[1]
    links = [widened(view.links_by_target[:, :width], width) for view in views]
    return ComponentTable(
        len(views),
        offsets_of(np.bincount(pair, minlength=len(union))),
        pair[order].astype(np.int32),
        component[order],
        _own_features(side_by_side([view.statistics for view in views]))[order],
        np.concatenate(links)[order],
    )


def _places_in(union: UnionView, views: list[UnionView]) -> list[np.ndarray]:
    """The union's number of each pair of the views."""
    places = []
    for side in ("source", "target"):
        merged = getattr(union, f"{side}_vocabulary")
        maps = [_ids_in(merged.id_of, len(merged), getattr(view, f"{side}_vocabulary").words) for view in views]
        sides, place = intern_sides([getattr(view, f"{side}_sides") for view in views], maps)
        assert len(sides) == len(getattr(union, f"{side}_sides")), "the union was built from other components"
        places.append(place)
    num_targets = max(len(union.target_sides), 1)
    keys = union.statistics.source_index.astype(np.int64) * num_targets + union.statistics.target_index
    return [
        np.searchsorted(keys, source[view.statistics.source_index] * num_targets + target[view.statistics.target_index])
        for view, source, target in zip(views, *places, strict=True)
    ]


def _ids_in(id_of: dict[str, int], num_ids: int, words: Sequence[str]) -> np.ndarray:
    """[V_d] int32: merged ids of a component's ids."""
    return np.array([*range(num_ids - len(id_of)), *(id_of[word] for word in words)], np.int32)


def _own_features(statistics: Statistics) -> np.ndarray:
    """[R, 4]: the features at λ = 1, in chunks."""
    num = len(statistics.source_index)
    one = np.ones((4, 1), np.float32)
    starts = range(0, max(num, 1), ROWS_PER_CHUNK)
    parts = [pair_features(statistics, one, np.arange(at, min(at + ROWS_PER_CHUNK, num))) for at in starts]
    return np.concatenate(parts)


def side_by_side(parts: Sequence[Statistics]) -> Statistics:
    """Models of one component each as one model with one component, in which nothing is shared.

    Sides, words and factors are numbered one part after the other: a pair meets the counts of its own part only.
    """

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts], axis=-1)

    def shifted(name: str, sizes: list[int]) -> np.ndarray:
        return np.concatenate([getattr(part, name) + at for part, at in zip(parts, _starts(sizes), strict=True)])

    words = [part.source_word_counts.shape[1] for part in parts], [part.target_word_counts.shape[1] for part in parts]
    source_factors, source_links = _join_factors(parts, "source")
    target_factors, target_links = _join_factors(parts, "target")
    return Statistics(
        source_index=shifted("source_index", [part.source_counts.shape[1] for part in parts]),
        target_index=shifted("target_index", [part.target_counts.shape[1] for part in parts]),
        joint_counts=joined("joint_counts"),
        source_counts=joined("source_counts"),
        target_counts=joined("target_counts"),
        word_pairs=np.concatenate(
            [part.word_pairs + at for part, at in zip(parts, np.stack([*map(_starts, words)], 1), strict=True)]
        ),
        word_joint_counts=joined("word_joint_counts"),
        source_word_counts=joined("source_word_counts"),
        target_word_counts=joined("target_word_counts"),
        target_factors=target_factors,
        target_factor_links=target_links,
        source_factors=source_factors,
        source_factor_links=source_links,
    )


def _starts(sizes: list[int]) -> np.ndarray:
    return offsets_of(np.array(sizes))[:-1].astype(np.int32)


def _join_factors(parts: Sequence[Statistics], side: str) -> tuple[np.ndarray, np.ndarray]:
    """Factor ids and link rows (see `jaxsmt.tm.factors.Factors`) of all parts, numbered anew."""
    ids = [getattr(part, f"{side}_factors") for part in parts]
    links = [getattr(part, f"{side}_factor_links") for part in parts]
    num_words, num_means = [len(part.word_pairs) for part in parts], [len(part) for part in links]
    total = sum(num_words)
    new_ids, new_links = [], []
    for index, row, size, word_at, mean_at in zip(
        ids, links, num_words, _starts(num_words), _starts(num_means), strict=True
    ):
        new_id = np.concatenate(
            [word_at + np.arange(size), [total, total + 1], total + 2 + mean_at + np.arange(len(row))]
        ).astype(np.int32)
        new_ids.append(_filled(new_id[index], max(part.shape[1] for part in ids), total + 1))
        new_links.append(_filled(new_id[row], max(part.shape[1] for part in links), total + 1))
    return np.concatenate(new_ids), np.concatenate(new_links)


def _filled(rows: np.ndarray, width: int, fill: int) -> np.ndarray:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=fill)
