"""Target sides as a language model has scored them: those of the grammar, and those of special entries."""

from dataclasses import dataclass

import numpy as np

from jaxsmt.search.chart.compiled import CompiledTargets
from jaxsmt.search.chart.rows import SearchLm
from jaxsmt.search.plan.planning import SpecialEntries
from jaxsmt.search.plan.profiles import Profiles
from jaxsmt.search.rules.grammar import Grammar, Programs, compile_by_mixture, compile_targets


@dataclass(frozen=True)
class TargetPrograms:
    """The compiled targets of a grammar under one language model, or under mixtures of several."""

    lm: SearchLm
    programs: Programs | None  # of all targets, where there is one model;
    compiled: CompiledTargets | None  # where there are several, on demand

    def programs_of(self, target: np.ndarray, user: np.ndarray, profiles: Profiles) -> tuple[Programs, np.ndarray]:
        """Compiled targets, and the place there of each target [A] for its profile [A]."""
        if self.programs is not None:
            return self.programs, target
        assert profiles.lm_mixture is not None
        assert self.compiled is not None
        return self.compiled.programs(target, user, profiles.lm_mixture)

    def special_programs(self, entries: SpecialEntries, profiles: Profiles) -> Programs:
        """The sides of special entries, compiled."""
        if profiles.lm_mixture is None:
            return compile_targets(self.lm, entries.side_array())
        return compile_by_mixture(self.lm, entries.side_array(), np.array(entries.profiles), profiles.lm_mixture)


def target_programs(lm: SearchLm, grammar: Grammar, lm_ids: np.ndarray) -> TargetPrograms:
    """Compiles all targets of the grammar; lm_ids: [V] the language model's ids of their words."""
    if lm.automaton.num_models == 1:
        return TargetPrograms(lm, compile_targets(lm, lm_ids[grammar.target_sides]), None)
    return TargetPrograms(lm, None, CompiledTargets(lm, grammar.target_sides, lm_ids))
