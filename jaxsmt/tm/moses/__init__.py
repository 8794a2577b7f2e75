"""Moses' tables in and out."""
