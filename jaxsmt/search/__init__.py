"""Search: matching source sides in sentences, and finding the best translation."""
