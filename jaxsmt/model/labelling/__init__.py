"""Who finds the label of a line: one protocol, one file for each way."""
