"""The phrase-based search on the device.

kernel    stacks filled in lock step, by covered words   coverage  covered words as bits, and what may come next
future    estimates of what is left to do                extending phrases appended under the language models
planning  the phrases of a batch as arrays               decoder   sentences in, derivations out
reading   derivations from the stacks                    lists     n-best lists from their candidates
features  distortion and orientations from scratch       config    how widely to search
"""
