"""Tables with fixed scores: other people's models, and a component's own features as they stand."""

from dataclasses import dataclass

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.extract.counts import LexicalCounts, RuleCounts
from jaxsmt.text.vocabulary import Vocabulary
from jaxsmt.tm.component import Component
from jaxsmt.tm.factors import Factors, intern_factors

PLAIN_LABEL = "X"


@dataclass(frozen=True)
class ScoredTable:
    """P phrase pairs or rules with F fixed scores, sorted by (source side, target side).

    Sides are as in RuleCounts: padded with PAD, gaps are NONTERMINALS numbered in source order.
    Labels are those of the target language, as Moses uses them; without a glue grammar all are 'X'.
    """

    name: str
    kind: str  # 'phrase' or 'hiero'
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    source_sides: np.ndarray  # [Ps, Ls] int32, distinct, lexicographic
    target_sides: np.ndarray  # [Pt, Lt] int32, likewise
    source_index: np.ndarray  # [P] int32
    target_index: np.ndarray  # [P] int32
    scores: np.ndarray  # [P, F] float32, probabilities as the table gives them, not logarithms
    links_by_target: np.ndarray  # [P, Lt] uint16, terminals only; all 0 where the table has no alignment
    counts: np.ndarray | None  # [P, 3] float32: c(t), c(s), c(s, t)
    labels: tuple[str, ...]
    left_labels: np.ndarray  # [P] int8 into labels: the left-hand side
    gap_labels: np.ndarray  # [P, 2] int8: of X1 and X2; 0 where there is none

    def __len__(self) -> int:
        """P."""
        return len(self.source_index)


def component_of_table(table: ScoredTable, lexical: LexicalCounts) -> Component:
    """The counts of a table as a component; both directions use the table's one alignment."""
    if table.counts is None:
        raise UserError(f"table '{table.name}' has no counts column: use it as a table of fixed scores")
    if table.labels != (PLAIN_LABEL,):
        raise UserError(f"table '{table.name}' has the labels {', '.join(table.labels)}: a component knows X alone")
    source_counts = np.zeros(len(table.source_sides), np.float32)
    target_counts = np.zeros(len(table.target_sides), np.float32)
    of_target, of_source, joint = table.counts.T
    source_counts[table.source_index] = of_source
    target_counts[table.target_index] = of_target
    rules = RuleCounts(
        source_sides=table.source_sides,
        target_sides=table.target_sides,
        source_index=table.source_index,
        target_index=table.target_index,
        joint_counts=np.ascontiguousarray(joint),
        source_counts=source_counts,
        target_counts=target_counts,
        links_by_target=table.links_by_target,
        links_by_source=transposed_links(table.links_by_target, table.source_sides.shape[1]),
        orientation_counts=None,
    )
    return Component(table.name, table.kind, rules, lexical, table.source_vocabulary, table.target_vocabulary)


def score_component(component: Component, word_decimals: int | None = None) -> ScoredTable:
    """A component's four features as a table, computed in float64 on the host and rounded to float32.

    word_decimals: rounds word probabilities before they enter the lexical weights, as Moses does (7).
    """
    rules, lexical = component.rules, component.lexical
    of_source, of_target = rules.source_counts[rules.source_index], rules.target_counts[rules.target_index]
    source, target = (rules.source_sides, rules.source_index), (rules.target_sides, rules.target_index)
    to_source = intern_factors(source, target, rules.links_by_source, lexical.word_pairs)
    to_target = intern_factors(target, source, rules.links_by_target, lexical.word_pairs[:, ::-1])
    columns = (
        _ratio(rules.joint_counts, of_target),
        _products(to_source, _word_probabilities(lexical, lexical.target_counts, 1, word_decimals)),
        _ratio(rules.joint_counts, of_source),
        _products(to_target, _word_probabilities(lexical, lexical.source_counts, 0, word_decimals)),
    )
    return ScoredTable(
        name=component.name,
        kind=component.kind,
        source_vocabulary=component.source_vocabulary,
        target_vocabulary=component.target_vocabulary,
        source_sides=rules.source_sides,
        target_sides=rules.target_sides,
        source_index=rules.source_index,
        target_index=rules.target_index,
        scores=np.stack(columns, 1).astype(np.float32),  # as in Moses, which rounds before printing
        links_by_target=rules.links_by_target,
        counts=np.stack([of_target, of_source, rules.joint_counts], 1),
        labels=(PLAIN_LABEL,),
        left_labels=np.zeros(len(rules), np.int8),
        gap_labels=np.zeros((len(rules), 2), np.int8),
    )


def transposed_links(links: np.ndarray, width: int) -> np.ndarray:
    """[P, width] uint16: bit j of entry i from links [P, L] with bit i of entry j."""
    transposed = np.zeros((len(links), width), np.uint16)
    for position in range(links.shape[1]):
        for other in range(width):
            transposed[:, other] |= ((links[:, position] >> other) & 1) << position
    return transposed


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    known = denominator > 0
    return np.where(known, numerator, 0).astype(np.float64) / np.where(known, denominator, 1)


def _word_probabilities(lexical: LexicalCounts, totals: np.ndarray, side: int, decimals: int | None) -> np.ndarray:
    values = _ratio(lexical.joint_counts, totals[lexical.word_pairs[:, side]])
    return values if decimals is None else np.round(values, decimals)


def _products(factors: Factors, word_probabilities: np.ndarray) -> np.ndarray:
    """[P] float64: the product of each pair's factors."""
    num_words = len(word_probabilities)
    padded = np.concatenate([word_probabilities, [0.0, 0.0]])
    means = padded[factors.links].sum(1) / (factors.links <= num_words).sum(1)
    table = np.concatenate([word_probabilities, [0.0, 1.0], means])
    product = np.ones(len(factors.index))
    for column in factors.index.T:
        product *= table[column]
    return product
