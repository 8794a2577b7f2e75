"""Translation models: component statistics, their union, features for mixture weights, Moses tables."""
