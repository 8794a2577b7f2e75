"""The k best derivations on arrays against enumeration, on random hypergraphs with many ties."""

from itertools import product

import numpy as np
import pytest

from jaxsmt.search.nbest import kbest
from jaxsmt.search.nbest.derivation import RULE
from jaxsmt.search.nbest.hypergraph import NO_NODE, ChartEdges, Roots, make_hypergraph
from jaxsmt.search.nbest.kbest import best_ways
from jaxsmt.search.nbest.sides import Sides, Strings, base_powers, cut_sides, filled_strings
from jaxsmt.search.nbest.unfold import steps_of, tokens_of
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD

X1, X2 = NONTERMINALS
SLOTS = 2


def random_sides(random, num):
    """Sides of up to three words over three letters, a third each with no, one and two gaps."""
    rows = []
    for number in range(num):
        side = random.integers(NUM_RESERVED, NUM_RESERVED + 3, random.integers(0, 4)).tolist()
        for gap in NONTERMINALS[: number % 3]:
            side.insert(int(random.integers(0, len(side) + 1)), gap)
        rows.append(side + [PAD] * (5 - len(side)))
    tokens = np.array(rows, np.int32)
    return Sides(tokens, *cut_sides(tokens), np.full(num, RULE, np.int8), np.arange(num))


def random_graph(random, num_sentences, num_cells, sides, most_loss):
    """Sentence b has cells b, b + B, …; its last one is the root. Every node has an edge without loss."""
    edges = []
    for cell in range(1, num_cells * num_sentences + 1):
        below = range((cell - 1) % num_sentences + 1, cell, num_sentences)
        for slot in range(SLOTS):
            for number in range(int(random.integers(1, 5))):
                num_gaps = int(random.integers(0, 3)) if below else 0
                tails = [int(random.choice(below)) * SLOTS + int(random.integers(SLOTS)) for _ in range(num_gaps)]
                side = int(random.choice(np.arange(num_gaps, len(sides.tokens), 3)))
                loss = int(random.integers(0, most_loss)) if number else 0
                edges.append((cell * SLOTS + slot, side, loss, [*tails, NO_NODE, NO_NODE][:2]))
    node, side, loss = (np.array([edge[column] for edge in edges]) for column in range(3))
    tails = np.array([edge[3] for edge in edges]).T
    roots = (num_sentences * (num_cells - 1) + 1 + np.arange(num_sentences)) * SLOTS
    sentence = (node // SLOTS - 1) % num_sentences
    ones = np.ones(num_sentences)
    edges = ChartEdges(node, side, side, tails, loss, sentence)
    return make_hypergraph(edges, Roots(roots, ones, ones), (num_cells * num_sentences + 1, SLOTS))


def all_derivations(graph, sides, node, memo):
    """[(loss, string)] of a node."""
    if node == NO_NODE:
        return [(0, ())]
    if node not in memo:
        memo[node] = found = []
        for edge in np.flatnonzero(graph.node == node).tolist():
            parts = (all_derivations(graph, sides, int(tail), memo) for tail in graph.tails[:, edge])
            for one, two in product(*parts):
                side = sides.tokens[graph.entry[edge]]
                string = ()
                for token in side[side != PAD].tolist():
                    string += one[1] if token == X1 else two[1] if token == X2 else (token,)
                found.append((int(graph.loss[edge]) + one[0] + two[0], string))
    return memo[node]


def listed(graph, sides, size, distinct):
    """By sentence [(loss, string)]."""
    lists = [[] for _ in graph.roots]
    for found in best_ways(graph, sides, graph.entry, size, distinct):
        tokens = tokens_of(steps_of(found), sides, found.ways.length[found.way])
        for number, row in enumerate(found.sentence.tolist()):
            lists[row].append((int(found.ways.loss[found.way[number]]), tuple(tokens[number].tolist())))
    return lists


@pytest.mark.parametrize(("seed", "num_cells", "most_loss"), [(0, 1, 5), (1, 3, 4), (2, 4, 1000), (3, 5, 3), (4, 5, 1)])
def test_lists_are_those_of_enumeration(seed, num_cells, most_loss):
    random = np.random.default_rng(seed)
    sides = random_sides(random, 15)
    graph = random_graph(random, 4, num_cells, sides, most_loss)
    memo = {}
    every = [sorted(all_derivations(graph, sides, int(root), memo)) for root in graph.roots]
    sizes = (1, 2, 7, 60)
    plain, distinct = ({size: listed(graph, sides, size, flag) for size in sizes} for flag in (False, True))
    for row, expected in enumerate(every):
        best = {}
        for loss, string in expected:
            best.setdefault(string, loss)
        for size in sizes:
            assert [loss for loss, _ in plain[size][row]] == [loss for loss, _ in expected[:size]]
            assert set(plain[size][row]) <= set(expected)
            found = distinct[size][row]
            assert [loss for loss, _ in found] == sorted(best.values())[:size]
            assert all(best[string] == loss for loss, string in found)
            assert len({string for _, string in found}) == len(found)
            for lists in (plain, distinct):
                assert lists[size][row] == lists[60][row][:size]


def test_a_sentence_alone_has_the_list_that_it_has_among_others():
    random = np.random.default_rng(7)
    sides = random_sides(random, 12)
    graph = random_graph(random, 3, 4, sides, 3)
    together = listed(graph, sides, 20, True)
    for row in range(3):
        edges = np.flatnonzero(graph.sentence == row)
        columns = [column[edges] for column in (graph.node, graph.entry, graph.group)]
        own = ChartEdges(*columns, graph.tails[:, edges], graph.loss[edges], graph.sentence[edges] * 0)
        roots = Roots(graph.roots[row : row + 1], graph.score[:1], graph.unit[:1])
        alone = make_hypergraph(own, roots, (len(graph.outside) // SLOTS, SLOTS))
        assert listed(alone, sides, 20, True) == [together[row]]


def test_little_memory_changes_nothing(monkeypatch):
    random = np.random.default_rng(8)
    sides = random_sides(random, 12)
    graph = random_graph(random, 3, 4, sides, 6)
    at_once = listed(graph, sides, 30, True)
    monkeypatch.setattr(kbest, "_CANDIDATES_AT_ONCE", 7)
    assert listed(graph, sides, 30, True) == at_once


def test_edges_that_no_whole_derivation_uses_are_left_out():
    """Of the chain 1 ← 2 ← 3 the root is 2; through the edges goes what the best whole derivation loses."""
    node, tails = np.array([1, 1, 2, 2, 3]), np.array([[0, 0, 1, 1, 2], [0] * 5])
    loss, zeros = np.array([0, 5, 0, 2, 0]), np.zeros(5, np.int64)
    edges = ChartEdges(node, zeros, zeros, tails, loss, zeros)
    graph = make_hypergraph(edges, Roots(np.array([2]), np.ones(1), np.ones(1)), (4, 1))
    assert graph.node.tolist() == [1, 1, 2, 2]
    assert graph.through.tolist() == [0, 5, 0, 2]
    assert graph.most[graph.roots].tolist() == [7]


def test_hashes_are_those_of_the_whole_string():
    random = np.random.default_rng(3)
    sides = random_sides(random, 30)
    plain = random_sides(random, 30).tokens
    plain = np.where(np.isin(plain, NONTERMINALS), NUM_RESERVED, plain)
    plain = np.sort(plain, 1)[:, ::-1]  # PAD comes last
    hashes, lengths, _ = cut_sides(plain)
    parts = [Strings(hashes[rows, 0], lengths[rows, 0]) for rows in (random.permutation(30), random.permutation(30))]
    words = {int(value): row[row != PAD].tolist() for value, row in zip(hashes[:, 0], plain, strict=True)}
    is_gap = [(sides.tokens == gap).any(1) for gap in NONTERMINALS]
    parts = [Strings(part.hash * has, part.length * has) for part, has in zip(parts, is_gap, strict=True)]
    found = filled_strings(sides, np.arange(30), *parts, base_powers(20))
    for row in range(30):
        whole = []
        for token in sides.tokens[row][sides.tokens[row] != PAD].tolist():
            whole += words[int(parts[token - X1].hash[row])] if token in NONTERMINALS else [token]
        expected, length, _ = cut_sides(np.array([whole or [PAD]], np.int32))
        assert found.length[row] == len(whole) == length[0, 0]
        assert found.hash[row] == expected[0, 0]
    swapped = cut_sides(np.array([[6, 7], [7, 6], [6, 6]], np.int32))[0][:, 0]
    assert len(set(swapped.tolist())) == 3
