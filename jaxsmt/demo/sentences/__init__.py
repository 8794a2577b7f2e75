"""The kinds of sentences of the demo, one file each; all draw from a domain's lexicon."""
