"""A random generator of our own: the same draws on every platform and Python version."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, TypeVar

Item = TypeVar("Item")
_MASK = (1 << 64) - 1


class Dice:
    """SplitMix64 (Steele, Lea and Flood 2014): one 64-bit counter, integer arithmetic only."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def below(self, bound: int) -> int:
        """A whole number in [0, bound)."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((z ^ (z >> 31)) * bound) >> 64

    def chance(self, percent: int) -> bool:
        """True in `percent` of a hundred throws."""
        return self.below(100) < percent

    def choose(self, items: Sequence[Item]) -> Item:
        """One item, all equally likely."""
        return items[self.below(len(items))]


@dataclass(frozen=True)
class Urn(Generic[Item]):
    """Items with whole-number weights to draw from."""

    items: tuple[Item, ...]
    cumulative: tuple[int, ...]

    def draw(self, dice: Dice) -> Item:
        return self.items[bisect_right(self.cumulative, dice.below(self.cumulative[-1]))]

    def __len__(self) -> int:
        return len(self.items)


def urn(pairs: Sequence[tuple[Item, int]]) -> Urn[Item]:
    """An urn of (item, weight) pairs; weight 0 is never drawn."""
    return Urn(tuple(item for item, _ in pairs), tuple(accumulate(weight for _, weight in pairs)))
