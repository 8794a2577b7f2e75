"""Domain recognisers: a classifier on words for labelled text, and clusters of unlabelled text.

The controls of bagging (Song, Mi, Lü and Liu 2012, sections 4.4 and 4.5): one tuned system per recognised class, the
smallest classes merged step by step (`labels.merge_smallest`); or one language model per cluster of the target side.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from jaxsmt.adapt.clusters.kmeans import assign, fit_kmeans
from jaxsmt.adapt.clusters.labels import Labels
from jaxsmt.adapt.recognise.bag_of_words import count_words, frequent_words, inverse_frequencies, latent_axes, tf_idf
from jaxsmt.common.arrays import open_arrays, save_arrays
from jaxsmt.common.errors import UserError
from jaxsmt.common.files import write_text
from jaxsmt.common.progress import log
from jaxsmt.common.settings import check_choices, check_positive
from jaxsmt.text.vocabulary import Vocabulary, load_vocabulary

FORMAT_VERSION = 1
ARRAYS, VOCABULARY, MANIFEST = "recogniser.safetensors", "recogniser.vocabulary.txt", "recogniser.json"
CLASSIFIERS = ("naive_bayes", "logistic")
SOLVERS = ("optax", "scikit-learn")


@dataclass(frozen=True)
class RecogniserConfig:
    """How a recogniser is trained.

    classifier: 'naive_bayes' on counts, or 'logistic' (regression) on TF-IDF weights. On five and on twelve domains of
        at most 3,000 sentences each the first was right for 90.6% and 80.0% of 500 development sentences per domain,
        the second for 89.4% and 79.5%: about as good, and three to four times slower to train.
    solver: what finds the optimum of 'logistic': 'optax' on the device, or 'scikit-learn' if installed. It is the same
        optimum.
    strength: the inverse of the L2 penalty of 'logistic'.
    smoothing: what 'naive_bayes' adds to every count.
    min_sentences: rarer words are left out.
    balanced: all classes weigh the same, however many sentences of each there are.
    """

    classifier: str = "naive_bayes"
    solver: str = "optax"
    strength: float = 3.0
    smoothing: float = 0.1
    min_sentences: int = 1
    balanced: bool = True

    def __post_init__(self) -> None:
        check_choices(self, "adapt", {"classifier": CLASSIFIERS, "solver": SOLVERS})
        check_positive(self, "adapt", ["strength", "smoothing", "min_sentences"])


@dataclass(frozen=True)
class Recogniser:
    """A linear classifier of tokenised sentences with W words and C classes.

    names: C names. classifier: see `RecogniserConfig`; it says what the features are.
    idf: [W] float64. coefficients: [W, C] float64. intercepts: [C] float64.
    """

    names: tuple[str, ...]
    classifier: str
    vocabulary: Vocabulary
    idf: np.ndarray
    coefficients: np.ndarray
    intercepts: np.ndarray

    def probabilities(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """[B, C] float64: p(class | sentence). Without a known word only the intercepts speak."""
        return softmax(self._logits(sentences), axis=1)

    def classify(self, sentences: Sequence[Sequence[str]]) -> Labels:
        """The most probable class of every sentence, the first of equal ones; it depends on no other sentence."""
        return Labels(self.names, self._logits(sentences).argmax(axis=1).astype(np.int32))

    def _logits(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        features = _features(self.classifier, count_words(self.vocabulary, sentences), self.idf)
        return features @ self.coefficients + self.intercepts

    def save(self, folder: str | Path) -> None:
        """Writes arrays, words and names into a folder, which may be there."""
        folder = Path(folder)
        names = ("idf", "coefficients", "intercepts")
        save_arrays(folder / ARRAYS, {name: getattr(self, name) for name in names})
        self.vocabulary.save(folder / VOCABULARY)
        manifest = {"format": FORMAT_VERSION, "names": list(self.names), "classifier": self.classifier}
        write_text(folder / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def load_recogniser(folder: str | Path) -> Recogniser:
    """Opens what `Recogniser.save` wrote."""
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise UserError(f"'{path}' does not exist: give a folder with a recogniser, or train one")
    arrays, vocabulary = open_arrays(path.with_name(ARRAYS)), load_vocabulary(path.with_name(VOCABULARY))
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        names, shape = tuple(manifest["names"]), arrays["coefficients"].shape
        fits = shape == (len(vocabulary.words), len(names)) and manifest["format"] == FORMAT_VERSION
        if not fits or manifest["classifier"] not in CLASSIFIERS:
            raise ValueError
        columns = (arrays[name] for name in ("idf", "coefficients", "intercepts"))
        return Recogniser(names, manifest["classifier"], vocabulary, *columns)
    except (ValueError, KeyError, TypeError):
        raise UserError(f"'{path}' has no recogniser of this version: delete its folder and train it again") from None


def train_recogniser(
    sentences: Sequence[Sequence[str]], labels: Labels, config: RecogniserConfig | None = None
) -> Recogniser:
    """Trains a classifier of domains on tokenised sentences with labels."""
    config = config or RecogniserConfig()
    if len(sentences) != len(labels) or not len(labels):
        raise UserError(f"there are {len(sentences)} sentences and {len(labels)} labels: give one label per sentence")
    for name, count in zip(labels.names, labels.counts, strict=True):
        if not count:
            raise UserError(f"no sentence has the label '{name}': add some to train on, or drop the label")
    vocabulary = frequent_words(sentences, config.min_sentences)
    if not vocabulary.words:
        raise UserError(f"no word occurs in {config.min_sentences} sentences: lower adapt.min_sentences or add text")
    counts = count_words(vocabulary, sentences)
    idf = inverse_frequencies(counts)
    coefficients, intercepts = _fit(_features(config.classifier, counts, idf), labels, config)
    log.info("recogniser of %d classes from %d sentences, %d words", len(labels.names), len(labels), len(idf))
    return Recogniser(labels.names, config.classifier, vocabulary, idf, coefficients, intercepts)


def _features(classifier: str, counts: csr_array, idf: np.ndarray) -> csr_array:
    return counts if classifier == "naive_bayes" else tf_idf(counts, idf)


def _fit(features: csr_array, labels: Labels, config: RecogniserConfig) -> tuple[np.ndarray, np.ndarray]:
    # a recogniser that is there already needs no solver
    from jaxsmt.adapt.recognise.logistic import fit_logistic, fit_naive_bayes, fit_with_scikit_learn, sample_weights

    num_classes = len(labels.names)
    weights = sample_weights(labels.index, num_classes, config.balanced)
    common = (features, labels.index, num_classes, weights)
    if num_classes == 1:
        return np.zeros((features.shape[1], 1)), np.zeros(1)
    if config.classifier == "naive_bayes":
        return fit_naive_bayes(*common, config.smoothing)
    if config.solver == "scikit-learn":
        return fit_with_scikit_learn(*common, config.strength)
    return fit_logistic(*common, config.strength)


@dataclass(frozen=True)
class TextClusterConfig:
    """How unlabelled text is clustered.

    num_axes: latent dimensions of the TF-IDF vectors; min_sentences: rarer words are left out.
    max_fitted: the clusters are found on at most so many sentences, at equal steps, and then take all others in.
    """

    num_clusters: int = 3
    num_axes: int = 64
    min_sentences: int = 2
    max_fitted: int = 20_000
    restarts: int = 8
    seed: int = 0


def cluster_texts(sentences: Sequence[Sequence[str]], config: TextClusterConfig | None = None) -> Labels:
    """Clusters of tokenised sentences by their words: cosine k-means on latent axes of TF-IDF vectors.

    For one language model per cluster of the target side. A sentence to be translated has no target side: a
    `train_recogniser` on the source sides of the same sentence pairs, with these labels, finds its cluster. (Entropies
    under component models are the other way to cluster a target side: `entropies` and `clusters`.)
    """
    config = config or TextClusterConfig()
    counts = count_words(frequent_words(sentences, config.min_sentences), sentences)
    if not counts.nnz:
        raise UserError(f"no word occurs in {config.min_sentences} sentences: there is nothing to cluster, add text")
    weighted = tf_idf(counts, inverse_frequencies(counts))
    vectors = weighted @ latent_axes(weighted, config.num_axes, config.seed)  # [B, axes]
    step = max(1, -(-len(vectors) // config.max_fitted))
    fit = fit_kmeans(vectors[::step], config.num_clusters, config.restarts, config.seed)
    return Labels(tuple(f"cluster{c}" for c in range(len(fit.centroids))), assign(fit.centroids, vectors))
