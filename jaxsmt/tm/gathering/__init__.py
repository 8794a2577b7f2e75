"""The rules that a text can use, fetched from tables that stay on the disk.

Sides, pairs and word pairs of a component lie sorted in its memory-mapped file, so the folder is its own index: binary
search touches a few pages for each thing that is looked for. What a text takes, in time and memory, grows with the text
and not with the table.
"""
