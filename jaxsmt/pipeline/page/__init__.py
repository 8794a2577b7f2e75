"""The page of a run or a sweep: gathered as plain values, shown as HTML that loads nothing."""
