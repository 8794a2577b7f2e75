"""Recognisers of the class of a sentence by its words."""
