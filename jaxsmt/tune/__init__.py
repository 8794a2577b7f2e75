"""Weights of the log-linear model from n-best lists: MERT, batch MIRA, PRO, minimum risk, trust region."""
