"""Targets compiled for mixtures of language models, and kept: rounds of tuning and members of a bag ask again."""

import numpy as np

from jaxsmt.common.grouping import sorted_distinct
from jaxsmt.search.chart.rows import SearchLm
from jaxsmt.search.rules.grammar import Programs, compile_by_mixture

MOST_KEPT = 1 << 22  # targets × mixtures, some 80 bytes each
_BY_TARGET = ("program", "estimate", "log_p", "num_words")


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
