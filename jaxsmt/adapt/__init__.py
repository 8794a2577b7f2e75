"""Adaptation: clusters, domain recognisers, bagging, Bayesian predictive adaptation."""
