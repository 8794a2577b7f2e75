"""n-best lists from a chart.

    hypergraph  its edges as flat arrays     kbest       the k best ways of all sentences at once
    sides       strings and their hashes     unfold      ways as steps, tokens and trees
    derivation  one translation as a tree    rescoring   exact features of derivations
    sources     charts and stacks alike      links       word links of derivations
    arrays      the lists with features      moses       their text format
"""
