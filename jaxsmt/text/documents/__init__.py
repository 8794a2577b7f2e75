"""Documents that are translated in place: what is there stays byte by byte, what is missing is filled in and marked."""
