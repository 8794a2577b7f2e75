"""From sentences to static arrays.

    matching  source sides in sentences
    lists     their rules (PairLists), the best of each list (Ranking), and with special entries behind (RuleLists)
    planning  unknown words, forced spans, glue and blocks beside the rules, and all rule applications (Groups)
    targets   target sides as language models have scored them
    forest    cells, groups and lists as the device wants them (Plan)
"""
