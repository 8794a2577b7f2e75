"""The CKY search on the device.

kernel     the chart: cells filled level by level        structure  what it works on and gives
candidates which candidates are looked at                rows       hypotheses as rows of integers
evaluation lanes of candidates scored                    compiled   target sides as rows, kept by mixture
joining    pieces of target text put side by side        selection  the best of many candidates, and of equal ones
keeping    recombination, the best hypotheses            decoder    sentences in, derivations out
"""
