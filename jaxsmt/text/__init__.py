"""Text: reading, cleaning, tokenising, vocabulary, length buckets. Strings stop here."""
