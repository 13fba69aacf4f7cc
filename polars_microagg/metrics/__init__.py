"""One family of measures a file; numbers in, one number out."""
