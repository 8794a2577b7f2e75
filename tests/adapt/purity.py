"""How well clusters find what is known."""

from jaxsmt.adapt.clusters.labels import contingency


def purity(labels, gold):
    """The share of sentences whose gold label is the most frequent one among sentences of their label."""
    return contingency(labels, gold).max(axis=1, initial=0).sum() / len(labels)
