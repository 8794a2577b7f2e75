"""Extraction as tasks over shards of a corpus: rows in sorted parts, counted range by range."""
