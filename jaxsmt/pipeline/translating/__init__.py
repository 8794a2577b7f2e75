"""What `jaxsmt decode` does with a model: answers to lines, typed or from files."""
