"""Clusters of sentences by source-side entropies, and labels."""
