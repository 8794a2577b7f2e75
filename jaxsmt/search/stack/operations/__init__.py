"""An operation sequence model in the stack search.

appending   operations of phrases appended on the device    programs   the phrases of a batch, made ready for that
"""
