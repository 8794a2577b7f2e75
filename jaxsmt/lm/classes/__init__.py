"""Word classes: found by the exchange algorithm, kept as a table."""
