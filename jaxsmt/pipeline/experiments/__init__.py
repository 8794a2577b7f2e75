"""The comparisons of papers: systems side by side, the papers' own figures, and whether the directions are the same."""
