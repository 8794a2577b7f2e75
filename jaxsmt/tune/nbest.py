"""n-best lists of any system: the Moses text format in and out, merging over decoder runs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.ragged import offsets_of
from jaxsmt.text.streams import read_lines

MOST_SENTENCES = 10_000_000  # the largest number of a sentence
_SEPARATOR = "|||"


@dataclass(frozen=True)
class NBestLists:
    """n-best lists of B sentences, K hypotheses end to end; those of sentence b at offsets[b]:offsets[b + 1].

    texts: K translations, tokens separated by one space.
    features: [K, F] float64, dense features and the sparse ones that occur (0 where a hypothesis lacks one).
    scores: [K] float64, the decoder's total.
    offsets: [B + 1] int64.
    feature_names: F names; values of one dense group are numbered as Moses does (LM0_0, LM0_1, …).
    num_dense: the first so many features are dense.
    extras: K tuples of the fields after the total (alignments, …), as they came.
    """

    texts: tuple[str, ...]
    features: np.ndarray
    scores: np.ndarray
    offsets: np.ndarray
    feature_names: tuple[str, ...]
    num_dense: int
    extras: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sentences(self) -> np.ndarray:
        """[K] int64: the sentence of each hypothesis."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def take(self, rows: np.ndarray, scores: np.ndarray | None = None) -> "NBestLists":
        """Hypotheses `rows` [K'] those of a sentence in the given order; scores: [K'] totals in place of theirs."""
        sentences = self.sentences[rows]
        order = np.argsort(sentences, kind="stable")
        kept = rows[order]
        return replace(
            self,
            texts=tuple(self.texts[k] for k in kept),
            features=self.features[kept],
            scores=self.scores[kept] if scores is None else scores[order],
            offsets=offsets_of(np.bincount(sentences, minlength=len(self))),
            extras=tuple(self.extras[k] for k in kept),
        )


def nbest_from_rows(
    texts: Sequence[str], features: np.ndarray, sentences: np.ndarray, num_sentences: int,
    feature_names: Sequence[str], scores: np.ndarray | None = None,
) -> NBestLists:  # fmt: skip
    """Lists from hypotheses in any order, those of a sentence keep theirs: dense features [K, F], sentences [K]."""
    order = np.argsort(sentences, kind="stable")
    counts = np.bincount(sentences, minlength=num_sentences)
    total = np.zeros(len(texts)) if scores is None else scores
    return NBestLists(
        tuple(texts[k] for k in order), np.asarray(features, np.float64)[order], np.asarray(total, np.float64)[order],
        offsets_of(counts), tuple(feature_names), len(feature_names), ((),) * len(texts),
    )  # fmt: skip


def read_nbest(path: str | Path, num_sentences: int | None = None) -> NBestLists:
    """Reads Moses' format (plain, .gz or .xz): `sentence ||| words ||| Name= v v Other= v ||| total [||| more]`.

    As in Moses a name with an underscore is one sparse feature, any other name a group of dense ones.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(f"n-best list '{path}' does not exist: check the path")
    texts: list[str] = []
    extras: list[tuple[str, ...]] = []
    sentences: list[int] = []
    scores: list[float] = []
    dense_names: tuple[str, ...] | None = None
    dense_rows: list[list[float]] = []
    sparse_id: dict[str, int] = {}
    sparse_cells: list[tuple[int, int, float]] = []
    for number, line in enumerate(read_lines(path, may_be_empty=True), 1):
        sentence, text, feature_field, total, more = _fields(line, path, number)
        names, values, sparse = _features(feature_field, path, number)
        if dense_names is None:
            dense_names = names
        elif names != dense_names:
            raise UserError(
                f"'{path}' line {number} has the features {' '.join(names)} and the first line has "
                f"{' '.join(dense_names)}: all hypotheses must come from one configuration"
            )
        dense_rows.append(values)
        sparse_cells += [(len(texts), sparse_id.setdefault(name, len(sparse_id)), value) for name, value in sparse]
        texts.append(text)
        sentences.append(sentence)
        scores.append(total)
        extras.append(more)
    features = _with_sparse(dense_rows, dense_names or (), sparse_cells, len(sparse_id))
    num = num_sentences if num_sentences is not None else max(sentences, default=-1) + 1
    if sentences and max(sentences) >= num:
        raise UserError(f"'{path}' has a list for sentence {max(sentences)} and there are {num} sentences (from 0)")
    owner = np.array(sentences, np.int64)
    lists = nbest_from_rows(texts, features, owner, num, [*(dense_names or ()), *sparse_id], np.array(scores))
    in_order = tuple(extras[k] for k in np.argsort(owner, kind="stable"))
    return replace(lists, num_dense=len(dense_names or ()), extras=in_order)


def _fields(line: str, path: Path, number: int) -> tuple[int, str, str, float, tuple[str, ...]]:
    fields = [field.strip() for field in line.split(_SEPARATOR)]
    try:
        sentence, total = int(fields[0]), float(fields[3])
        if not 0 <= sentence <= MOST_SENTENCES or not total < math.inf:  # −inf is a score of what cannot be
            raise ValueError
        return sentence, " ".join(fields[1].split()), fields[2], total, tuple(fields[4:])
    except (ValueError, IndexError):
        raise UserError(
            f"'{path}' line {number} is no n-best entry: it must read 'sentence ||| words ||| Name= value … ||| total'"
        ) from None


def _features(field: str, path: Path, number: int) -> tuple[tuple[str, ...], list[float], list[tuple[str, float]]]:
    names: list[str] = []
    values: list[float] = []
    sparse: list[tuple[str, float]] = []
    label, count = "", 0
    for token in field.split():
        if token.endswith("="):
            label, count = token[:-1], 0
            continue
        try:
            value = float(token)
            if not math.isfinite(value):
                raise ValueError
        except ValueError:
            raise UserError(f"'{path}' line {number}: '{token}' is no number; features read 'Name= value …'") from None
        if "_" in label:
            sparse.append((label, value))
        else:
            names.append(f"{label}_{count}")
            values.append(value)
            count += 1
    return tuple(names), values, sparse


def _with_sparse(
    dense: list[list[float]], names: tuple[str, ...], cells: list[tuple[int, int, float]], num_sparse: int
) -> np.ndarray:
    features = np.zeros((len(dense), len(names) + num_sparse))
    features[:, : len(names)] = np.array(dense).reshape(len(dense), len(names))
    for row, column, value in cells:
        features[row, len(names) + column] = value
    return features


def write_nbest(path: str | Path, lists: NBestLists) -> None:
    """Writes Moses' format; sparse features that are 0 are left out."""
    labels = [name.rsplit("_", 1) for name in lists.feature_names[: lists.num_dense]]
    lines = []
    for k, sentence in enumerate(lists.sentences.tolist()):
        field = []
        for number, (label, _) in enumerate(labels):
            if number == 0 or labels[number - 1][0] != label:
                field.append(f"{label}=")
            field.append(f"{lists.features[k, number]:.9g}")
        for number in range(lists.num_dense, len(lists.feature_names)):
            if lists.features[k, number]:
                field.append(f"{lists.feature_names[number]}= {lists.features[k, number]:.9g}")
        parts = (str(sentence), lists.texts[k], " ".join(field), f"{lists.scores[k]:.9g}", *lists.extras[k])
        lines.append(f" {_SEPARATOR} ".join(parts) + "\n")
    write_text(path, "".join(lines))


def merge_nbest(parts: Iterable[NBestLists]) -> NBestLists:
    """All hypotheses of several decoder runs over the same sentences; of equal ones the first is kept.

    Two hypotheses are equal if text and features are. Sparse features are matched by name; dense ones must agree.
    """
    return merge_with_rows(list(parts))[0]


def merge_with_rows(parts: Sequence[NBestLists]) -> tuple[NBestLists, np.ndarray]:
    """`merge_nbest`, and [K] int64 the place of each kept hypothesis among those of all parts laid end to end."""
    dense = parts[0].feature_names[: parts[0].num_dense]
    for part in parts:
        if part.feature_names[: part.num_dense] != dense or len(part) != len(parts[0]):
            raise UserError("n-best lists can only be merged if they have the same sentences and dense features")
    sparse = dict.fromkeys(name for part in parts for name in part.feature_names[part.num_dense :])
    names = (*dense, *sparse)
    column = {name: place for place, name in enumerate(names)}
    blocks = []
    for part in parts:
        block = np.zeros((len(part.texts), len(names)))
        block[:, [column[name] for name in part.feature_names]] = part.features
        blocks.append(block)
    features, sentences = np.concatenate(blocks), np.concatenate([part.sentences for part in parts])
    texts = [text for part in parts for text in part.texts]
    extras = [extra for part in parts for extra in part.extras]
    scores = np.concatenate([part.scores for part in parts])
    keep = first_of_equals(sentences, texts, features)
    keep = keep[np.argsort(sentences[keep], kind="stable")]
    merged = nbest_from_rows(
        [texts[k] for k in keep], features[keep], sentences[keep], len(parts[0]), names, scores[keep]
    )
    return replace(merged, num_dense=len(dense), extras=tuple(extras[k] for k in keep)), keep


def with_features(lists: NBestLists, names: Sequence[str]) -> NBestLists:
    """The lists with the named features alone, in that order; sparse ones that they lack are 0 everywhere.

    A feature that adaptation has never seen cannot be weighted, so it is left out.
    """
    column = {name: place for place, name in enumerate(lists.feature_names)}
    dense = lists.feature_names[: lists.num_dense]
    if not set(dense) <= set(names):
        missing = next(name for name in dense if name not in set(names))
        raise UserError(f"feature '{missing}' is in one n-best list and not in the other: make both with one system")
    features = np.zeros((len(lists.texts), len(names)))
    for place, name in enumerate(names):
        if name in column:
            features[:, place] = lists.features[:, column[name]]
    return NBestLists(
        lists.texts, features, lists.scores, lists.offsets, tuple(names), lists.num_dense, lists.extras
    )  # fmt: skip


def named_weights(lists: NBestLists, weights: Mapping[str, float]) -> np.ndarray:
    """Weights by name as [F]."""
    wrong = sorted(set(weights) - set(lists.feature_names))
    if wrong:
        known = ", ".join(lists.feature_names)
        raise UserError(f"weight '{wrong[0]}' is no feature of the lists, which have {known}: check its name")
    return np.array([weights.get(name, 0.0) for name in lists.feature_names])


def first_of_equals(sentences: np.ndarray, texts: Sequence[str], features: np.ndarray) -> np.ndarray:
    """[K'] int64, ascending: hypotheses of which no earlier one has the same sentence, text and features."""
    seen: set[tuple[int, str, bytes]] = set()
    keep = []
    for k, (sentence, text) in enumerate(zip(sentences.tolist(), texts, strict=True)):
        key = (sentence, text, (features[k] + 0.0).tobytes())  # −0 becomes 0
        if key not in seen:
            seen.add(key)
            keep.append(k)
    return np.array(keep, np.int64)
