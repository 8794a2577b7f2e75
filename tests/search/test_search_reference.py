"""The features of Moses' own derivations, and scores beside those of Moses' chart decoder."""

import gzip
import re

import numpy as np
import pytest

from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.lm.arpa import read_arpa
from jaxsmt.lm.automaton import build_automaton
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.nbest.derivation import END, GLUE, RULE, START_NODE, UNKNOWN_WORD, Derivation, Node, Symbols
from jaxsmt.search.nbest.moses import output_words
from jaxsmt.search.nbest.rescoring import rescore
from jaxsmt.search.rules.model import fixed_rules
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.vocabulary import NONTERMINALS, NUM_RESERVED, PAD
from jaxsmt.tm.moses.tables import read_scored_table

HIERO = SearchWeights(
    rule=(0.15, 0.1, 0.2, 0.1), lm=0.3, word_penalty=-0.3, phrase_penalty=-0.1, glue=-0.2, unknown=1.0
)
LINE = re.compile(
    r"Trans Opt (\d+) \[(\d+)\.\.(\d+)\]: (.*)  : (\S) ->\S  -> (.*) :([\d\- ]*): "
    r"term=.*?: nonterm=.*?: c=\S+ core=\(.*?\)  (\S+?)core=\((.*)\)"
)
TABLE_LINES = 152642


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return stream.read().split("\n")[:-1]


@pytest.fixture(scope="module")
def setting(reference):
    table = read_scored_table(reference / "decode" / "rule-table.test100.gz")
    lm = read_arpa(reference / "lm" / "A.en.5.arpa.gz")
    text = [line.split() for line in lines(reference / "text" / "pydoc-test100.fr.gz")]
    lm_ids = np.array([*range(NUM_RESERVED), *lm.vocabulary.encode(table.target_vocabulary.words)], np.int32)
    config = SearchConfig(max_span=20)
    decoder = make_decoder(fixed_rules(table), [LmFeatures(build_automaton(lm), lm_ids)], config)
    sentences = ragged_from_rows([table.source_vocabulary.encode(row) for row in text])
    copy_ids = np.concatenate([lm.vocabulary.encode(row) for row in text]).astype(np.int32)
    return table, decoder, Request(sentences, copy_ids, HIERO)


def pairs_by_sides(table):
    source, target = (
        [tuple(row[row != PAD].tolist()) for row in sides] for sides in (table.source_sides, table.target_sides)
    )
    indices = zip(table.source_index.tolist(), table.target_index.tolist(), strict=True)
    return {(source[s], target[t]): pair for pair, (s, t) in enumerate(indices)}


def read_derivations(path, table):
    """Moses' derivations as ours: by sentence, (root, total, features)."""
    pairs = pairs_by_sides(table)
    raw = {}
    for line in lines(path):
        number, start, end, symbols, label, target, links, total, core = LINE.match(line).groups()
        row = raw.setdefault(int(number), {"spans": {}, "top": None})
        row["spans"][int(start), int(end), label] = (symbols, target.split(), links)
        row["top"] = row["top"] or (int(start), int(end), float(total), [float(value) for value in core.split(",")])
    found = {}
    for number, row in raw.items():
        start, end, total, features = row["top"]
        found[number] = build(row["spans"], (start, end, "S"), table, pairs), total, features
    return found


def build(spans, key, table, pairs):
    symbols, target, links = spans[key]
    parts = re.findall(r"\[(\d+)\.\.(\d+)\]=(\S+)", symbols)[::-1]
    start, end = key[0] - 1, key[1]  # the first position is <s>
    gaps = [(int(a), int(b), label) for a, b, label in parts if label in "XS" and (int(a), int(b), label) in spans]
    children = tuple(build(spans, gap, table, pairs) for gap in gaps)
    if key[2] == "S":
        if not gaps:
            return START_NODE
        kind, tokens = (GLUE, NONTERMINALS) if len(gaps) == 2 else (END, NONTERMINALS[:1])
        return Node(kind, -1, 0, end, Symbols(tokens, ((),) * len(tokens)), (), children)
    if target[-1].endswith("|UNK|UNK|UNK"):
        return Node(UNKNOWN_WORD, -1, start, end, Symbols((-1 - start,), ((0,),)), (start,), ())
    words = table.source_vocabulary.id_of
    source, of_place = [], {}
    for place, (a, b, label) in enumerate(parts):
        is_gap = (int(a), int(b), label) in gaps
        of_place[place] = NONTERMINALS[len([1 for symbol in source if symbol in NONTERMINALS])] if is_gap else 0
        source.append(of_place[place] if is_gap else words[label])
    by_target = {int(link.split("-")[1]): of_place[int(link.split("-")[0])] for link in links.split()}
    side = tuple(by_target.get(place) or table.target_vocabulary.id_of[word] for place, word in enumerate(target))
    pair = pairs[tuple(source), side]
    return Node(RULE, pair, start, end, Symbols(side, ((),) * len(side)), (), children)


def test_features_equal_those_of_moses_for_its_derivations(setting, reference):
    table, decoder, request = setting
    assert len(table) == TABLE_LINES
    found = read_derivations(reference / "decode" / "hiero.pop1000.derivations.gz", table)
    assert len(found) == 100
    derivations = [Derivation(found[row][0], found[row][1]) for row in range(100)]
    features = rescore(decoder, request, derivations)
    ours = np.column_stack(
        [features.unknown, features.word_penalty, features.phrase_penalty, features.rule, features.glue, features.lm]
    )
    np.testing.assert_allclose(ours, [found[row][2] for row in range(100)], rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(features.score, [found[row][1] for row in range(100)], rtol=1e-5, atol=1e-3)


@pytest.fixture(scope="module")
def decoded(setting, reference):
    """Every fourth sentence: rows, request, derivations, and (score, translation) of the reference by pop limit."""
    _, decoder, request = setting
    some = np.arange(0, 100, 4)
    copies = Ragged(request.copy_ids, request.sentences.offsets).take(some).values
    part = Request(request.sentences.take(some), copies, HIERO)
    theirs = {}
    for pops in (200, 1000, 5000):
        fields = [line.split("\t") for line in lines(reference / "decode" / f"hiero.pop{pops}.1best.tsv.gz")]
        theirs[pops] = [(float(fields[row][1]), fields[row][3]) for row in some]
    return some, part, decoder.translate(part), theirs


def test_scores_are_as_good_as_those_of_moses(setting, decoded):
    _, decoder, _ = setting
    _, part, derivations, theirs = decoded
    ours = np.array([derivation.score for derivation in derivations])
    np.testing.assert_allclose(rescore(decoder, part, derivations).score, ours, atol=3e-4)
    scores = {pops: np.array([score for score, _ in run]) for pops, run in theirs.items()}
    assert ours.mean() >= scores[200].mean() - 0.02
    assert (ours <= scores[5000] + 0.02).all()  # nothing scores better than the best that was ever found


def test_translations_are_those_of_moses_where_scores_tie(setting, decoded, reference):
    """Where the reference itself has several translations of one score (its n-best lists tell), one of them will do."""
    table, *_ = setting
    some, _, derivations, theirs = decoded
    source = [line.split() for line in lines(reference / "text" / "pydoc-test100.fr.gz")]
    listed = [[] for _ in source]
    for line in lines(reference / "decode" / "hiero.pop1000.nbest100.gz"):
        number, text, _, total = line.split("|||")
        listed[int(number)].append((float(total), text.strip()))
    num_equal = 0
    for place, derivation in enumerate(derivations):
        runs = [run[place] for run in theirs.values()] + listed[some[place]]
        equal = {text for score, text in runs if abs(score - derivation.score) < 0.002}
        text = " ".join(output_words(derivation, source[some[place]], table.target_vocabulary))
        assert not equal or text in equal
        num_equal += bool(equal)
    assert num_equal >= 20  # of 25
