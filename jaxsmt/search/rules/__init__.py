"""Where rules and their scores come from: a fixed table, components mixed by weights, ensembles."""
