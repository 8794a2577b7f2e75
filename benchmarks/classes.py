"""Word classes: seconds of the exchange algorithm and the perplexity of the class bigram model that it finds.

Run: python benchmarks/classes.py [--data FOLDER] [--small] [--brown]
Real text comes from FOLDER/fr-en/<domain>/train.en.gz (option --data, or JAXSMT_DATA); without it a corpus is made.
Beside our batches stand the same algorithm one word at a time, as it is published, and with --brown the package
brown-clustering (pip install brown-clustering), which merges classes instead of exchanging words. mkcls is in no
registry. Perplexities are of the text itself, sentence ends being words. The last line is one JSON object.
"""

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lm import encode, generated_corpus, read_lines
from measure import measured, print_figures

from jaxsmt.common.ragged import Ragged
from jaxsmt.lm.classes.bigrams import Bigrams, count_bigrams
from jaxsmt.lm.classes.exchange import ExchangeConfig, ExchangeState, exchange_classes, first_classes
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary, build_vocabulary

REPOSITORY = Path(__file__).resolve().parent.parent
TEXTS = (("pydoc",), ("pydoc", "law"))
SIZES = (160, 1000)


@dataclass(frozen=True)
class Text:
    """A text to put into classes; all its words occur in it."""

    name: str
    sentences: Ragged
    vocabulary: Vocabulary


@dataclass(frozen=True)
class Row:
    """What one way of clustering took and found; passes is None where there are none."""

    way: str
    seconds: float
    cpu_seconds: float
    perplexity: float
    passes: int | None = None


def main() -> None:
    options = read_options()
    result: dict[str, float] = {}
    for number, text in enumerate(read_texts(options.data, options.small)):
        bigrams = count_bigrams(text.sentences, text.vocabulary)
        print(f"{text.name}: {len(text.sentences)} sentences, {len(text.sentences.values)} tokens, "
              f"{bigrams.num_words} words, {len(bigrams.first)} bigrams")  # fmt: skip
        print(f"  {'classes':>7}  {'way':22} {'seconds':>8} {'CPU-s':>7} {'passes':>6} {'perplexity':>10}")
        for size in SIZES:
            is_slow = size > SIZES[0] and number > 0
            rows = compare(text, bigrams, size, options.brown and number == 0, is_slow)
            for row in rows:
                passes = "" if row.passes is None else row.passes
                print(f"  {size:>7}  {row.way:22} {row.seconds:>8.1f} {row.cpu_seconds:>7.1f} {passes:>6} "
                      f"{row.perplexity:>10.3f}", flush=True)  # fmt: skip
            result |= keys_of(text.name, size, rows)
    print_figures(result)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = Path(os.environ.get("JAXSMT_DATA", REPOSITORY.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=data)
    parser.add_argument("--small", action="store_true", help="the first 2,000 lines of each text, for a quick look")
    parser.add_argument("--brown", action="store_true", help="also run the package brown-clustering on the first text")
    return parser.parse_args()


def read_texts(data: Path, small: bool) -> list[Text]:
    folder = data / "fr-en"
    if not folder.is_dir():
        corpus = generated_corpus(small)
        return [Text(corpus.name, corpus.train, corpus.vocabulary)]
    texts = []
    for domains in TEXTS:
        rows = [
            row for name in domains for row in read_lines([folder / name / "train.en.gz"], 2_000 if small else None)
        ]
        vocabulary = build_vocabulary(Counter(token for row in rows for token in row))
        texts.append(Text("+".join(domains), encode(rows, vocabulary), vocabulary))
    return texts


def compare(text: Text, bigrams: Bigrams, size: int, with_brown: bool, is_slow: bool) -> list[Row]:
    """The start, our batches, and where it does not take long the same one word at a time and other packages."""
    exchanged(bigrams, ExchangeConfig(size, iterations=1), "")  # compiles
    rows = [timed("start", bigrams, size, lambda: first_classes(bigrams, size))]
    rows.append(exchanged(bigrams, ExchangeConfig(size), "exchange in batches"))
    if not is_slow:
        one_by_one = ExchangeConfig(size, rows[-1].passes or 0, min_gain=-1, batch_words=1)
        rows.append(exchanged(bigrams, one_by_one, "one word at a time"))
    if with_brown and size == SIZES[0]:
        rows.append(timed("brown-clustering", bigrams, size, lambda: brown_classes(text, bigrams, size)))
    return rows


def exchanged(bigrams: Bigrams, config: ExchangeConfig, way: str) -> Row:
    with measured() as taken:
        found = exchange_classes(bigrams, config)
    perplexity = np.exp(-found.log_likelihoods[-1] / bigrams.num_pairs)
    return Row(way, taken.seconds, taken.cpu_seconds, float(perplexity), len(found.log_likelihoods) - 1)


def timed(way: str, bigrams: Bigrams, size: int, classes_fn: Callable[[], np.ndarray]) -> Row:
    """A way that gives the class of every word [W]."""
    wall, cpu = time.perf_counter(), time.process_time()
    classes = classes_fn()
    taken = time.perf_counter() - wall, time.process_time() - cpu
    log_likelihood = ExchangeState(bigrams, classes.astype(np.int64), size).log_likelihood()
    return Row(way, *taken, float(np.exp(-log_likelihood / bigrams.num_pairs)))


def brown_classes(text: Text, bigrams: Bigrams, size: int) -> np.ndarray:
    from brown_clustering import BigramCorpus, BrownClustering  # a package that only this comparison uses

    rows = [text.vocabulary.decode(text.sentences[row]) for row in range(len(text.sentences))]
    clusters = BrownClustering(BigramCorpus(rows, alpha=1e-3), size).train()
    class_of = {word: number for number, words in enumerate(clusters) for word in words}
    return np.array([class_of[text.vocabulary.words[i - NUM_RESERVED]] for i in bigrams.ids])


def keys_of(name: str, size: int, rows: Sequence[Row]) -> dict[str, float]:
    """The figures of our way for the JSON line, and of one word at a time where that was run."""
    found: dict[str, float] = {}
    for row in rows:
        if row.passes is not None:
            way = "exchange" if "batches" in row.way else "one_by_one"
            found[f"{name}_{size}_{way}_cpu_seconds"] = round(row.cpu_seconds, 1)
            found[f"{name}_{size}_{way}_perplexity"] = round(row.perplexity, 3)
    return found


if __name__ == "__main__":
    main()
