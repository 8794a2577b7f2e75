"""The CKY search on the device.

kernel     the chart: cells filled level by level        structure  what it works on and gives
candidates which candidates are looked at                rows       hypotheses as rows of integers
evaluation lanes of candidates scored                    selection  the best of many candidates, and of equal ones
joining    pieces of target text put side by side        keeping    recombination, the best hypotheses
tiles      how much work is one step                     decoder    sentences in, derivations out
"""
