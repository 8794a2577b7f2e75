"""Where rules and their scores come from.

    grammar   source sides, target sides, targets compiled to programs     model     a fixed table; mixed counts
    mixtures  log-linear, linear and fill-up mixtures of finished models   ensemble  scores mixed rule by rule
    orientations    log-probabilities of monotone, swap and discontinuous
    ensemble_spans  ensembles that look at all rules of a span: switching, normalisation
"""
