"""Tiny random models, and the obvious slow decoder: enumerate every derivation."""

from itertools import product

import numpy as np

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.automaton import build_automaton
from jaxsmt.lm.config import LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.scoring import word_log_probs
from jaxsmt.search.weights import GLUE_STEP, UNKNOWN_STEP, SearchWeights
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD, UNKNOWN, Vocabulary
from jaxsmt.tm.scored import ScoredTable

X1, X2 = NONTERMINALS
SOURCE = Vocabulary(tuple("abcd"))
TARGET = Vocabulary(tuple("uvwxyz"))
WEIGHTS = SearchWeights(
    rule=(0.3, 0.2, 0.4, 0.1), lm=0.8, word_penalty=-0.4, phrase_penalty=-0.3, glue=-0.5, swap=-0.6, unknown=0.07
)


def random_side(random, vocabulary, num_gaps, num_words):
    """A sequence of words with gaps; no two gaps side by side on the source side."""
    words = random.integers(NUM_RESERVED, len(vocabulary), num_words).tolist()
    places = sorted(random.choice(num_words + 1, num_gaps, replace=False).tolist())
    for number in reversed(range(num_gaps)):
        words.insert(places[number], NONTERMINALS[number])
    return words


def random_target(random, num_gaps):
    symbols = random.integers(NUM_RESERVED, len(TARGET), random.integers(0 if num_gaps else 1, 4)).tolist()
    for gap in NONTERMINALS[:num_gaps]:
        symbols.insert(int(random.integers(0, len(symbols) + 1)), gap)
    return symbols


def random_table(random, num_rules, max_gaps):
    """A table of random rules over SOURCE and TARGET; 'd' is known to no one-word rule."""
    rules = set()
    for _ in range(num_rules):
        num_gaps = int(random.integers(0, max_gaps + 1))
        source = random_side(random, SOURCE, num_gaps, int(random.integers(max(1, num_gaps - 1), 3)))
        if source != [NUM_RESERVED + 3]:
            rules.add((tuple(source), tuple(random_target(random, num_gaps))))
    return table_of(sorted(rules), random)


def table_of(rules, random):
    """rules: (source symbols, target symbols), with random scores."""

    def intern(rows):
        distinct = sorted(set(rows))
        width = max((len(row) for row in distinct), default=1)
        array = np.array([list(row) + [PAD] * (width - len(row)) for row in distinct], np.int32).reshape(-1, width)
        return array, np.array([distinct.index(row) for row in rows], np.int32)

    source_sides, source_index = intern([source for source, _ in rules])
    target_sides, target_index = intern([target for _, target in rules])
    order = np.lexsort((target_index, source_index))
    links = np.zeros((len(rules), target_sides.shape[1]), np.uint16)
    for row, (source, target) in enumerate(rules):
        words = [place for place, symbol in enumerate(source) if symbol >= NUM_RESERVED]
        for column, symbol in enumerate(target):
            if words and symbol >= NUM_RESERVED:
                some = {words[0], words[(column + row) % len(words)]} if row % 3 else {words[-1]}
                links[row, column] = sum(1 << place for place in some)
    return ScoredTable(
        "random", "hiero", SOURCE, TARGET, source_sides, target_sides, source_index[order], target_index[order],
        random.uniform(0.05, 1, (len(rules), 4)).astype(np.float32), links[order], None, ("X",),
        np.zeros(len(rules), np.int8), np.zeros((len(rules), 2), np.int8),
    )  # fmt: skip


def random_lm(random, order):
    text = [random.integers(NUM_RESERVED, len(TARGET) - 1, random.integers(1, 8)).tolist() for _ in range(60)]
    return build_automaton(estimate_lm(ragged_from_rows(text), TARGET, LmConfig(order=order)))


def random_sentences(random, lengths):
    return ragged_from_rows([random.integers(NUM_RESERVED, len(SOURCE), length).tolist() for length in lengths])


def all_translations(table, sentence, max_span, swap_span=0, weights=WEIGHTS):
    """{target tokens: best rule score} over all derivations; an unknown word n is the token -1 - n."""
    rules = {}
    for row in range(len(table)):
        source = tuple(table.source_sides[table.source_index[row]].tolist())
        target = table.target_sides[table.target_index[row]]
        target = tuple(target[target != PAD].tolist())
        score = float(np.log(table.scores[row]) @ np.array(weights.rule)) + weights.phrase_penalty
        score -= weights.word_penalty * sum(token not in NONTERMINALS for token in target)
        rules.setdefault(tuple(symbol for symbol in source if symbol != PAD), []).append((target, score))
    return translations_by(lambda start, end: rules, sentence, max_span, swap_span, weights)


def translations_by(rules_of, sentence, max_span, swap_span=0, weights=WEIGHTS):
    """`all_translations` with rules_of(start, end): {source side: [(target, score with penalties)]} for each span."""
    memo = {}

    def fills(source, start, end):
        """All ways to lay the source side over the span: gaps as [(start, end)]."""
        if not source:
            return [[]] if start == end else []
        if source[0] not in NONTERMINALS:
            return fills(source[1:], start + 1, end) if start < end and sentence[start] == source[0] else []
        return [[(start, stop), *rest] for stop in range(start + 1, end + 1) for rest in fills(source[1:], stop, end)]

    def span(start, end):
        if (start, end) not in memo:
            memo[start, end] = found = {}
            if end - start > max_span:
                return found
            rules = rules_of(start, end)
            for source, targets in rules.items():
                for gaps in fills(source, start, end):
                    for parts in product(*(span(*gap).items() for gap in gaps)):
                        for target, score in targets:
                            add(found, fill(target, parts), score + sum(part[1] for part in parts))
            if end - start == 1 and (sentence[start],) not in rules:
                add(
                    found, (-1 - start,), weights.phrase_penalty - weights.word_penalty + weights.unknown * UNKNOWN_STEP
                )
            if end - start <= swap_span:
                for middle in range(start + 1, end):
                    for one, two in product(span(start, middle).items(), span(middle, end).items()):
                        score = one[1] + two[1] + weights.phrase_penalty
                        add(found, one[0] + two[0], score)
                        add(found, two[0] + one[0], score + weights.swap)
        return memo[start, end]

    prefixes = [{(): weights.phrase_penalty - weights.word_penalty}]
    for end in range(1, len(sentence) + 1):
        prefixes.append({})
        for start in range(end):
            for one, two in product(prefixes[start].items(), span(start, end).items()):
                score = one[1] + two[1] + weights.phrase_penalty + weights.glue * GLUE_STEP
                add(prefixes[end], one[0] + two[0], score)
    return {tokens: score + weights.phrase_penalty - weights.word_penalty for tokens, score in prefixes[-1].items()}


def add(found, tokens, score):
    found[tokens] = max(found.get(tokens, -np.inf), score)


def fill(target, parts):
    tokens = ()
    for symbol in target:
        tokens += parts[NONTERMINALS.index(symbol)][0] if symbol in NONTERMINALS else (symbol,)
    return tokens


def scored_translations(table, automaton, sentence, max_span, swap_span=0, weights=WEIGHTS):
    """[(score with language model, tokens)], best first."""
    return with_lm(all_translations(table, sentence, max_span, swap_span, weights), automaton, weights)


def with_lm(found, automaton, weights=WEIGHTS, lm_ids=None):
    """[(score with language model, tokens)] of {tokens: score}, best first."""
    tokens = list(found)
    ids = np.arange(len(TARGET)) if lm_ids is None else lm_ids
    words = ragged_from_rows([[UNKNOWN if token < 0 else int(ids[token]) for token in row] for row in tokens])
    log_p = word_log_probs(automaton, words)
    totals = np.zeros(len(tokens))
    np.add.at(totals, log_p.row_index, log_p.values[:, 0].astype(np.float64))
    scores = [found[row] + weights.lm * total for row, total in zip(tokens, totals, strict=True)]
    return sorted(zip(scores, tokens, strict=True), key=lambda pair: (-pair[0], pair[1]))


def assert_same_derivations(found, expected):
    """The same rules at the same places; a score's last bit may differ between programs for other sizes."""
    assert [item.root for item in found] == [item.root for item in expected]
    np.testing.assert_allclose([item.score for item in found], [item.score for item in expected], rtol=1e-6)
