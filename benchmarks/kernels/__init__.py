"""What the kernels of jaxsmt become on a GPU: recorded from real runs, compiled ahead of time, read and counted."""
