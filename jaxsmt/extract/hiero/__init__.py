"""Hierarchical rules: where initial phrase pairs can have gaps, and the rules that come of it."""
