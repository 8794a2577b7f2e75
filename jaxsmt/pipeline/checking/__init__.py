"""What is said of a training before it runs."""
