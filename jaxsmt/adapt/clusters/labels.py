"""One label per sentence: domains that people know, clusters that were found; files of them, and how they agree."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.text.streams import read_lines


@dataclass(frozen=True)
class Labels:
    """The labels of B sentences.

    names: C names.
    index: [B] int32, the place of every sentence's label in `names`.
    """

    names: tuple[str, ...]
    index: np.ndarray

    def __len__(self) -> int:
        return len(self.index)

    @property
    def counts(self) -> np.ndarray:
        """[C] int64: how many sentences have each label."""
        return np.bincount(self.index, minlength=len(self.names))

    @property
    def per_sentence(self) -> list[str]:
        """The name of every sentence's label."""
        return [self.names[i] for i in self.index]

    def rows_of(self, name: str) -> np.ndarray:
        """[n] int64, ascending: the sentences with this label."""
        return np.flatnonzero(self.index == self.names.index(name))

    def take(self, rows: np.ndarray) -> "Labels":
        """The labels of some sentences; all names stay."""
        return Labels(self.names, self.index[rows])


def make_labels(per_sentence: Sequence[str], names: Sequence[str] | None = None) -> Labels:
    """Labels from one name per sentence; without `names` those that occur, in code-point order."""
    known = tuple(names) if names is not None else tuple(sorted(set(per_sentence)))
    place = {name: i for i, name in enumerate(known)}
    for number, name in enumerate(per_sentence, 1):
        if name not in place:
            raise UserError(f"sentence {number} has the label '{name}', {_advice(name, known)}")
    return Labels(known, np.array([place[name] for name in per_sentence], np.int32))


def join_labels(parts: Sequence[Labels]) -> Labels:
    """The labels of several texts laid end to end; names in the order in which the parts list them."""
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    return make_labels([name for part in parts for name in part.per_sentence], names)


def read_labels(path: str | Path, num_lines: int | None = None, names: Sequence[str] | None = None) -> Labels:
    """Reads a label file: line n has the label of sentence n; spaces around it do not count.

    Args:
      num_lines: how many sentences there are; any other number of lines is an error.
      names: the labels there may be; without them all that occur are taken, in code-point order.
    """
    found = [line.strip() for line in read_lines(path, may_be_empty=num_lines == 0)]
    for number, label in enumerate(found, 1):
        if not label:
            raise UserError(f"'{path}' line {number} is empty: give every sentence a label, one a line")
        if names is not None and label not in names:
            raise UserError(f"'{path}' line {number} has the label '{label}', {_advice(label, names)}")
    if num_lines is not None and len(found) != num_lines:
        raise UserError(f"'{path}' has {len(found)} labels for {num_lines} sentences: give one a line, in their order")
    return make_labels(found, names)


def _advice(label: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(label, names, 1, 0.6)
    guess = f": did you mean '{close[0]}'?" if close else ":"
    return f"which is not known{guess} use one of {', '.join(names)}"


def contingency(labels: Labels, gold: Labels) -> np.ndarray:
    """[C, G] int64: how many sentences have each label and each gold label."""
    if len(labels) != len(gold):
        raise UserError(f"there are {len(labels)} labels and {len(gold)} gold labels: both must be of the same text")
    key = labels.index.astype(np.int64) * len(gold.names) + gold.index
    return np.bincount(key, minlength=len(labels.names) * len(gold.names)).reshape(len(labels.names), -1)


@dataclass(frozen=True)
class Merging:
    """Classes put together: what `merge_smallest` decided on one text, to be applied to others.

    before: C names; names: the C′ names after merging, parts joined by '+'.
    new_index: [C] int32, the place of every old class among the new ones.
    """

    before: tuple[str, ...]
    names: tuple[str, ...]
    new_index: np.ndarray

    def apply(self, labels: Labels) -> Labels:
        """The merged labels of sentences with the old labels."""
        if labels.names != self.before:
            raise ValueError(f"the merging is of {self.before} and the labels are {labels.names}")
        return Labels(self.names, self.new_index[labels.index].astype(np.int32))


def merge_smallest(labels: Labels, num_classes: int) -> Merging:
    """Puts the two classes with the fewest sentences together, again and again, until `num_classes` are left.

    Song et al. 2012, section 4.4, steps 5 to 1; `labels` are those of the development set, and classes without a
    sentence there are merged first. Of equally small classes those that come first are taken; the merged class
    stands where the first of the two stood.
    """
    if not 1 <= num_classes <= len(labels.names):
        raise UserError(
            f"{len(labels.names)} classes cannot be merged into {num_classes}: give 1 to {len(labels.names)}"
        )
    groups = [[i] for i in range(len(labels.names))]
    sizes = labels.counts.tolist()
    while len(groups) > num_classes:
        one, two = sorted(sorted(range(len(groups)), key=lambda g: (sizes[g], g))[:2])
        groups[one], sizes[one] = groups[one] + groups[two], sizes[one] + sizes[two]
        del groups[two], sizes[two]
    new_index = np.zeros(len(labels.names), np.int32)
    for place, group in enumerate(groups):
        new_index[group] = place
    return Merging(labels.names, tuple("+".join(labels.names[i] for i in group) for group in groups), new_index)
