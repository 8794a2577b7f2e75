"""Minimum Bayes risk: of each n-best list the translation that is most like all others (Kumar & Byrne 2004)."""
