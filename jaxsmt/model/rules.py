"""The rules of a model: statistics of its components, of which a known text needs only a part."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from jaxsmt.tm.component import Component
from jaxsmt.tm.restrict import restricted_components, without_unused_word_pairs
from jaxsmt.tm.union import UnionView, build_union


@dataclass(frozen=True, eq=False)
class Rules:
    """Components, and the union of them, made when it is first asked for; models that differ elsewhere share it.

    components: as they lie on the disk.
    sentences: the tokenised sentences that are to be translated, all others are refused; None: any.
    """

    components: Sequence[Component]
    sentences: frozenset[tuple[str, ...]] | None = None

    @cached_property
    def usable(self) -> list[Component]:
        """The components with those rules that the sentences can use."""
        if self.sentences is None:
            return list(self.components)
        return restricted_components(self.components, sorted(self.sentences))

    @cached_property
    def union(self) -> UnionView:
        """Of the usable components."""
        found = build_union(self.usable)
        return found if self.sentences is None else without_unused_word_pairs(found)

    def has(self, sentences: Sequence[Sequence[str]]) -> bool:
        """Whether these sentences may be translated."""
        return self.sentences is None or self.sentences.issuperset(map(tuple, sentences))
