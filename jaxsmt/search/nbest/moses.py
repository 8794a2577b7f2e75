"""n-best lists in the format of Moses.

0 ||| words  |||  LM0= -85.7 WordPenalty0= -22 PhrasePenalty0= 16 TranslationModel0= -10.8 … ||| -226.9
"""

from collections.abc import Iterator, Sequence

import numpy as np

from jaxsmt.search.nbest.arrays import NBestArrays
from jaxsmt.search.nbest.derivation import Derivation
from jaxsmt.search.nbest.rescoring import FeatureVectors
from jaxsmt.text.vocabulary import NUM_RESERVED, Vocabulary


def output_words(derivation: Derivation, source_words: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """The output's words; unknown ones as they stand in the source."""
    return [source_words[-1 - token] if token < 0 else vocabulary.decode([token])[0] for token in derivation.tokens]


def output_texts(lists: NBestArrays, source_words: Sequence[Sequence[str]], vocabulary: Vocabulary) -> list[str]:
    """All outputs of n-best lists, words separated by one space; source_words: of the request's sentences."""
    words = [*[""] * NUM_RESERVED, *vocabulary.words]
    ids, offsets = lists.tokens.values.tolist(), lists.tokens.offsets.tolist()
    texts = []
    for sentence, begin, end in zip(lists.sentence.tolist(), offsets[:-1], offsets[1:], strict=True):
        source = source_words[sentence]
        texts.append(" ".join([words[token] if token >= 0 else source[-1 - token] for token in ids[begin:end]]))
    return texts


MOSES_NAMES = {
    "lm": "LM0",
    "word_penalty": "WordPenalty0",
    "phrase_penalty": "PhrasePenalty0",
    "rule": "TranslationModel0",
    "glue": "TranslationModel1",
    "swap": "Swap0",
    "distortion": "Distortion0",
    "reordering": "LexicalReordering0",
}


def _column(features: FeatureVectors, name: str, row: int) -> str:
    """The values of a feature; where there are several language models, each has a name of its own."""
    values = [f"{value:.6g}" for value in np.atleast_1d(getattr(features, name)[row])]
    if name != "lm" or len(values) == 1:
        return f"{MOSES_NAMES[name]}= {' '.join(values)}"
    names = (own.replace("_", "-") for own in features.lm_names)  # Moses takes '_' for the mark of sparse features
    return " ".join(f"{own}= {value}" for own, value in zip(names, values, strict=True))


def nbest_lines(
    number: int,
    outputs: Sequence[Sequence[str]],
    features: FeatureVectors,
    first: int,
    own: Sequence[str] = ("glue",),
    alignments: Sequence[Sequence[tuple[int, int]]] | None = None,
) -> Iterator[str]:
    """Lines for sentence `number`, whose derivations are rows first, first + 1, … of `features`.

    own: features that this search has and others have not (`SearchConfig.own_features`).
    alignments: adds a field of source-target links to each line.
    """
    for place, words in enumerate(outputs):
        row = first + place
        fields = ["lm", "word_penalty", "phrase_penalty", "rule", *own]
        columns = " ".join(_column(features, name, row) for name in fields)
        line = f"{number} ||| {' '.join(words)}  |||  {columns} ||| {features.score[row]:.6g}"
        if alignments is not None:
            line += " ||| " + " ".join(f"{source}-{target}" for source, target in alignments[place])
        yield line
