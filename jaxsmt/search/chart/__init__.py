"""The CKY kernel: hypotheses as rows, how they join, compiled targets."""
