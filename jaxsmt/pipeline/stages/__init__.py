"""The stages of training, one file each."""
