"""What every room stands on: errors, files, arrays on disk, ragged rows, group-by, progress."""
