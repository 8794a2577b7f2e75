"""The stack search beside Moses: its scores, and the features of its n-best lists."""

import gzip
import re

import numpy as np
import pytest

from benchmarks.rest_costs import with_rest_costs
from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.arpa import read_arpa
from jaxsmt.lm.automaton import build_automaton
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.derivation import RULE, START_NODE, UNKNOWN_WORD, Derivation, Node, Symbols
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.rules.model import fixed_rules
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD
from jaxsmt.tm.moses.tables import read_reordering_table, read_scored_table

PB = SearchWeights(
    rule=(0.2,) * 4, lm=0.5, word_penalty=-1.0, phrase_penalty=0.2, unknown=1.0, distortion=0.3, reordering=(0.3,) * 6
)
TUNED = SearchWeights(
    rule=(-0.137289, 0.981539, 1.00215, 0.420045), lm=0.91024, word_penalty=-0.00618827, phrase_penalty=0.702238,
    unknown=1.0, distortion=0.560443, reordering=(0.858789, -0.0521889, 0.779319, 0.925964, 0.43516, 0.708114),
)  # fmt: skip
SEGMENT = re.compile(r"(.*?) \|(\d+)-(\d+)\| ?")
FEATURES = ("LexicalReordering0", "Distortion0", "LM0", "WordPenalty0", "PhrasePenalty0", "TranslationModel0")


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return stream.read().split("\n")[:-1]


@pytest.fixture(scope="module")
def setting(reference):
    """Table, decoder, sentences, their words for copying, and their text."""
    table = read_scored_table(reference / "decode" / "phrase-table.test100.gz")
    reordering = read_reordering_table(reference / "decode" / "reordering-table.test100.gz", table)
    lm = with_rest_costs(read_arpa(reference / "lm" / "A.en.5.arpa.gz"))
    text = [line.split() for line in lines(reference / "text" / "pydoc-test100.fr.gz")]
    lm_ids = np.array([*range(NUM_RESERVED), *lm.vocabulary.encode(table.target_vocabulary.words)], np.int32)
    decoder = make_decoder(
        fixed_rules(table, reordering), [LmFeatures(build_automaton(lm), lm_ids)], SearchConfig(kind="stack")
    )
    sentences = ragged_from_rows([table.source_vocabulary.encode(row) for row in text])
    copy_ids = np.concatenate([lm.vocabulary.encode(row) for row in text]).astype(np.int32)
    return table, decoder, sentences, copy_ids, text


@pytest.mark.parametrize(("name", "weights"), [("pb", PB), ("pb-tuned", TUNED)])
def test_scores_are_those_of_moses(setting, reference, name, weights):
    _, decoder, sentences, copy_ids, _ = setting
    request = Request(sentences, copy_ids, weights)
    derivations = decoder.translate(request)
    ours = np.array([derivation.score for derivation in derivations])
    theirs = [line.split("\t")[1] for line in lines(reference / "decode" / f"{name}.stack200.1best.tsv.gz")]
    assert ours.mean() >= np.array(theirs, float).mean() - 0.0005
    assert (ours <= np.array(theirs, float) + 0.002).all()  # nothing scores better than the best that was ever found
    np.testing.assert_allclose(rescore(decoder, request, derivations).score, ours, atol=1e-3)


def chain_of(text, words, table, pairs):
    """The derivation of an n-best line with its segmentation."""
    node = START_NODE
    for target, begin, last in SEGMENT.findall(text):
        start, end, output = int(begin), int(last) + 1, target.split()
        source = tuple(table.source_vocabulary.encode(words[start:end]))
        side = tuple(table.target_vocabulary.encode(output))
        pair = pairs.get((source, side), -1)
        if pair < 0:
            assert output == words[start:end]
            side = (-1 - start,)
        symbols = Symbols((NONTERMINALS[0], *side), ((),) * (len(side) + 1))
        places = tuple(range(start, end))
        node = Node(RULE if pair >= 0 else UNKNOWN_WORD, pair, start, end, symbols, places, (node,))
    return node


def test_features_equal_those_of_moses_for_its_derivations(setting, reference):
    table, decoder, sentences, copy_ids, text = setting
    source, target = (
        [tuple(row[row != PAD].tolist()) for row in sides] for sides in (table.source_sides, table.target_sides)
    )
    indices = zip(table.source_index.tolist(), table.target_index.tolist(), strict=True)
    pairs = {(source[s], target[t]): pair for pair, (s, t) in enumerate(indices)}
    derivations, rows, theirs, totals = [], [], [], []
    for line in lines(reference / "decode" / "pb.stack200.nbest100.gz")[::9]:
        number, output, values, total = line.split(" ||| ")[:4]
        derivations.append(Derivation(chain_of(output, text[int(number)], table, pairs), float(total)))
        rows.append(int(number))
        parts = re.findall(r"(\w+)= ((?:-?[\d.e-]+ ?)+)", values)
        theirs.append([float(value) for name in FEATURES for value in dict(parts)[name].split()])
        totals.append(float(total))
    found = rescore(decoder, Request(sentences, copy_ids, PB), derivations, rows)
    ours = np.column_stack(
        [found.reordering, found.distortion, found.lm, found.word_penalty, found.phrase_penalty, found.rule]
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-3)
    np.testing.assert_allclose(found.score, totals, rtol=1e-5, atol=2e-3)
