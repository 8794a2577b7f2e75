"""Derivations read from the stacks: a chain of phrases, each with what comes before it in its gap."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxsmt.search.nbest.derivation import RULE, START_NODE, Node, Symbols, target_symbols
from jaxsmt.search.plan.lists import NO_PAIR
from jaxsmt.search.rules.grammar import Grammar
from jaxsmt.search.stack.planning import StackPlan
from jaxsmt.text.vocabulary import NONTERMINALS


@dataclass(frozen=True)
class StackReader:
    """Turns options in spans into nodes.

    special: what special entry n is in a span: (kind, target, source places).
    """

    plan: StackPlan
    grammar: Grammar
    special: Callable[[int, int, int], tuple[int, Symbols, tuple[int, ...]]]

    def node(self, entry: int, start: int, end: int, before: Node) -> Node:
        """An option that translates start..end-1, after all that comes before it."""
        pair = int(self.plan.pair[entry])
        if pair <= NO_PAIR:
            kind, target, places = self.special(NO_PAIR - pair, start, end)
            return Node(kind, -1, start, end, _after_gap(target), places, (before,))
        places = tuple(range(start, end))
        return Node(RULE, pair, start, end, _after_gap(target_symbols(self.grammar, pair)), places, (before,))

    def best(self, stacks: Any, row: int, slot: int) -> Node:
        """Hypothesis `slot` that covers the whole of sentence `row`, followed back; arrays on the host."""
        num_slots = stacks.entry.shape[2]
        place, chain = int(self.plan.lengths[row]) * num_slots + slot, []
        while place >= num_slots:
            at = place // num_slots, row, place % num_slots
            chain.append((int(stacks.entry[at]), int(stacks.start[at]), int(stacks.end[at])))
            place = int(stacks.parent[at])
        node = START_NODE
        for entry, start, end in reversed(chain):
            node = self.node(entry, start, end, node)
        return node


def _after_gap(target: Symbols) -> Symbols:
    return Symbols((NONTERMINALS[0], *target.tokens), ((), *target.links))
