"""Component weights λ from development text.

    development  pairs extracted from it          perplexity   weights of counts (Sennrich 2012), by `objective`
    objective    perplexity as sums of logs       lbfgs        minimises it, all features and sets at once
    log_sums     Σ c log Σ λ p, with gradient     linear       weights of probabilities, by EM (`linear_em`)
    results      what a fit found                 orientations weights of orientation counts
"""
