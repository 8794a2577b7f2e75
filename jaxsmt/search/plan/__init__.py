"""From sentences to static arrays: matching, ranking, special entries, batches."""
