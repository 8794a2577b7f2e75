"""Target sides as arrays: what a derivation's edges write, and hashes of the strings that come of it.

The hash of a string t_1..t_n is Σ v(t_i) b^(n−i) modulo 2^64, with v a scrambling of tokens. So
    h(x y) = h(x) b^|y| + h(y),
and the string of an edge, run gap run gap run, is hashed from its three runs and the hashes and lengths in its gaps.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from jaxsmt.search.nbest.derivation import RULE, UNKNOWN_WORD, Reader, Symbols
from jaxsmt.search.plan.lists import NO_PAIR
from jaxsmt.search.rules.grammar import Grammar
from jaxsmt.text.vocabulary import NONTERMINALS, PAD

NUM_RUNS = 3
_BASE = np.uint64(0x9E3779B97F4A7C15)


class SideReader(Protocol):
    """Who knows what rules of the grammar and special entries write; see `Reader`."""

    @property
    def grammar(self) -> Grammar: ...

    @property
    def special(self) -> Callable[[int, int, int], tuple[int, Symbols, tuple[int, ...]]]: ...


class Strings(NamedTuple):
    """Strings by hash and length: [W] uint64, [W] int32."""

    hash: np.ndarray
    length: np.ndarray


class Sides(NamedTuple):
    """The target sides of U entries of a batch's rule lists, then those of copied words by position.

    tokens: [U + N, L] int32: as in `Derivation.tokens`; gaps as NONTERMINALS, then PAD.
    run_hash, run_length: [U + N, NUM_RUNS] uint64 and int32: of the words before, between and after the gaps.
    is_swapped: [U + N] bool: X2 comes first.
    kind, pair: [U + N] int8 and int64: as in `Node`.
    """

    tokens: np.ndarray
    run_hash: np.ndarray
    run_length: np.ndarray
    is_swapped: np.ndarray
    kind: np.ndarray
    pair: np.ndarray


def sides_of(reader: Reader, entry: np.ndarray, start: np.ndarray) -> tuple[Sides, np.ndarray]:
    """The sides of edges, and which of them each one has: entry, start [E] → [E] int32.

    start: of the edges' spans; an unknown word's side depends on where the word stands.
    """
    tokens, kind, pair, side = tokens_of_entries(reader, reader.plan.lists.pair, entry, start)
    return Sides(tokens, *cut_sides(tokens), kind, pair), side


def tokens_of_entries(
    reader: SideReader, pair_of_entry: np.ndarray, entry: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Tokens, kinds and pairs as in `Sides`, and the side of each edge; entry, start: [E]."""
    used, side = np.unique(entry, return_inverse=True)
    side = side.reshape(-1)
    pair = pair_of_entry[used]
    tokens, kind = _target_tokens(reader, pair)
    is_copied = (kind == UNKNOWN_WORD) & (tokens[:, 0] != PAD)
    num_copies = int(start.max(initial=-1)) + 1 if is_copied.any() else 0
    copies = np.full((num_copies, tokens.shape[1]), PAD, np.int32)
    copies[:, 0] = -1 - np.arange(num_copies)
    side = np.where(is_copied[side], len(used) + start, side).astype(np.int32)
    tokens = np.concatenate([tokens, copies])
    kind = np.concatenate([kind, np.full(num_copies, UNKNOWN_WORD, np.int8)])
    pair = np.concatenate([np.where(kind[: len(used)] == RULE, pair, -1), np.full(num_copies, -1)])
    return tokens, kind, pair, side


def _target_tokens(reader: SideReader, pair: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tokens [U, L] and kinds [U] of entries."""
    grammar = reader.grammar
    special = np.flatnonzero(pair <= NO_PAIR)
    found = [reader.special(int(NO_PAIR - pair[place]), 0, 0)[:2] for place in special]
    width = max([grammar.target_sides.shape[1], 1, *(len(symbols.tokens) for _, symbols in found)])
    tokens, kind = np.full((len(pair), width), PAD, np.int32), np.full(len(pair), RULE, np.int8)
    rules = np.flatnonzero(pair > NO_PAIR)
    if len(rules):
        tokens[rules, : grammar.target_sides.shape[1]] = grammar.target_sides[grammar.target_index[pair[rules]]]
    for place, (own_kind, symbols) in zip(special.tolist(), found, strict=True):
        kind[place] = own_kind
        tokens[place, : len(symbols.tokens)] = symbols.tokens
    return tokens, kind


def cut_sides(tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hashes and lengths of the runs, and whether X2 comes first."""
    num = len(tokens)
    hashes, lengths = np.zeros((num, NUM_RUNS), np.uint64), np.zeros((num, NUM_RUNS), np.int32)
    run, is_swapped = np.zeros(num, np.int64), np.zeros(num, bool)
    for column in tokens.T:
        is_gap = np.isin(column, NONTERMINALS)
        is_swapped |= is_gap & (run == 0) & (column == NONTERMINALS[1])
        words = np.flatnonzero(~is_gap & (column != PAD))
        place = words, run[words]
        hashes[place] = hashes[place] * _BASE + _scrambled(column[words])
        lengths[place] += 1
        run += is_gap
    return hashes, lengths, is_swapped


def _scrambled(tokens: np.ndarray) -> np.ndarray:
    """[n] uint64: the finaliser of splitmix64 (Steele, Lea and Flood 2014)."""
    value = tokens.astype(np.int64).astype(np.uint64) * _BASE
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def base_powers(most: int) -> np.ndarray:
    """[most + 1] uint64: b^0, b^1, …"""
    return np.cumprod(np.concatenate([np.ones(1, np.uint64), np.full(most, _BASE)]), dtype=np.uint64)


def filled_strings(sides: Sides, side: np.ndarray, first: Strings, second: Strings, powers: np.ndarray) -> Strings:
    """Sides [W] with strings in X1 and X2 (of no words where there is no such gap)."""
    swapped = sides.is_swapped[side]
    hashes = [np.where(swapped, second.hash, first.hash), np.where(swapped, first.hash, second.hash)]
    lengths = [np.where(swapped, second.length, first.length), np.where(swapped, first.length, second.length)]
    run_hash, run_length = sides.run_hash[side], sides.run_length[side]
    total, length = run_hash[:, 0], run_length[:, 0]
    for gap in range(2):
        total = total * powers[lengths[gap]] + hashes[gap]
        total = total * powers[run_length[:, gap + 1]] + run_hash[:, gap + 1]
        length = length + lengths[gap] + run_length[:, gap + 1]
    return Strings(total, length)
