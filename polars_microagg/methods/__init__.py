"""One algorithm a file, named like its function."""
