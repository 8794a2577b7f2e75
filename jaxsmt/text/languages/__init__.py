"""What the house knows of single languages, one file a concern."""
