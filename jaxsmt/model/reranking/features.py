"""Features that n-best lists get when the search is over: of KenLM files, and of operation sequence models."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxsmt.common.ragged import Ragged, ragged_from_rows
from jaxsmt.lm.rescoring import Rescorer
from jaxsmt.model.model import Profile
from jaxsmt.model.source_text import SourceText
from jaxsmt.model.translation import PlainTranslator
from jaxsmt.model.tuned_weights import feature_rows
from jaxsmt.osm.models import OperationModels
from jaxsmt.osm.operations import operation_counts
from jaxsmt.search.nbest.arrays import NBestArrays
from jaxsmt.search.nbest.moses import output_texts
from jaxsmt.text.bitext import Bitext
from jaxsmt.text.vocabulary import UNKNOWN

_RIDGE, _SMALLEST_SCALE = 1e-3, 1e-6


@dataclass(frozen=True)
class ListRescorer:
    """M further features: log p of each file, then those of operations: `osm` as in `Rescoring`.

    Of a feature f only f − β·φ counts, with φ [F] the tuned features of the search and β its row of
    `shares`. Any w·φ + v f can be written with it; but then w alone, by which the search makes lists, is the best that
    linear weights can do without f. (With f itself the word penalty makes up for log p, which falls with every word,
    and the search, which does not see f, lists translations that are far too long.)
    """

    files: Rescorer
    osm: tuple[str, ...] = ()
    operations: OperationModels | None = None
    shares: tuple[tuple[float, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the features."""
        return (*self.files.names, *self.osm)

    @property
    def needs_links(self) -> bool:
        """Whether it can only score lists that were made with keep_links."""
        return bool(self.osm)

    def scores(
        self, translator: PlainTranslator, text: SourceText, profiles: Sequence[Profile], lists: NBestArrays
    ) -> np.ndarray:
        """[K, M] float64 of the K translations of a text in n-best lists of its translator."""
        texts = output_texts(lists, text.tokens, translator.words) if self.files.names else [""] * len(lists.sentence)
        columns = [self.files.log_probs(texts)]
        if self.osm and self.operations is not None:
            found = operation_features(self.operations, translator, text, profiles, lists)
            columns.append(found[:, : len(self.osm)])
        features = np.concatenate(columns, axis=1)
        if not self.shares:
            return features
        return features - feature_rows(lists.features, translator.model.weights) @ np.array(self.shares).T


def fitted_shares(features: np.ndarray, own: np.ndarray, sentence: np.ndarray) -> np.ndarray:
    """[M, F]: β with the least Σ (f − β·φ − c)², c being a constant of each list; a little ridge keeps β finite.

    features: [K, M] f of K translations; own: [K, F] φ; sentence: [K] the list of each.
    """
    columns = np.concatenate([own, features], axis=1)
    size = np.maximum(np.bincount(sentence), 1)
    means = np.stack([np.bincount(sentence, column) / size for column in columns.T], axis=1)
    centred, values = np.split(columns - means[sentence], [own.shape[1]], axis=1)
    scale = np.sqrt((centred**2).mean(0)) if len(centred) else np.ones(own.shape[1])
    scale = np.where(scale > _SMALLEST_SCALE, scale, np.inf)  # what is the same in a list says nothing
    scaled = centred / scale
    gram = scaled.T @ scaled + _RIDGE * max(len(own), 1) * np.eye(own.shape[1])
    return np.linalg.solve(gram, scaled.T @ values).T / scale


def operation_features(
    models: OperationModels, translator: PlainTranslator, text: SourceText, profiles: Sequence[Profile],
    lists: NBestArrays,
) -> np.ndarray:  # fmt: skip
    """[K, 5] float64: log p of the operations of all translations, mixed as the labels of their lines say, and counts.

    A word that was copied because nobody could translate it is an unknown operation, as in all translations of a line.
    """
    assert lists.links is not None, "these lists were made without keep_links"
    source = ragged_from_rows([models.table.source.encode(tokens) for tokens in text.tokens]).take(lists.sentence)
    ids, tokens = translator.words.ids_in(models.table.target), lists.tokens
    target = Ragged(np.where(tokens.values < 0, UNKNOWN, ids[np.maximum(tokens.values, 0)]), tokens.offsets)
    labels = [profiles[row].label for row in lists.sentence.tolist()]
    operations = models.operations(Bitext(source, target), lists.links)
    return np.column_stack([models.log_probs(operations, labels), operation_counts(operations)])
