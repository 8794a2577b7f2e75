"""The rules of a model, and how its components are mixed: the keys of conf/mixture, and weights that need no fit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.settings import LARGEST_NUMBER, check_choices, check_positive, check_ranges
from jaxsmt.search.rules.model import RuleModel, mixed_rules
from jaxsmt.tm.component import Component
from jaxsmt.tm.fit.config import LinearConfig, PerplexityConfig
from jaxsmt.tm.gathering.components import RuleTables
from jaxsmt.tm.union import UnionView, build_union

if TYPE_CHECKING:
    from jaxsmt.tm.component_table import ComponentTable
    from jaxsmt.tm.provenance import Provenance

COUNTS, LINEAR, LOG_LINEAR, FILL_UP = "counts", "linear", "loglinear", "fillup"
ENSEMBLES = ("wsum", "wmax", "prod", "switch_max", "switch_sum")
OPERATIONS = (COUNTS, LINEAR, LOG_LINEAR, FILL_UP, *ENSEMBLES)
WEIGHTINGS = ("equal", "own", "others", "raised", "fitted", "trained", "tuned")
LM_WEIGHTINGS = ("fitted", "equal", "own")
TARGET_CLUSTERS = "target_clusters"
LABELS = ("sets", "clusters", TARGET_CLUSTERS)
CHOICES = {"operation": OPERATIONS, "weighting": WEIGHTINGS, "lm_weighting": LM_WEIGHTINGS, "labels": LABELS}


@dataclass(frozen=True)
class MixingConfig:
    """How components are mixed, and where their weights come from: all of conf/mixture.

    What the search needs of it to run an ensemble is `jaxsmt.search.rules.ensemble.EnsembleConfig`.

    operation: 'counts' adds weighted counts, 'linear' weighted probabilities; 'loglinear' makes features of all;
      'fillup' asks one component after the other; the rest are ensembles of models with weights of their own.
    weighting: 'equal'; 'own' and 'others': only the text's own component, or only the others; 'raised': the own one by
      `raise_by`; 'fitted' to the development pairs; 'trained' from there on for BLEU together with log-linear weights
      (counts, linear; tune=risk); 'tuned' for BLEU (ensembles).
    lm_weighting: of the language models: 'fitted' to the text of each label; 'own': only the one with the label's name;
      or for all text 'equal' (with lm.joint, the model of all text alone).
    labels: weights for each of the development 'sets', for 'clusters' of their sentences, or for 'target_clusters' of
      all training text, which then have language models in place of the components.
    find_labels: whether the model learns to tell which of several development sets a text is nearest to ('sets').
    num_clusters: how many; cluster_seed: of their random starts.
    cluster_centring: 'none' or 'sentence', see `jaxsmt.adapt.clusters.clustering`.
    epsilon: the probability of a rule that a model lacks, where an operation needs one (loglinear, prod).
    literal: switch as the paper prints it, with λ times the log score.
    span_normalised: ensembles rank rules by scores normalised over the span.
    tune_each: log-linear weights are tuned for each label on its own sentences.
    """

    operation: str = COUNTS
    weighting: str = "fitted"
    lm_weighting: str = "fitted"
    labels: str = "sets"
    find_labels: bool = True
    raise_by: float = 10.0
    num_clusters: int = 4
    cluster_seed: int = 0
    cluster_centring: str = "none"
    epsilon: float = 1e-6
    literal: bool = False
    span_normalised: bool = False
    tune_each: bool = False
    perplexity: PerplexityConfig = field(default_factory=PerplexityConfig)
    linear: LinearConfig = field(default_factory=LinearConfig)

    def __post_init__(self) -> None:
        check_choices(self, "mixture", CHOICES)
        if self.weighting == "tuned" and not self.is_ensemble:
            raise UserError(f"mixture.weighting=tuned is for ensembles: choose another one for '{self.operation}'")
        if self.weighting == "trained" and self.operation not in (COUNTS, LINEAR):
            raise UserError(f"mixture.weighting=trained is for counts and linear, and not for '{self.operation}'")
        check_positive(self, "mixture", ["raise_by", "epsilon"])
        check_ranges(self, "mixture", {"num_clusters": (1, 10_000), "cluster_seed": (0, LARGEST_NUMBER)})

    @property
    def is_ensemble(self) -> bool:
        return self.operation in ENSEMBLES

    @property
    def weights_are_shared(self) -> bool:
        """One λ for all features: models are mixed as wholes."""
        return self.is_ensemble or self.operation == FILL_UP


def fixed_weights(config: MixingConfig, label: str | None, names: Sequence[str]) -> np.ndarray:
    """[D] weights that need no fit; without a label, or with one that is no component, all are equal."""
    is_own = np.array(names) == label
    if not is_own.any() or config.weighting in ("equal", "fitted", "trained", "tuned"):
        weights = np.ones(len(names))
    elif config.weighting == "own":
        weights = is_own.astype(float)
    elif config.weighting == "others":
        weights = 1.0 - is_own if len(names) > 1 else np.ones(1)
    else:
        weights = np.where(is_own, config.raise_by, 1.0)
    return weights if config.operation == COUNTS else weights / weights.sum()


@dataclass(frozen=True, eq=False)
class Rules:
    """What is fetched of the components for a text, and the union of it, made when it is first asked for.

    tables: the components as they lie on the disk; models that differ elsewhere share them.
    sentences: the tokenised sentences that are to be translated, all others are refused; None: any, for which
      everything has to be read.
    """

    tables: RuleTables
    sentences: frozenset[tuple[str, ...]] | None = None

    @property
    def components(self) -> Sequence[Component]:
        """All of each."""
        return self.tables.components

    @cached_property
    def usable(self) -> list[Component]:
        """The components with those rules that the sentences can use."""
        if self.sentences is None:
            return list(self.components)
        return self.tables.for_sentences(sorted(self.sentences))

    @cached_property
    def union(self) -> UnionView:
        """Of the usable components."""
        return build_union(self.usable, self.tables.words)

    def for_sentences(self, sentences: Iterable[Sequence[str]]) -> "Rules":
        """Those that tokenised sentences can use."""
        return Rules(self.tables, frozenset(map(tuple, sentences)))

    def has(self, sentences: Sequence[Sequence[str]]) -> bool:
        """Whether these sentences may be translated."""
        return self.sentences is None or self.sentences.issuperset(map(tuple, sentences))


def make_rules(
    union: UnionView, components: Sequence[Component], config: MixingConfig,
    component_weights: Sequence[Sequence[float]] = (), provenance: "Provenance | None" = None,
) -> RuleModel:  # fmt: skip
    """Rules of all components under the operation of a configuration; component_weights: [D, 4] of an ensemble.

    provenance: features of where rules were seen, behind all others.
    """
    if provenance is not None:
        from jaxsmt.search.rules.provenance import provenance_rules

        return provenance_rules(make_rules(union, components, config, component_weights), union, provenance)
    if config.operation == COUNTS:
        return mixed_rules(union)
    # most models add counts, and need not load the other operations
    from jaxsmt.search.rules.mixtures import fill_up_rules, linear_rules, log_linear_rules
    from jaxsmt.tm.component_table import component_table

    table = component_table(union, components)
    if config.operation == LINEAR:
        return linear_rules(union, table, config.linear.normalised)
    if config.operation == LOG_LINEAR:
        return log_linear_rules(union, table, config.epsilon)
    if config.operation == FILL_UP:
        return fill_up_rules(union, table)
    return _ensemble(union, table, np.array(component_weights), config)


def _ensemble(union: UnionView, table: "ComponentTable", weights: np.ndarray, config: MixingConfig) -> RuleModel:
    from jaxsmt.search.rules.ensemble import EnsembleConfig
    from jaxsmt.search.rules.ensemble_spans import ensemble_rules

    options = EnsembleConfig(  # the search's own part of the settings
        config.operation.replace("_", ":"),
        epsilon=config.epsilon,
        normalise_weights=False,  # they are, together with the weights that all components share
        normalise_spans=config.span_normalised,
        literal=config.literal,
    )
    return ensemble_rules(union, table, weights, options)
