"""Minimum error rate training: exact line search, ascent from many starts (Och 2003)."""
