"""From sentences to static arrays.

    matching  source sides in sentences        profiles  the distinct weights and mixtures of a batch
    pairs     their rules (PairLists)          ranking   the best of each list (Ranking)
    planning  unknown words, forced spans, glue and blocks beside the rules, and all rule applications (Groups)
    lists     ranked rules and special entries (RuleLists)
    forest    cells, groups and lists as the device wants them (Plan)
"""
