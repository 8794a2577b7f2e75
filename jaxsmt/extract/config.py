"""What to extract, and within how much memory."""

import math
from dataclasses import dataclass, field, replace

from jaxsmt.common.errors import UserError
from jaxsmt.common.settings import check_positive, check_ranges

PHRASE, HIERO = "phrase", "hiero"
MAX_ALIGNMENT_BITS = 64  # the links of a pair are packed into one unsigned integer


@dataclass(frozen=True)
class ExtractConfig:
    """Settings of extraction; the defaults are the customary ones of phrase-based and hierarchical systems.

    kind: 'phrase' (phrase pairs) or 'hiero' (hierarchical rules; Chiang 2007, section 3.2).
    max_phrase_length: the longest phrase, in words, on either side (phrase only).
    max_span: the longest initial phrase, in words, on either side (hiero only, as all below it).
    max_source_symbols: the most words and gaps on the source side of a rule.
    max_nonterminals: the most gaps of a rule, 0 to 2.
    min_gap: the fewest source words that a gap stands for.
    fractional: the rules of one initial phrase pair share one count equally; otherwise each counts one.
    min_count: rules with gaps that were seen fewer times than this are left out after counting.
    min_source_count: likewise those whose source side stands in fewer places of the text than this.
    orientations: count mono, swap and other against the neighbours (phrase only).
    kinds: the kind of single components, by name; models of several kinds go together.
    memory_budget_gb: the most memory to work in; what does not fit goes through temporary files.
    """

    kind: str = PHRASE
    max_phrase_length: int = 7
    max_span: int = 10
    max_source_symbols: int = 5
    max_nonterminals: int = 2
    min_gap: int = 2
    fractional: bool = True
    min_count: int = 1
    min_source_count: int = 1
    orientations: bool = True
    kinds: dict[str, str] = field(default_factory=dict)
    memory_budget_gb: float = 4.0

    def __post_init__(self) -> None:
        for key, kind in {"kind": self.kind, **{f"kinds.{name}": kind for name, kind in self.kinds.items()}}.items():
            if kind not in (PHRASE, HIERO):
                raise UserError(f"extract.{key} is '{kind}': choose '{PHRASE}' or '{HIERO}'")
        limits = {
            "max_phrase_length": (1, 8),
            "max_span": (1, 16),
            "max_source_symbols": (1, 16),
            "max_nonterminals": (0, 2),
            "min_gap": (1, 16),
            "min_count": (1, math.inf),
            "min_source_count": (1, math.inf),
        }
        check_ranges(self, "extract", limits)
        if self.kind == HIERO and self.source_width * self.target_width > MAX_ALIGNMENT_BITS:
            raise UserError(
                f"extract.max_source_symbols × extract.max_span is {self.source_width * self.target_width}: "
                f"choose them so that the product is at most {MAX_ALIGNMENT_BITS}"
            )
        check_positive(self, "extract", ["memory_budget_gb"])

    def of_component(self, name: str) -> "ExtractConfig":
        """The settings for one component."""
        return replace(self, kind=self.kinds.get(name, self.kind), kinds={})

    @property
    def with_rare_rules(self) -> "ExtractConfig":
        """The settings for a text so small that every rule is rare: a development set, a memory."""
        return replace(self, min_count=1, min_source_count=1)

    @property
    def is_hiero(self) -> bool:
        return self.kind == HIERO

    @property
    def leaves_out(self) -> bool:
        """Whether rare rules are left out."""
        return self.is_hiero and max(self.min_count, self.min_source_count) > 1

    @property
    def max_box(self) -> int:
        """The longest side of a box that is looked for, in words."""
        return self.max_span if self.is_hiero else self.max_phrase_length

    @property
    def source_width(self) -> int:
        """Ls: the most symbols of a source side."""
        return min(self.max_source_symbols, self.max_span) if self.is_hiero else self.max_phrase_length

    @property
    def target_width(self) -> int:
        """Lt: the most symbols of a target side."""
        return self.max_box
