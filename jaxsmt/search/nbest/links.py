"""Word links of derivations in arrays: the links of their rules, put where the rules were applied."""

from typing import NamedTuple

import numpy as np

from jaxsmt.common.ragged import Ragged, offsets_of, ranges
from jaxsmt.search.nbest.derivation import FORCED, RULE, UNKNOWN_WORD
from jaxsmt.search.nbest.sides import Sides
from jaxsmt.search.nbest.unfold import Steps
from jaxsmt.search.rules.grammar import Grammar
from jaxsmt.text.vocabulary import NONTERMINALS, PAD

_MOST_SYMBOLS = 16  # of a source side, one bit each


class Places(NamedTuple):
    """Where T rule applications stand in the source.

    start, end: [T] their spans; gaps: [2, T] numbers of source words in X1 and X2 of their source sides.
    """

    start: np.ndarray
    end: np.ndarray
    gaps: np.ndarray


class _SideLinks(NamedTuple):
    """The links of U sides, L of them side by side.

    first: [U + 1]; column: [L] in the side's tokens; symbol, gaps_before: [L] place in the rule's source side, and how
    many of its gaps come before.
    """

    first: np.ndarray
    column: np.ndarray
    symbol: np.ndarray
    gaps_before: np.ndarray


def links_of(grammar: Grammar, sides: Sides, steps: Steps, places: Places, num: int) -> Ragged:
    """`Derivation.alignment` of `num` derivations: (source position, target position), sorted, int32."""
    is_used = np.zeros(len(sides.kind), bool)
    is_used[steps.side] = True
    table = _links_of_sides(grammar, sides, is_used)
    link, step = ranges(table.first[steps.side], np.diff(table.first)[steps.side])
    source = places.start[step] + table.symbol[link] - table.gaps_before[link]
    for gap in range(len(NONTERMINALS)):
        source += np.where(table.gaps_before[link] > gap, places.gaps[gap, step], 0)
    target = _target_places(sides, steps, step, table.column[link])
    forced = _forced_links(sides, steps, places)
    owner, source, target = (
        np.concatenate(parts) for parts in zip((steps.owner[step], source, target), forced, strict=True)
    )
    order = np.lexsort((target, source, owner))
    values = np.stack([source[order], target[order]], axis=1).astype(np.int32)
    return Ragged(values, offsets_of(np.bincount(owner, minlength=num)))


def _links_of_sides(grammar: Grammar, sides: Sides, is_used: np.ndarray) -> _SideLinks:
    """Those of rules and of copied words; the other sides that are not forced have no words."""
    rules = np.flatnonzero(is_used & (sides.kind == RULE))
    pair = sides.pair[rules]
    masks = grammar.links_by_target[pair].astype(np.int64)
    row, place, symbol = np.nonzero(masks[:, :, None] >> np.arange(_MOST_SYMBOLS) & 1)
    source_side = np.searchsorted(grammar.first_pair, pair, side="right") - 1
    is_gap = np.isin(grammar.source_sides[source_side], NONTERMINALS)
    gaps_before = np.cumsum(is_gap, axis=1)[row, symbol]
    first_column = _first_columns(grammar, sides, rules, pair)
    copies, column = np.nonzero(sides.tokens < 0)
    is_copy = is_used[copies] & (sides.kind[copies] == UNKNOWN_WORD)
    copies, column = copies[is_copy], column[is_copy]
    side = np.concatenate([rules[row], copies])
    order = np.argsort(side, kind="stable")
    none = np.zeros(len(copies), np.int64)
    return _SideLinks(
        offsets_of(np.bincount(side, minlength=len(sides.kind))),
        np.concatenate([place + first_column[row], column])[order],
        np.concatenate([symbol, none])[order],
        np.concatenate([gaps_before, none])[order],
    )


def _first_columns(grammar: Grammar, sides: Sides, rules: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """[U] where the rule's own target side begins among the tokens: stacks put X1 before it."""
    own = (grammar.target_sides[grammar.target_index[pair]] != PAD).sum(1)
    return (sides.tokens[rules] != PAD).sum(1) - own


def _target_places(sides: Sides, steps: Steps, step: np.ndarray, column: np.ndarray) -> np.ndarray:
    """[L] positions in the outputs of words in columns of the sides of applications."""
    side = steps.side[step]
    gaps_before = np.cumsum(np.isin(sides.tokens, NONTERMINALS), axis=1)[side, column]
    gaps = np.stack([np.zeros_like(steps.at), steps.gaps[0], steps.gaps.sum(0, dtype=np.int32)])
    return steps.at[step] + column - gaps_before + gaps[gaps_before, step]


def _forced_links(sides: Sides, steps: Steps, places: Places) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Owners, sources and targets: all words of a forced translation are linked to all words of its span."""
    forced = np.flatnonzero(sides.kind[steps.side] == FORCED)
    tokens = sides.tokens[steps.side[forced]]
    row, column = np.nonzero((tokens != PAD) & ~np.isin(tokens, NONTERMINALS))
    step = forced[row]
    source, word = ranges(places.start[step], (places.end - places.start)[step])
    target = _target_places(sides, steps, step, column)
    return steps.owner[step][word], source, target[word]
