"""What a decoder is, of either search, and how one is made."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.search.chart.rows import SearchLm
from jaxsmt.search.nbest.derivation import Derivation
from jaxsmt.search.plan.forest import Sizes
from jaxsmt.search.plan.targets import LmFeatures, TargetPrograms, target_programs
from jaxsmt.search.request import Request, SearchConfig, complete_request
from jaxsmt.search.rules.model import RuleModel
from jaxsmt.search.statistics import SearchStatistics
from jaxsmt.text.vocabulary import NONTERMINALS

if TYPE_CHECKING:
    from jaxsmt.osm.models import OperationModels
    from jaxsmt.search.nbest.sources import Source
    from jaxsmt.search.stack.operations.programs import PhraseOperations

__all__ = ["Decoder", "LmFeatures", "Request", "SearchConfig", "complete_request", "make_decoder"]


class DecodedBatch(Protocol):
    """Sentences of a request, planned and decoded."""

    def source(self) -> "Source":
        """What n-best lists are made from; edges were kept."""


class Decoder(Protocol):
    """Rules and language models made ready for search. See `make_decoder`."""

    @property
    def end_words(self) -> int:
        """How many of <s> and </s> count as words."""

    @property
    def makes_chains(self) -> bool:
        """Whether derivations are chains of phrases in the order of the output, and not trees."""

    @property
    def rules(self) -> RuleModel: ...
    @property
    def targets(self) -> tuple[TargetPrograms, ...]:
        """Compiled target sides, for each language model."""

    @property
    def operations(self) -> "PhraseOperations | None":
        """An operation sequence model; its weight is the last of those of `lm`."""

    @property
    def config(self) -> SearchConfig: ...
    @property
    def statistics(self) -> SearchStatistics:
        """Of all that was decoded so far."""

    @property
    def lms(self) -> tuple[SearchLm, ...]:
        """The language models, then that of operations."""

    @property
    def lm_names(self) -> tuple[str, ...]:
        """Of the features of all these."""

    def with_rules(self, rules: RuleModel) -> "Decoder":
        """The same search with other rules of the same words; what is decoded is counted together."""

    def translate(self, request: Request, sizes: Sizes | None = None) -> list[Derivation]:
        """The best derivation of every sentence; `sizes` fixes the static sizes instead of choosing them."""

    def batches(
        self, request: Request, sizes: Sizes | None = None, keep_edges: bool = False
    ) -> Iterator[DecodedBatch]:
        """Decodes batch by batch."""


def make_decoder(
    rules: RuleModel, lms: Sequence[LmFeatures], config: SearchConfig | None = None,
    operations: "OperationModels | None" = None,
) -> Decoder:  # fmt: skip
    """Compiles all target sides for the language models, of which there is one at least.

    operations: models that the stack search has as one more, the last of `SearchWeights.lm` and of mixtures.
    """
    config = (config or SearchConfig()).for_phrases(not np.isin(rules.grammar.source_sides, NONTERMINALS).any())
    targets = tuple(target_programs(source, rules.grammar) for source in lms)
    if config.kind == "stack":  # each search is loaded by who searches so
        from jaxsmt.search.stack.decoder import stack_decoder

        return stack_decoder(rules, targets, config, operations)
    from jaxsmt.search.chart.decoder import ChartDecoder

    if operations is not None:
        raise UserError(
            "operation sequence models are searched with by kind 'stack', not by 'chart': rescore lists with them"
        )
    return ChartDecoder(rules, targets, config)
