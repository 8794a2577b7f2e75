"""The part `models` of benchmarks/decode.py: what further language models, and operations, cost the stack search.

Components are the reference's two texts, classes are those of words that end alike: what they cost is measured, not
what they are worth.
"""

import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from decode_stack import WEIGHTS, rules_of
from decode_tasks import lines, run_decoder

from jaxsmt.common.ragged import ragged_from_rows
from jaxsmt.lm.automaton import Automaton, build_automaton
from jaxsmt.lm.config import MAX_ORDER, LmConfig
from jaxsmt.lm.kneser_ney import estimate_lm
from jaxsmt.lm.model import Lm
from jaxsmt.lm.union import build_union_automaton
from jaxsmt.osm.models import OperationModels
from jaxsmt.osm.operations import operations_of
from jaxsmt.osm.table import OperationTable, number_operations, rarity_by_place, source_words
from jaxsmt.search.chart.rows import BOTH, LINEAR, LOG_LINEAR
from jaxsmt.search.decoder import LmFeatures, Request, SearchConfig, make_decoder
from jaxsmt.search.rules.model import FixedRules
from jaxsmt.search.stack.config import StackConfig
from jaxsmt.search.weights import SearchWeights
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary, build_vocabulary

BEAM = (32, 96, 128)
NUM_CLASSES, WORD_ORDER, CLASS_ORDER = 160, 5, min(7, MAX_ORDER)
CLASSES = Vocabulary(tuple(map(str, range(NUM_CLASSES))))


class Setting(NamedTuple):
    """Language models, and operation models, of a search."""

    lms: list[LmFeatures]
    operations: OperationModels | None = None


def report(folder: Path, small: bool) -> dict:
    """Prints a table and returns the figures."""
    rules = rules_of(folder / "decode" / "phrase-table.test100.gz", folder / "decode" / "reordering-table.test100.gz")
    text = [line.split() for line in lines(folder / "text" / "pydoc-test100.fr.gz")][: 20 if small else None]
    found = {name: _cpu(rules, setting, text) for name, setting in _settings(folder, rules).items()}
    base = next(iter(found.values()))
    print(f"\nlanguage models of the stack search\n{'':>40} {'features':>8} {'CPU s':>8} {'ratio':>6}")
    for name, (num, cpu) in found.items():
        print(f"{name:>40} {num:8d} {cpu:8.4f} {cpu / base[1]:6.2f}")
    return {"models_cpu_ratio": round(found["all of these"][1] / base[1], 3)}


def _settings(folder: Path, rules: FixedRules) -> dict[str, Setting]:
    words = rules.grammar.target_vocabulary
    texts = [[line.split() for line in lines(folder / "text" / f"{name}.en.gz")] for name in "AB"]
    vocabulary = Vocabulary(tuple(dict.fromkeys(word for text in texts for line in text for word in line)))
    lms = [_estimated([vocabulary.encode(line) for line in text], vocabulary, WORD_ORDER) for text in texts]
    class_lms = [_estimated([_classes(line) for line in text], CLASSES, CLASS_ORDER) for text in texts]
    ids, class_ids = words.ids_in(vocabulary), np.array([*range(NUM_RESERVED), *_classes(words.words)], np.int32)
    alone, union, classes = build_automaton(lms[0]), _union(lms), _union(class_lms)

    def of(automaton: Automaton, combination: str = LINEAR) -> LmFeatures:
        return LmFeatures(automaton, ids, combination)

    of_classes = LmFeatures(classes, class_ids, LINEAR, "classes")
    operations = _operations(folder)
    return {
        "one model": Setting([of(alone)]),
        "a mixture of two": Setting([of(union)]),
        "two, log-linear, one automaton": Setting([of(union, LOG_LINEAR)]),
        "two, log-linear, two automata": Setting([of(alone), of(build_automaton(lms[1]))]),
        "the mixture and each": Setting([of(union, BOTH)]),
        "a mixture of two, of classes too": Setting([of(union), of_classes]),
        "a mixture of two, operations": Setting([of(union)], operations),
        "a mixture of two, of classes, operations": Setting([of(union), of_classes], operations),
        "all of these": Setting([of(union, BOTH), of_classes], operations),
    }


def _operations(folder: Path) -> OperationModels:
    """Of the two texts and their links."""
    sides = [
        [[line.split() for line in lines(folder / "text" / f"{name}.{language}.gz")] for name in "AB"]
        for language in ("fr", "en")
    ]
    source, target = (
        build_vocabulary(Counter(word for text in part for line in text for word in line)) for part in sides
    )
    sequences, texts = [], {}
    for number, name in enumerate("AB"):
        bitext = Bitext(
            ragged_from_rows([source.encode(line) for line in sides[0][number]]),
            ragged_from_rows([target.encode(line) for line in sides[1][number]]),
        )
        links = [
            [tuple(map(int, link.split("-"))) for link in line.split()]
            for line in lines(folder / "align" / f"{name}.grow-diag-final-and.gz")
        ]
        found = operations_of(bitext, ragged_from_rows(links, width=2), rarity_by_place(target))
        ids, table = number_operations(found, source, target)
        texts |= dict.fromkeys(table.spelled.words)
        sequences.append((ids, table.spelled))
    config = LmConfig(order=WORD_ORDER, pad_vocabulary=len(texts) + 2, discount_fallback=(0.5, 1.0, 1.5))
    lms = [estimate_lm(ids, spelled, config) for ids, spelled in sequences]
    automaton, spelled = build_union_automaton(lms)
    table = OperationTable(spelled, source_words(spelled), target)
    return OperationModels(automaton, table, ("A", "B"), {"equal": [0.5, 0.5]})


def _estimated(text: Sequence[Sequence[int]], vocabulary: Vocabulary, order: int) -> Lm:
    config = LmConfig(order=order, pad_vocabulary=len(vocabulary), discount_fallback=(0.5, 1.0, 1.5))
    return estimate_lm(ragged_from_rows(text), vocabulary, config)


def _union(lms: Sequence[Lm]) -> Automaton:
    return build_union_automaton(lms)[0]


def _classes(words: Sequence[str]) -> list[int]:
    """Ids of the classes of words."""
    return CLASSES.encode(str(zlib.crc32(word[-3:].encode()) % NUM_CLASSES) for word in words)


def _cpu(rules: FixedRules, setting: Setting, text: list[list[str]]) -> tuple[int, float]:
    """Number of features of language models and operations, and CPU seconds a sentence."""
    grammar, start = rules.grammar, WEIGHTS["pb"]
    config = SearchConfig(kind="stack", stack=StackConfig(*BEAM))
    decoder = make_decoder(rules, setting.lms, config, operations=setting.operations)
    num = sum(lm.num_features for lm in decoder.lms)
    weights = SearchWeights(**{**vars(start), "lm": (start.lm / num,) * num})
    mixtures = tuple(np.array([0.7, 0.3]) if lm.has_mixture else None for lm in decoder.lms)
    sentences = ragged_from_rows([grammar.source_vocabulary.encode(row) for row in text])
    return num, run_decoder(decoder, Request(sentences, weights=weights, lm_mixture=mixtures), repeats=3).cpu
