"""Tasks over shards of a corpus, in this process or on the workers of a Dask cluster."""
