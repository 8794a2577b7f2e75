"""Target sides as language models have scored them: those of the grammar, and those of special entries.

Under mixtures of language models they are compiled on demand and kept: rounds of tuning and members of a bag ask again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.grouping import sorted_distinct
from jaxsmt.lm.automaton import Automaton
from jaxsmt.search.chart.rows import COMBINATIONS, LINEAR, LOG_LINEAR, SearchLm, prepare_lm
from jaxsmt.search.plan.lists import PlacedPrograms
from jaxsmt.search.plan.planning import SpecialEntries
from jaxsmt.search.rules.grammar import Grammar, Programs, compile_by_mixture, compile_targets
from jaxsmt.search.weights import Profiles

MOST_KEPT = 1 << 22  # targets × mixtures, some 80 bytes each
_BY_TARGET = ("program", "estimate", "log_p", "num_words")


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


class CompiledTargets:
    """Compiles target sides on demand, each once for each mixture, until there are too many."""

    def __init__(self, lm: SearchLm, sides: np.ndarray, lm_ids: np.ndarray, most: int = MOST_KEPT):
        """sides: [Pt, Lt] int32, all targets; lm_ids: [V] the language model's ids of their words."""
        self.lm, self.sides, self.lm_ids, self.most = lm, sides, lm_ids, most
        self._forget()

    def _forget(self) -> None:
        self._mixtures: dict[bytes, int] = {}  # numbers of mixtures
        self._keys = np.zeros(0, np.int64)  # mixture · Pt + target, sorted
        self._places = np.zeros(0, np.int64)  # of the keys in the arrays below
        no_mixture = np.zeros((1, self.lm.automaton.num_models), np.float32)
        self._arrays = dict(vars(compile_by_mixture(self.lm, self.sides[:0], np.zeros(0, np.int64), no_mixture)))
        self._num_rows, self._num_targets = len(self._arrays["rows"]), 0

    def programs(self, target: np.ndarray, user: np.ndarray, mixtures: np.ndarray) -> tuple[Programs, np.ndarray]:
        """Programs, and the place there of target[n] for the mixture mixtures[user[n]]; mixtures: [U, D] float32."""
        wanted = self._keys_of(target, user, mixtures)
        missing = self._missing(wanted)
        if len(self._keys) + len(missing) > self.most and len(self._keys):
            self._forget()
            wanted = self._keys_of(target, user, mixtures)
            missing = sorted_distinct(wanted)
        if len(missing):
            self._add(missing)
        filled = {name: self._arrays[name][: self._num_targets] for name in _BY_TARGET}
        programs = Programs(self._arrays["rows"][: self._num_rows], **filled)
        return programs, self._places[np.searchsorted(self._keys, wanted)]

    def _keys_of(self, target: np.ndarray, user: np.ndarray, mixtures: np.ndarray) -> np.ndarray:
        numbers = [self._mixtures.setdefault(row.tobytes(), len(self._mixtures)) for row in mixtures]
        return np.array(numbers, np.int64)[user] * max(len(self.sides), 1) + target

    def _missing(self, wanted: np.ndarray) -> np.ndarray:
        distinct = sorted_distinct(wanted)
        place = np.searchsorted(self._keys, distinct)
        is_known = place < len(self._keys)
        is_known[is_known] = self._keys[place[is_known]] == distinct[is_known]
        return distinct[~is_known]

    def _add(self, keys: np.ndarray) -> None:
        number, target = np.divmod(keys, max(len(self.sides), 1))
        used, of_used = np.unique(number, return_inverse=True)
        mixtures = np.array([np.frombuffer(row, np.float32) for row in self._mixtures])[used]
        found = compile_by_mixture(self.lm, self.lm_ids[self.sides[target]], of_used.reshape(-1), mixtures)
        shift = self._num_rows - 1  # row 0, the empty run, is there
        program = np.where(found.program > 0, found.program + shift, found.program)
        self._write("rows", self._num_rows, found.rows[1:])
        for name in _BY_TARGET:
            self._write(name, self._num_targets, program if name == "program" else getattr(found, name))
        where = np.searchsorted(self._keys, keys)
        self._keys = np.insert(self._keys, where, keys)
        self._places = np.insert(self._places, where, self._num_targets + np.arange(len(keys)))
        self._num_rows += len(found.rows) - 1
        self._num_targets += len(keys)

    def _write(self, name: str, first: int, values: np.ndarray) -> None:
        """Puts values behind the first ones; the array at least doubles when it is full."""
        array = self._arrays[name]
        if first + len(values) > len(array):
            grown = np.zeros((max(2 * len(array), first + len(values)), *array.shape[1:]), array.dtype)
            grown[:first] = array[:first]
            self._arrays[name] = array = grown
        array[first : first + len(values)] = values


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

    def for_grammar(self, grammar: Grammar) -> "TargetPrograms":
        """Those of another grammar with the same target words."""
        return _compiled(self.lm, self.lm_ids, self.names, grammar)

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
    return _compiled(lm, ids, source.feature_names, grammar)


def _compiled(lm: SearchLm, ids: np.ndarray, names: tuple[str, ...], grammar: Grammar) -> TargetPrograms:
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
