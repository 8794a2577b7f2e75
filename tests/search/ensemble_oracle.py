"""Two or three tiny models that share rules, and the slow definitions of what combines them."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.search.rules.ensemble import EnsembleConfig
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD
from jaxsmt.tm.component_table import component_table
from jaxsmt.tm.union import build_union
from tests.search.search_oracle import TARGET, WEIGHTS, translations_by
from tests.tm.small_models import pairs_of, random_model, slow_features, to_component

EPSILON = 0.01


@dataclass(frozen=True)
class Small:
    """Models as dictionaries and as components; weights [D, 4]."""

    models: list
    components: list
    weights: np.ndarray

    @cached_property
    def union(self):
        return build_union(self.components)

    @cached_property
    def table(self):
        return component_table(self.union, self.components)

    @cached_property
    def pairs(self):
        return pairs_of(self.union)

    @cached_property
    def own(self):
        """{(pair number, component): its four features}, of the component alone."""
        return {
            (number, d): np.array(slow_features([model], np.ones((4, 1)), pair))
            for number, pair in enumerate(self.pairs)
            for d, model in enumerate(self.models)
            if pair in model.joint
        }

    def scores_of(self, number):
        """[D] w_m·φ_m of a pair, −∞ where the component lacks it."""
        num = len(self.models)
        return np.array(
            [self.weights[d] @ self.own[number, d] if (number, d) in self.own else -math.inf for d in range(num)]
        )

    @property
    def lm_ids(self):
        """Target words as words of the random language models."""
        num = len(self.union.target_vocabulary) - NUM_RESERVED
        return np.concatenate([np.arange(NUM_RESERVED), NUM_RESERVED + np.arange(num) % (len(TARGET) - NUM_RESERVED)])

    def sentences(self, texts):
        return ragged_from_rows([self.union.source_vocabulary.encode(text.split()) for text in texts])

    def sides(self, number):
        """Source and target ids of a pair."""
        statistics = self.union.statistics
        rows = (
            self.union.source_sides[statistics.source_index[number]],
            self.union.target_sides[statistics.target_index[number]],
        )
        return tuple(tuple(row[row != PAD].tolist()) for row in rows)


def small_models(seed, sizes=(10, 7, 9), kinds=("hiero", "phrase", "hiero"), num_shared=4):
    """Components after the first have some of its pairs."""
    rng = np.random.default_rng(seed)
    models = [random_model(rng, sizes[0], kinds[0], num_words=3)]
    for size, kind in zip(sizes[1:], kinds[1:], strict=True):
        shared = [pair for pair in models[0].joint if kind == "hiero" or "X1" not in pair[0]]
        models.append(random_model(rng, size, kind, num_words=3, given=tuple(shared[:num_shared])))
    components = [
        to_component(model, f"m{d}", rng, kind) for d, (model, kind) in enumerate(zip(models, kinds, strict=True))
    ]
    weights = rng.uniform(0.05, 0.4, (len(models), 4)) / 4  # floors of −100 would drown the rest
    return Small(models, components, weights.astype(np.float32))


def mixed(scores, weights, operation, epsilon=EPSILON):
    """One rule's score by the definition: components' scores [D] and λ [D]."""
    known = [(w, s) for w, s in zip(weights, scores, strict=True) if s > -math.inf and w > 0]
    if operation == "prod":
        return sum(w * (s if s > -math.inf else math.log(epsilon)) for w, s in zip(weights, scores, strict=True))
    if not known:
        return -math.inf
    if operation == "wmax":
        return max(math.log(w) + s for w, s in known)
    return math.log(sum(w * math.exp(s) for w, s in known))


def chosen(scores, weights, config):
    """The component of a span by the definition, or None; scores: the rules' scores of each component."""
    best, choice = -math.inf, None
    for n, (found, weight) in enumerate(zip(scores, weights, strict=True)):
        if not found or weight == 0:
            continue
        if config.operation == "switch:sum":
            psi = math.log(weight) + math.log(sum(math.exp(s) for s in found))
        else:
            psi = weight * max(found) if config.literal else math.log(weight) + max(found)
        if psi > best:
            best, choice = psi, n
    return choice


def lies_over(source, words):
    """Whether a source side can be laid over the words, each gap over at least one."""
    if not source or not words:
        return not source and not words
    if source[0] in NONTERMINALS:
        return any(lies_over(source[1:], words[size:]) for size in range(1, len(words) + 1))
    return source[0] == words[0] and lies_over(source[1:], words[1:])


def translations(small, config: EnsembleConfig, weights, sentence, max_span, search=WEIGHTS):
    """{tokens: best score without the language model} of a sentence under λ [D]."""
    rules = [(*small.sides(number), small.scores_of(number)) for number in range(len(small.pairs))]

    def collected(options):
        found = {}
        for source, target, score in options:
            if score > -math.inf:
                words = sum(token not in NONTERMINALS for token in target)
                score = score + search.phrase_penalty - search.word_penalty * words
                found.setdefault(source, []).append((target, score))
        return found

    if not config.operation.startswith("switch"):
        everywhere = collected((s, t, mixed(scores, weights, config.operation)) for s, t, scores in rules)
        return translations_by(lambda start, end: everywhere, sentence, max_span, weights=search)

    def rules_of(start, end):
        here = [rule for rule in rules if lies_over(rule[0], tuple(sentence[start:end].tolist()))]
        known = [[scores[n] for _, _, scores in here if scores[n] > -math.inf] for n in range(len(weights))]
        choice = chosen(known, weights, config)
        return {} if choice is None else collected((s, t, scores[choice]) for s, t, scores in here)

    return translations_by(rules_of, sentence, max_span, weights=search)
