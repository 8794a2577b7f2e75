"""Moses' word tables: `lex.counts.f2e` (e f joint c(f)), `lex.counts.e2f` (f e joint c(e)), `lex.f2e`, `lex.e2f`."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.extract.counts import LexicalCounts
from jaxsmt.text.vocabulary import NUM_RESERVED, PAD, Vocabulary
from jaxsmt.tm.component import Component
from jaxsmt.tm.moses.parse import TokenIds, line_chunks
from jaxsmt.tm.moses.write import escaped, open_output

NULL = "NULL"


class LexicalPaths(NamedTuple):
    """The two files of word counts that Moses writes with `--write-lexical-counts`."""

    source_to_target: str | Path  # lex.counts.f2e: target word, source word, joint count, c(source word)
    target_to_source: str | Path  # lex.counts.e2f: source word, target word, joint count, c(target word)


def read_lexical_counts(paths: LexicalPaths, source_ids: TokenIds, target_ids: TokenIds) -> LexicalCounts:
    """Reads word counts; new words are added to the token ids."""
    target, source, joint, source_totals = _read_columns(Path(paths.source_to_target), target_ids, source_ids)
    other_source, other_target, other_joint, target_totals = _read_columns(
        Path(paths.target_to_source), source_ids, target_ids
    )
    order, other_order = np.lexsort((target, source)), np.lexsort((other_target, other_source))
    word_pairs = np.stack([source, target], 1)[order]
    same = len(order) == len(other_order) and bool(
        np.array_equal(word_pairs, np.stack([other_source, other_target], 1)[other_order])
        and np.array_equal(joint[order], other_joint[other_order])
    )
    if not same:
        raise UserError(
            f"'{paths.source_to_target}' and '{paths.target_to_source}' count different word pairs: "
            "give the two files of one training run"
        )
    source_counts = np.zeros(NUM_RESERVED + len(source_ids.words), np.float32)
    target_counts = np.zeros(NUM_RESERVED + len(target_ids.words), np.float32)
    source_counts[source] = source_totals
    target_counts[other_target] = target_totals
    return LexicalCounts(word_pairs, joint[order], source_counts, target_counts)


def write_lexical_tables(component: Component, prefix: str | Path) -> None:
    """Writes `prefix.f2e`, `prefix.e2f` (probabilities, 7 decimals) and `prefix.counts.f2e`, `prefix.counts.e2f`."""
    lexical = component.lexical
    source = _texts(component.source_vocabulary, lexical.word_pairs[:, 0])
    target = _texts(component.target_vocabulary, lexical.word_pairs[:, 1])
    joint = lexical.joint_counts
    for name, first, second, totals in (
        ("f2e", target, source, lexical.source_counts[lexical.word_pairs[:, 0]]),
        ("e2f", source, target, lexical.target_counts[lexical.word_pairs[:, 1]]),
    ):
        rows = list(zip(first, second, joint.tolist(), totals.tolist(), strict=True))
        _write(Path(f"{prefix}.{name}"), [f"{a} {b} {count / total:.7f}" for a, b, count, total in rows])
        _write(Path(f"{prefix}.counts.{name}"), [f"{a} {b} {count:g} {total:g}" for a, b, count, total in rows])


def _read_columns(path: Path, first: TokenIds, second: TokenIds) -> tuple[np.ndarray, ...]:
    """int32 ids of the two words, float32 joint counts and float32 marginals of the second word, [L] each."""
    left: list[int] = []
    right: list[int] = []
    numbers: list[float] = []
    for number, lines in line_chunks(path):
        for place, line in enumerate(lines):
            try:
                a, b, joint, total = line.rstrip("\r\n").split(" ")
                values = float(joint), float(total)
                if not 0 <= values[0] <= values[1] < np.inf:
                    raise ValueError
            except ValueError:
                raise UserError(
                    f"'{path}' line {number + place} is not 'word word count total': "
                    "give the lex.counts file, not the one with probabilities"
                ) from None
            left.append(PAD if a == NULL else first[a])
            right.append(PAD if b == NULL else second[b])
            numbers.extend(values)
    counts = np.array(numbers, np.float32).reshape(-1, 2)
    return np.array(left, np.int32), np.array(right, np.int32), counts[:, 0], counts[:, 1]


def _texts(vocabulary: Vocabulary, ids: np.ndarray) -> list[str]:
    reserved = [NULL, "<unk>", "<s>", "</s>", "", ""]
    tokens = reserved + [escaped(word) for word in vocabulary.words]
    return [tokens[i] for i in ids.tolist()]


def _write(path: Path, lines: list[str]) -> None:
    with open_output(path) as stream:
        stream.write("".join(line + "\n" for line in sorted(lines)).encode())
