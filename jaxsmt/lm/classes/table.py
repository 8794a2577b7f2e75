"""Word classes as a table: text as a class language model sees it."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.ragged import Ragged
from jaxsmt.text.vocabulary import NUM_RESERVED, UNKNOWN, Vocabulary


@dataclass(frozen=True)
class WordClasses:
    """Words and the name of the class that each is in; a word that is not here is of a class of its own, <unk>."""

    class_of: dict[str, str]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The classes as the words of a class language model, in the order in which words have them."""
        return Vocabulary(tuple(dict.fromkeys(self.class_of.values())))

    def encode(self, tokens: Iterable[str], vocabulary: Vocabulary | None = None) -> list[int]:
        """The ids of words' classes, in another vocabulary if there is one; UNKNOWN for words without a class."""
        id_of = (vocabulary or self.vocabulary).id_of
        return [id_of.get(self.class_of.get(token, ""), UNKNOWN) for token in tokens]

    def ids_of(self, words: Vocabulary, vocabulary: Vocabulary | None = None) -> np.ndarray:
        """[V] int32: for every id of a vocabulary of words the id of its class; reserved ids stay."""
        return np.array([*range(NUM_RESERVED), *self.encode(words.words, vocabulary)], np.int32)

    def classified(self, sentences: Ragged, words: Vocabulary) -> Ragged:
        """Sentences of word ids as sentences of class ids."""
        return Ragged(self.ids_of(words)[sentences.values], sentences.offsets)

    def save(self, path: str | Path) -> None:
        """A line `word<TAB>class` for each word."""
        write_text(path, "".join(f"{word}\t{name}\n" for word, name in self.class_of.items()))


def load_classes(path: str | Path) -> WordClasses:
    """Reads what `WordClasses.save` wrote."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"word classes '{path}' do not exist: the model folder is incomplete, run train.py again")
    pairs = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    if any(len(pair) != 2 for pair in pairs):
        raise UserError(f"'{path}' has a line that is not a word, a tab and its class: train the model again")
    return WordClasses({pair[0]: pair[1] for pair in pairs})
