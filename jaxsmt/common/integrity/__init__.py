"""Whether files are as they were written, and who is writing them."""
