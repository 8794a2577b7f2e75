"""What can be said of parallel text before anything is trained on it."""
