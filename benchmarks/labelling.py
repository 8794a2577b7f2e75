"""How much of what labels bring a model keeps that finds them by itself: on the demo's test sets, or on sets you name.

    python benchmarks/labelling.py runs/demo/model
    python benchmarks/labelling.py runs/mine/model law=test.law.fr,test.law.en it=test.it.fr,test.it.en

Lines come as documents (one set after the other), in pieces of 10 lines, and in random order; each is translated with
all counts alike, with the labels found, and with the labels that are right. One run; nothing is fitted here.
"""

import json
import sys

import numpy as np

from jaxsmt import load_model
from jaxsmt.common.device import setup_device
from jaxsmt.demo import generate_demo
from jaxsmt.evaluate.scores import corpus_scores
from jaxsmt.text.streams import read_lines

PIECE = 10


def test_sets(arguments: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Pairs by label."""
    if not arguments:
        return {name: list(parts["test"]) for name, parts in generate_demo().items()}
    named = dict(argument.split("=", 1) for argument in arguments)
    files = {name: paths.split(",") for name, paths in named.items()}
    return {name: list(zip(*map(read_lines, paths), strict=True)) for name, paths in files.items()}


def orders(labels: list[str]) -> dict[str, np.ndarray]:
    """The lines in each order."""
    places = np.arange(len(labels))
    pieces = np.array_split(places, max(len(places) // PIECE, 1))
    mixed = np.random.default_rng(0).permutation(len(pieces))
    return {
        "documents": places,
        "pieces": np.concatenate([pieces[place] for place in mixed]),
        "random": np.random.default_rng(0).permutation(len(places)),
    }


def main(folder: str, *arguments: str) -> None:
    setup_device()
    sets, model = test_sets(list(arguments)), load_model(folder)
    labels = [name for name, pairs in sets.items() for _ in pairs]
    sources, references = zip(*(pair for pairs in sets.values() for pair in pairs), strict=True)

    def bleu(given: list[str | None]) -> float:
        lines = model.translate(sources, labels=given)
        return corpus_scores([line.text for line in lines], list(references)).bleu

    none, right = bleu([None] * len(labels)), bleu(list(labels))
    table = {}
    print(f"{len(labels)} lines; all counts alike {none:.2f} BLEU, right labels {right:.2f}")
    for name, order in orders(labels).items():
        tokens = [model.model.source.preprocess(sources[place]) for place in order]
        found: list[str | None] = [None] * len(labels)
        for place, label in zip(order.tolist(), model.model.labeller().labels_of(tokens), strict=True):
            found[place] = label
        accuracy = float(np.mean([a == b for a, b in zip(found, labels, strict=True)]))
        score = bleu(found)
        kept = (score - none) / (right - none)
        table[name] = {"accuracy": round(accuracy, 4), "bleu": round(score, 2), "kept": round(kept, 3)}
        print(f"{name:<10} right labels {accuracy:6.1%}   BLEU {score:.2f}   keeps {kept:.0%} of the gain")
    print(json.dumps({"none": round(none, 2), "right": round(right, 2), **table}))


if __name__ == "__main__":
    main(*sys.argv[1:])
