"""Work that is cut into jobs: shards of a text, trials of a sweep, processes and batch jobs that do them."""
