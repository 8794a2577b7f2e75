"""The obvious slow phrase-based decoder: enumerate all segmentations, orders and translations."""

import numpy as np

from jaxsmt.search.weights import UNKNOWN_STEP, SearchWeights
from jaxsmt.text.vocabulary import NUM_RESERVED, PAD
from tests.search.search_oracle import SOURCE, TARGET, random_lm, table_of, with_lm

WEIGHTS = SearchWeights(
    rule=(0.3, 0.2, 0.4, 0.1), lm=0.8, word_penalty=-0.4, phrase_penalty=-0.3, unknown=0.07, distortion=0.25,
    reordering=(0.3, 0.5, 0.2, 0.4, -0.1, 0.6),
)  # fmt: skip
NO_WORDS = frozenset()


def random_phrases(random, num):
    """A table of random phrases with orientations [P, 6]; 'd' is known to no phrase of one word."""
    pairs = set()
    for _ in range(num):
        source = random.integers(NUM_RESERVED, len(SOURCE), random.integers(1, 4)).tolist()
        target = random.integers(NUM_RESERVED, len(TARGET), random.integers(1, 4)).tolist()
        if source != [NUM_RESERVED + 3]:
            pairs.add((tuple(source), tuple(target)))
    table = table_of(sorted(pairs), random)
    parts = random.uniform(0.05, 1, (len(table), 2, 3))
    orientations = (parts / parts.sum(-1, keepdims=True)).reshape(-1, 6).astype(np.float32)
    orientations[random.random(len(table)) < 0.1] = np.nan  # not in the reordering table
    return table, orientations


def random_setting(seed, order=3, num_phrases=25):
    """Table, orientations, language model (one for each order, so that tests share compiled programs), generator."""
    random = np.random.default_rng(seed)
    return (*random_phrases(random, num_phrases), random_lm(np.random.default_rng(order), order), random)


def options_of(table, orientations, sentence, forced=None, weights=WEIGHTS):
    """{(start, end): [(target tokens, score, orientation logs)]}"""
    forced, known = forced or {}, {}
    logs = np.zeros((len(table), 6)) if orientations is None else np.log(np.nan_to_num(orientations, nan=1.0))
    for row in range(len(table)):
        source, target = table.source_sides[table.source_index[row]], table.target_sides[table.target_index[row]]
        score = float(np.log(table.scores[row]) @ np.array(weights.rule))
        entry = tuple(target[target != PAD].tolist()), score, logs[row] * np.array(weights.reordering)
        known.setdefault(tuple(source[source != PAD].tolist()), []).append(entry)
    found = {}
    for start in range(len(sentence)):
        for end in range(start + 1, len(sentence) + 1):
            inside = any(start < stop and begin < end for begin, stop in forced)
            if (start, end) in forced:
                found[start, end] = [(tuple(forced[start, end]), 0.0, np.zeros(6))]
            elif not inside:
                found[start, end] = known.get(tuple(int(word) for word in sentence[start:end]), [])
                if end - start == 1 and not found[start, end]:
                    found[start, end] = [((-1 - start,), weights.unknown * UNKNOWN_STEP, np.zeros(6))]
    penalised = {}
    for span, options in found.items():
        penalised[span] = [
            (target, score + weights.phrase_penalty - weights.word_penalty * len(target), logs)
            for target, score, logs in options
        ]
    return {span: options for span, options in penalised.items() if options}


def derivations_of(options, length, limit, weights):
    """(score without models, ((start, end, target tokens, what else options have), …)) within the distortion limit."""

    def extend(covered, last, phrases, score):
        if len(covered) == length:
            yield score, phrases
            return
        gap = min(set(range(length)) - covered)
        last_start, last_end, last_logs = last
        for (start, end), choices in options.items():
            if covered & set(range(start, end)):
                continue
            if limit >= 0 and (abs(start - last_end) > limit or (start > gap and end - gap > limit)):
                continue
            orientation = 0 if start == last_end else 1 if end == last_start else 2
            moved = score - weights.distortion * abs(start - last_end) + last_logs[3 + orientation]
            for target, own, logs, *more in choices:
                yield from extend(
                    covered | set(range(start, end)), (start, end, logs), (*phrases, (start, end, target, *more)),
                    moved + own + logs[orientation],
                )  # fmt: skip

    return extend(NO_WORDS, (-1, 0, np.zeros(6)), (), 0.0)


def all_outputs(options, length, limit, weights=WEIGHTS):
    """{tokens: best score without language model} over all derivations within the distortion limit."""
    found = {}
    for score, phrases in derivations_of(options, length, limit, weights):
        tokens = tuple(word for _, _, target in phrases for word in target)
        found[tokens] = max(found.get(tokens, -np.inf), score)
    return found


def scored_outputs(table, orientations, automaton, sentence, limit, forced=None, weights=WEIGHTS):
    """[(score, tokens)], best first."""
    options = options_of(table, orientations, sentence, forced, weights)
    return with_lm(all_outputs(options, len(sentence), limit, weights), automaton, weights)

