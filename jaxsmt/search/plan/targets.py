"""Target sides as language models have scored them: those of the grammar, and those of special entries."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.lm.automaton import Automaton
from jaxsmt.search.chart.compiled import CompiledTargets
from jaxsmt.search.chart.rows import COMBINATIONS, LINEAR, LOG_LINEAR, SearchLm, prepare_lm
from jaxsmt.search.plan.lists import PlacedPrograms
from jaxsmt.search.plan.planning import SpecialEntries
from jaxsmt.search.rules.grammar import Grammar, Programs, compile_by_mixture, compile_targets
from jaxsmt.search.weights import Profiles


@dataclass(frozen=True)
class LmFeatures:
    """A language model that a search is to have: D models in one automaton, which are one feature or several.

    automaton: of the D models.
    word_ids: [V] int32: its ids of the rules' target words, ids of classes for instance; None: it has their ids.
    combination: LINEAR, LOG_LINEAR or BOTH, see `SearchLm`.
    name: of the feature; components: D names of the models, for those of several features.
    """

    automaton: Automaton
    word_ids: np.ndarray | None = None
    combination: str = LINEAR
    name: str = "lm"
    components: Sequence[str] | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """[F]"""
        names = self.components or [str(number) for number in range(self.automaton.num_models)]
        return lm_feature_names(self.name, self.combination, names)


def lm_feature_names(name: str, combination: str, components: Sequence[str]) -> tuple[str, ...]:
    """[F] names of the features of a language model of D components."""
    if combination not in COMBINATIONS:
        raise UserError(f"language models are combined '{combination}': choose one of {', '.join(COMBINATIONS)}")
    mixed = () if combination == LOG_LINEAR else (name,)
    return mixed if combination == LINEAR else (*mixed, *(f"{name}-{component}" for component in components))


@dataclass(frozen=True)
class TargetPrograms:
    """The compiled targets of a grammar under one language model, or under mixtures of several.

    lm_ids: [V] int32: the model's ids of target words; names: [F] of its features.
    programs: of all targets, where no mixture changes them; compiled: where mixtures do, on demand.
    """

    lm: SearchLm
    lm_ids: np.ndarray
    names: tuple[str, ...]
    programs: Programs | None
    compiled: CompiledTargets | None

    def programs_of(self, target: np.ndarray, user: np.ndarray, lm_mixture: np.ndarray | None) -> PlacedPrograms:
        """Compiled targets, and the place there of each target [A] for its profile [A]; lm_mixture: by profile."""
        if self.programs is not None:
            return PlacedPrograms(self.programs, target)
        assert lm_mixture is not None
        assert self.compiled is not None
        return PlacedPrograms(*self.compiled.programs(target, user, lm_mixture))

    def special_programs(self, sides: np.ndarray, user: np.ndarray, lm_mixture: np.ndarray | None) -> Programs:
        """Sides [Z, L] of special entries under profiles [Z], compiled."""
        if lm_mixture is None:
            return compile_targets(self.lm, sides)
        return compile_by_mixture(self.lm, sides, user, lm_mixture)


def target_programs(source: LmFeatures, grammar: Grammar) -> TargetPrograms:
    """Compiles all targets of the grammar for a language model."""
    lm, ids = prepare_lm(source.automaton, source.combination), source.word_ids
    ids = np.arange(len(grammar.target_vocabulary), dtype=np.int32) if ids is None else np.asarray(ids, np.int32)
    names = source.feature_names
    if not lm.has_mixture:
        return TargetPrograms(lm, ids, names, compile_targets(lm, ids[grammar.target_sides]), None)
    return TargetPrograms(lm, ids, names, None, CompiledTargets(lm, grammar.target_sides, ids))


def programs_by_lm(
    targets: Sequence[TargetPrograms], target: np.ndarray, user: np.ndarray, profiles: Profiles
) -> tuple[PlacedPrograms, ...]:
    """`TargetPrograms.programs_of` for each language model; behind their mixtures there may be further ones."""
    mixtures = profiles.lm_mixture[: len(targets)]
    return tuple(own.programs_of(target, user, mixture) for own, mixture in zip(targets, mixtures, strict=True))


def special_programs_by_lm(
    targets: Sequence[TargetPrograms], entries: SpecialEntries, profiles: Profiles
) -> tuple[Programs, ...]:
    """The sides of special entries, compiled for each language model."""
    user = np.array(entries.profiles, np.int64)
    return tuple(
        own.special_programs(entries.side_array(number), user, mixture)
        for number, (own, mixture) in enumerate(zip(targets, profiles.lm_mixture[: len(targets)], strict=True))
    )
