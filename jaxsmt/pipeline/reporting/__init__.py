"""What is shown of a run: tables on a terminal of any width, and one page to look at."""
