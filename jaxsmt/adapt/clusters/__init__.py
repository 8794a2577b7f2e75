"""Clusters of sentences, found without labels (Sennrich, Schwenk & Aransa 2013, section 4).

    entropies  sentences as vectors of language-model entropies     kmeans  k-means on the device
    clustering training and applying both                           labels  labels in files, matched and merged
    plots      clusters in a plane
"""
