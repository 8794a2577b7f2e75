"""The obvious slow decoder with an operation sequence model: every derivation, scored when it is whole."""

from dataclasses import replace

import numpy as np

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.lm.union import build_union_automaton
from jaxsmt.osm.models import OperationModels
from jaxsmt.osm.operations import operations_of
from jaxsmt.osm.table import OperationTable, number_operations, rarity_by_place, source_words
from jaxsmt.search.weights import UNKNOWN_STEP
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import NUM_RESERVED, PAD, UNKNOWN
from tests.search.search_oracle import SOURCE, TARGET
from tests.search.stack_oracle import derivations_of, random_phrases


def linked_table(random, num):
    """Random phrases with orientations and all kinds of links, also none."""
    table, orientations = random_phrases(random, num)
    links = table.links_by_target.copy()
    for row in range(len(table)):
        side = table.source_sides[table.source_index[row]]
        target = table.target_sides[table.target_index[row]]
        words, kind = int((side != PAD).sum()), random.random()
        for column in range((target != PAD).sum()):
            links[row, column] = 0 if kind < 0.15 else random.integers(0 if kind < 0.6 else 1, 1 << words)
    return replace(table, links_by_target=links), orientations


def random_models(random, num=80, names=("one", "two"), order=4):
    """Operation models of random pairs; the second knows less."""
    sources = [random.integers(NUM_RESERVED, len(SOURCE), random.integers(1, 6)) for _ in range(num)]
    targets = [random.integers(NUM_RESERVED, len(TARGET), random.integers(1, 6)) for _ in range(num)]
    links = [
        sorted({(s, int(random.integers(0, len(target)))) for s in range(len(source)) if random.random() < 0.8})
        for source, target in zip(sources, targets, strict=True)
    ]
    bitext = Bitext(ragged_from_rows(sources), ragged_from_rows(targets))
    operations = operations_of(bitext, ragged_from_rows(links, width=2), rarity_by_place(TARGET))
    ids, table = number_operations(operations, SOURCE, TARGET)
    config = LmConfig(order=order, discount_fallback=(0.5, 1.0, 1.5))
    halves = [ids, ids.take(np.arange(num // 2))][: len(names)]
    automaton, spelled = build_union_automaton([estimate_lm(part, table.spelled, config) for part in halves])
    table = OperationTable(spelled, source_words(spelled), TARGET)
    equal = [1 / len(names)] * len(names)
    return OperationModels(automaton, table, tuple(names), {"equal": equal})


def all_derivations(table, orientations, sentence, limit, weights, forced=None, drop_unknown=False):
    """[(score without models, ((start, end, target tokens, links, is_rule), …))] within the distortion limit."""
    options = _options(table, orientations, sentence, weights, forced or {}, drop_unknown)
    return list(derivations_of(options, len(sentence), limit, weights))


def _options(table, orientations, sentence, weights, forced, drop_unknown):
    found, logs = {}, np.log(np.nan_to_num(orientations, nan=1.0))
    for row in range(len(table)):
        source, target = table.source_sides[table.source_index[row]], table.target_sides[table.target_index[row]]
        source, target = source[source != PAD].tolist(), target[target != PAD].tolist()
        score = float(np.log(table.scores[row]) @ np.array(weights.rule))
        masks = table.links_by_target[row].tolist()
        links = [(s, t) for t in range(len(target)) for s in range(len(source)) if masks[t] >> s & 1]
        own = tuple(target), score, logs[row] * np.array(weights.reordering), links, True
        for start in range(len(sentence) - len(source) + 1):
            end = start + len(source)
            if sentence[start:end].tolist() == source and not any(start < e and s < end for s, e in forced):
                found.setdefault((start, end), []).append(own)
    for place in range(len(sentence)):
        if (place, place + 1) not in found and not any(start <= place < end for start, end in forced):
            target = () if drop_unknown else (-1 - place,)
            score = weights.unknown * UNKNOWN_STEP
            found[place, place + 1] = [(target, score, np.zeros(6), [(0, 0)] * len(target), False)]
    for (start, end), tokens in forced.items():
        links = [(s, t) for s in range(end - start) for t in range(len(tokens))]
        found[start, end] = [(tuple(tokens), 0.0, np.zeros(6), links, False)]
    penalty = weights.phrase_penalty
    return {
        span: [(own[0], own[1] + penalty - weights.word_penalty * len(own[0]), *own[2:]) for own in choices]
        for span, choices in found.items()
    }


def operation_log_probs(models, sentence, derivations, mixture):
    """[n] log p of the operations of whole derivations; what is no rule has unknown words."""
    sources, targets, links, begins = [], [], [], []
    for _, phrases in derivations:
        source, target, own = [UNKNOWN] * len(sentence), [], []
        starts = [False] * len(sentence)
        for start, end, words, pairs, is_rule in phrases:
            starts[start] = True
            if is_rule:
                named = SOURCE.decode(sentence[start:end].tolist())
                source[start:end] = models.table.source.encode(named)
            written = len(target)
            target += [word if is_rule else UNKNOWN for word in words]
            if not pairs:  # a word that is not there for the first one
                target.insert(written, PAD)
                pairs = [(0, 0)]
            own += [(start + s, written + t) for s, t in pairs]
        sources.append(source)
        targets.append(target)
        links.append(own)
        begins += starts
    bitext = Bitext(ragged_from_rows(sources), ragged_from_rows(targets))
    rarity = rarity_by_place(models.table.target)
    operations = operations_of(bitext, ragged_from_rows(links, width=2), rarity, np.array(begins, bool))
    log_p = word_log_probs(models.automaton, models.table.ids_of(operations))
    mixed = np.log(np.exp(log_p.values.astype(np.float64)) @ np.asarray(mixture, np.float64))
    return np.add.reduceat(mixed, log_p.offsets[:-1])


def scored_derivations(setting, sentence, limit, weights, mixture, **more):
    """[(score, tokens, log p of operations)], best first; setting: table, orientations, automaton, models."""
    table, orientations, automaton, models = setting
    found = all_derivations(table, orientations, sentence, limit, weights, **more)
    operations = operation_log_probs(models, sentence, found, mixture)
    tokens = [tuple(word for phrase in phrases for word in phrase[2]) for _, phrases in found]
    words = ragged_from_rows([[UNKNOWN if word < 0 else word for word in row] for row in tokens])
    log_p = word_log_probs(automaton, words)
    lm = np.add.reduceat(log_p.values[:, 0].astype(np.float64), log_p.offsets[:-1])
    scores = np.array([score for score, _ in found]) + weights.lm[0] * lm + weights.lm[1] * operations
    order = np.argsort(-scores, kind="stable")
    return [(float(scores[place]), tokens[place], float(operations[place])) for place in order]


