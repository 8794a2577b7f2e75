"""Operation sequence models (Durrani, Schmid & Fraser 2011): pairs and their links as sequences of operations.

    cepts       which words are translated together
    operations  from pairs and links to operations, and back
    table       operations as words of a vocabulary
    models      n-gram models of operations, mixed, that score translations
    phrases     the operations of phrases, as a search appends them
    derivations the operations of derivations of phrases
"""
