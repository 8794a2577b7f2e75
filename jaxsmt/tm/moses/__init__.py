"""Moses' tables in and out.

    tables  phrase, rule and reordering tables, read and written     lexical  lexical tables
    parse   lines in bulk                                            write    lines from arrays
"""
