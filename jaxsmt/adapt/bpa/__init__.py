"""Bayesian predictive adaptation (Sanchis-Trilles & Casacuberta 2015).

    adaptation  samples of weights, weighted by a few sentences with references    online  sentence by sentence
    sampling    heuristic, Metropolis–Hastings                posterior    its density, Laplace's approximation
    likelihood  of oracle hypotheses under samples            rerank       votes of the samples on other lists
    blocks      lists in blocks of equal shape                kernels      log-linear models on the device
    diagnostics  of chains
"""
