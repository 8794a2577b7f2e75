"""From a text to word classes."""

import numpy as np

from jaxsmt.common.ragged import Ragged
from jaxsmt.lm.classes.bigrams import count_bigrams
from jaxsmt.lm.classes.exchange import ExchangeConfig, exchange_classes
from jaxsmt.lm.classes.table import WordClasses
from jaxsmt.text.vocabulary import Vocabulary


def cluster_words(
    sentences: Ragged, vocabulary: Vocabulary, config: ExchangeConfig | None = None
) -> tuple[WordClasses, np.ndarray]:
    """The words of a text in classes, and the perplexities of the class bigram model [passes + 1] before and after.

    Args:
      sentences: token ids, without <s> and </s>.
      vocabulary: what the ids mean. Words that do not occur in the sentences get no class.
    """
    config = config or ExchangeConfig()
    bigrams = count_bigrams(sentences, vocabulary)
    found = exchange_classes(bigrams, config)
    words = vocabulary.decode(bigrams.ids)
    table = WordClasses(dict(zip(words, map(str, found.classes.tolist()), strict=True)))
    return table, np.exp(-found.log_likelihoods / max(bigrams.num_pairs, 1))
