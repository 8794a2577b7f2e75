"""The phrase-based search on the device.

kernel      stacks filled in lock step, by covered words  hypotheses  what it works on and what it finds
expansion   what may come next, by additive scores        extending   phrases appended under the language models
coverage    covered words as bits                         future      estimates of what is left to do
planning    the phrases of a batch as arrays              decoder     sentences in, derivations out
reading     derivations from the stacks                   lists       n-best lists from their candidates
features    distortion and orientations from scratch      config      how widely to search
operations  an operation sequence model as one more feature
"""
