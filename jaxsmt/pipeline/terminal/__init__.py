"""What a person sees on a terminal of any width."""
