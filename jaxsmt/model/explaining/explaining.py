"""Explanations of translations, from their derivations."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.model.explaining.explanation import Explanation, UsedRule
from jaxsmt.model.explaining.shares import component_shares
from jaxsmt.model.model import Profile
from jaxsmt.model.source_text import SourceText
from jaxsmt.model.translation import NBestList, PlainTranslator, Translator
from jaxsmt.search.decoder import Request, complete_request
from jaxsmt.search.nbest.derivation import FORCED, RULE, UNKNOWN_WORD, Derivation, Node
from jaxsmt.search.nbest.rescoring import FeatureVectors, lm_word_features, rescore
from jaxsmt.search.weights import UNKNOWN_STEP
from jaxsmt.tm.weights import FEATURE_NAMES

ORIENTATION = "orientation"
_SENTENCE_FEATURES = ("word_penalty", "phrase_penalty", "glue", "swap", "unknown", "distortion")


def explain(
    translator: Translator, text: SourceText, profiles: Sequence[Profile], lists: Sequence[NBestList]
) -> list[Explanation]:
    """How the best of each line's list came about; of lines without a single derivation only the weights are told."""
    plain = translator.plain
    made = []
    for row, (profile, ranked) in enumerate(zip(profiles, lists, strict=True)):
        one = text.take([row])
        request = complete_request(plain.request(one, [profile]), plain.decoder.rules, plain.decoder.lms)
        derivation = ranked.listed[0].parts[0] if ranked.listed else None
        line = ranked.best
        told: dict[str, Any] = {"pieces": (), "parts": {}, "lm_by_word": (), "score": float(line.score)}
        if derivation is not None:
            told = _Telling(plain, one, profile, request).of_derivation(derivation)
        told |= _weights(plain, profile)
        told |= {"label": profile.label, "tokens": tuple(one.tokens[0]), "unknown": tuple(line.unknown)}
        made.append(Explanation(source=one.lines[0], translation=line.text, **told))
    return made


class _Telling:
    """What is told of the derivation of one line; the request is complete."""

    def __init__(self, plain: PlainTranslator, text: SourceText, profile: Profile, request: Request):
        self.plain, self.text, self.profile, self.request = plain, text, profile, request
        self.weights = {name: value[0].astype(np.float64) for name, value in vars(request.weights).items()}

    def of_derivation(self, derivation: Derivation) -> dict[str, Any]:
        words = self.plain.output(self.text.tokens[0], derivation.tokens)
        tokens, first = ragged_from_rows([derivation.tokens]), np.zeros(1, np.int64)
        of_words = lm_word_features(self.plain.decoder, self.request, first, tokens).values
        lm = of_words @ self.weights["lm"][: of_words.shape[1]]  # operations, the last, are no feature of single words
        features = rescore(self.plain.decoder, self.request, [derivation])
        return {
            "pieces": self._pieces(derivation, words, lm),
            "parts": self._parts(features),
            "lm_by_word": tuple(zip((*words, "</s>"), lm.tolist(), strict=True)),
            "score": float(features.score[0]),
        }

    def _parts(self, features: FeatureVectors) -> dict[str, float]:
        """What each feature adds to the score."""
        rule = dict(zip(features.names, (features.rule[0] * self.weights["rule"]).tolist(), strict=True))
        lm = dict(zip(features.lm_names, (features.lm[0] * self.weights["lm"]).tolist(), strict=True))
        rest = {name: float(getattr(features, name)[0] * self.weights[name]) for name in _SENTENCE_FEATURES}
        return {**rule, **lm, **rest, "reordering": float(features.reordering[0] @ self.weights["reordering"])}

    def _pieces(self, derivation: Derivation, words: Sequence[str], lm: np.ndarray) -> tuple[UsedRule, ...]:
        writers = np.array(derivation.writers, np.int64)
        told = [
            (np.flatnonzero(writers == number), number, node)
            for number, node in enumerate(derivation.nodes)
            if node.kind in (RULE, UNKNOWN_WORD, FORCED)
        ]
        # in the order of the output; what wrote nothing stands where it was in the source
        told.sort(key=lambda item: (int(item[0][0]), 0) if len(item[0]) else (len(words), item[2].start))
        return tuple(self._piece(node, places, words, lm) for places, _, node in told)

    def _piece(self, node: Node, places: np.ndarray, words: Sequence[str], lm: np.ndarray) -> UsedRule:
        own_kind = "rule" if -1 in node.source_places else "phrase"
        kind = {UNKNOWN_WORD: "unknown", FORCED: "term"}.get(node.kind, own_kind)
        weights = self.weights
        shares: dict[str, float] = {}
        counts: dict[str, float] = {}
        features: dict[str, float] = {}
        score = float(weights["phrase_penalty"] - weights["word_penalty"] * len(places))
        if node.kind == UNKNOWN_WORD:
            score += float(weights["unknown"] * UNKNOWN_STEP)
        if node.kind == RULE:
            rules = self.plain.decoder.rules
            values = rules.features(np.array([node.pair]), np.zeros(1, np.int64), self.request.mixture)[0]
            features = dict(zip(rules.grammar.feature_names, values.astype(np.float64).tolist(), strict=True))
            score += float(values.astype(np.float64) @ weights["rule"])
            shares, counts = self._origin(node.pair)
        return UsedRule(
            kind, node.start, node.end, self._source_side(node), tuple(words[place] for place in places.tolist()),
            tuple(places.tolist()), shares, counts, features, score, float(lm[places].sum()),
        )  # fmt: skip

    def _origin(self, pair: int) -> tuple[dict[str, float], dict[str, float]]:
        """Shares and counts of the components that have a pair."""
        model = self.plain.model
        union, names = model.rules.union, model.names
        seen = union.statistics.joint_counts[:, pair].tolist()
        shares = component_shares(union, np.array([pair]), self.profile.mixture, model.mixing.config)[0].tolist()
        counts = {name: float(count) for name, count in zip(names, seen, strict=True) if count > 0}
        return {name: share for name, share in zip(names, shares, strict=True) if name in counts}, counts

    def _source_side(self, node: Node) -> tuple[str, ...]:
        """Source words; gaps by number, in the order of the source."""
        side, gaps = [], 0
        for place in node.source_places:
            gaps += place < 0
            side.append(f"[{gaps}]" if place < 0 else self.text.tokens[0][place])
        return tuple(side)


def _weights(plain: PlainTranslator, profile: Profile) -> dict[str, Mapping[str, Any]]:
    """The weights of a profile, by name."""
    model = plain.model
    rows = np.atleast_2d(profile.mixture)
    features = ("all",) if np.ndim(profile.mixture) == 1 else (*FEATURE_NAMES, ORIENTATION)[: len(rows)]
    return {
        "component_weights": {
            feature: dict(zip(model.names, row.tolist(), strict=True))
            for feature, row in zip(features, rows, strict=True)
        },
        "lm_weights": {
            part.name: dict(zip(part.names, np.asarray(row).tolist(), strict=True))
            for part, row in zip(model.lms, profile.lm_mixtures[: len(model.lms)], strict=True)
        },
        "weights": {name: np.asarray(value).tolist() for name, value in vars(profile.weights).items()},
    }
