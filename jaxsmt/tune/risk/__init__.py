"""Minimum risk: weights by the gradient of expected BLEU or TER (Smith & Eisner 2006, Rosti et al. 2011)."""
