"""n-best lists: hyperedges, k best, derivations, exact features, Moses' format."""
