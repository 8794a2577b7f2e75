"""Log-linear weights of the search, for all sentences or one vector for each; and the distinct ones of a batch."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from jaxsmt.common.errors import UserError

GLUE_STEP = float(np.log(2.718))  # the glue feature of each S → S X, as Moses' glue grammars have it
NUM_ORIENTATIONS = 6  # features of one reordering table
OWN_FEATURES = ("glue", "swap", "distortion", "reordering")  # that one search has and another has not
UNKNOWN_STEP = -100.0  # the unknown-word feature of each source word that nobody knows


def _are_finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(np.asarray(value, np.float64)).all())
    except (TypeError, ValueError):  # words, or rows of several lengths
        return False


@dataclass(frozen=True)
class SearchWeights:
    """Weights w of the features h; a hypothesis scores w·h.

    rule: [F] or [B, F], of the rules' own features.
    lm: of log p of the sentence with </s>: [M] or [B, M] of the M features of all language models, or for one feature a
      number or [B].
    word_penalty: of minus the number of target words, <s> and </s> counted.
    phrase_penalty: of the number of rules, those of glue and of both sentence ends counted.
    glue: of GLUE_STEP for each S → S X.
    swap: of the number of times that two blocks are swapped.
    unknown: of UNKNOWN_STEP for each unknown word.
    distortion: of minus the number of source words that are jumped over (stack search).
    reordering: [O] or [B, O], of the log-probabilities of orientations: monotone, swap, other to the previous phrase,
      then to the next, for each of O/6 reordering tables (stack search).
    All but `rule`, `lm` and `reordering` are numbers or [B]. The defaults are those of conf/weights.
    In the stack search there are no rules but phrases, and <s> and </s> are not counted.
    """

    rule: Any = (0.2, 0.2, 0.3, 0.2)
    lm: Any = 0.5
    word_penalty: Any = -0.7
    phrase_penalty: Any = -0.1
    glue: Any = -0.2
    swap: Any = -1.0
    unknown: Any = 1.0
    distortion: Any = 0.1
    reordering: Any = (0.2,) * NUM_ORIENTATIONS

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not _are_finite(value):
                raise UserError(f"weights.{name} is {value}: give finite numbers")
        if not np.size(self.rule) and np.ndim(self.rule) == 1:
            raise UserError("weights.rule is empty: give four numbers, one for each rule feature")

    def only(self, features: tuple[str, ...]) -> "SearchWeights":
        """The weights with 0 for those of OWN_FEATURES that are not among `features`."""
        none = {"glue": 0.0, "swap": 0.0, "distortion": 0.0, "reordering": (0.0,) * len(self.reordering)}
        return replace(self, **{name: none[name] for name in OWN_FEATURES if name not in features})

    def rows(self, rows: np.ndarray) -> "SearchWeights":
        """Those of some sentences, from weights of sentences."""
        return SearchWeights(**{name: value[rows] for name, value in vars(self).items()})

    @property
    def norm(self) -> np.ndarray:
        """[B]: L1 norm of the weights of rules, language models, word and phrase penalty, from weights of sentences."""
        vectors, numbers = (self.rule, self.lm), (self.word_penalty, self.phrase_penalty)
        return sum(np.abs(part).sum(1) for part in vectors) + sum(np.abs(part) for part in numbers)

    def of_sentences(
        self, num_sentences: int, num_features: int, num_orientations: int = NUM_ORIENTATIONS, num_lm_features: int = 1
    ) -> "SearchWeights":
        """The weights as arrays [B, F], [B, M], [B, O] and [B] float32, checked."""
        values = {}
        sizes = {"rule": num_features, "lm": num_lm_features, "reordering": num_orientations}
        for field in fields(self):
            value = np.asarray(getattr(self, field.name), np.float32)
            if field.name == "reordering" and not value.any():
                value = np.zeros(num_orientations, np.float32)  # none given
            if field.name == "lm" and num_lm_features == 1 and value.shape in ((), (num_sentences,)):
                value = value[..., None]
            shape = (num_sentences, sizes[field.name]) if field.name in sizes else (num_sentences,)
            if value.shape not in (shape, shape[1:]):
                wanted = f"{sizes[field.name]} numbers" if sizes.get(field.name, 1) > 1 else "one number"
                raise UserError(
                    f"weights.{field.name} has shape {list(value.shape)}: "
                    f"give {wanted}, for all sentences or for each"
                )
            values[field.name] = np.ascontiguousarray(np.broadcast_to(value, shape))
        return SearchWeights(**values)


@dataclass(frozen=True)
class Profiles:
    """The distinct (w, λ, LM weights) of a batch; U of them.

    of_sentence: [B]; weights: arrays by profile; mixture: [U, ...] or None.
    lm_mixture: for each language model [U, D] or None.
    """

    of_sentence: np.ndarray
    weights: SearchWeights
    mixture: np.ndarray | None
    lm_mixture: tuple[np.ndarray | None, ...]

    def __len__(self) -> int:
        """U"""
        return len(self.weights.lm)

    def lm_scores(self, profile: np.ndarray, features: Sequence[np.ndarray]) -> np.ndarray:
        """[A] float32: the weighted sum, under profiles [A], of all language models' features, [A, F] each."""
        total, first = np.zeros(len(profile), np.float32), 0
        for values in features:
            weights = self.weights.lm[:, first : first + values.shape[1]]
            total += np.einsum("af,af->a", np.take(weights, profile, axis=0), values)
            first += values.shape[1]
        return total

    @property
    def start_score(self) -> np.ndarray:
        """[U] float64: the score of S → <s>, one rule and one word."""
        return self.weights.phrase_penalty.astype(np.float64) - self.weights.word_penalty


def distinct_profiles(
    weights: SearchWeights, mixture: np.ndarray | None, lm_mixture: Sequence[np.ndarray | None]
) -> Profiles:
    """weights: arrays by sentence [B, ...], mixture [B, ...], lm_mixture: for each language model [B, D] or None."""
    num = len(weights.lm)
    parts = [*(getattr(weights, field.name) for field in fields(weights)), mixture, *lm_mixture]
    columns = [np.asarray(part, np.float32).reshape(num, -1) for part in parts if part is not None]
    _, first, of_sentence = np.unique(np.concatenate(columns, 1), axis=0, return_index=True, return_inverse=True)
    taken = SearchWeights(**{field.name: getattr(weights, field.name)[first] for field in fields(weights)})
    return Profiles(
        of_sentence.reshape(-1),
        taken,
        None if mixture is None else mixture[first],
        tuple(None if part is None else part[first] for part in lm_mixture),
    )
