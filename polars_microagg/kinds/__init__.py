"""One kind of column a file: coordinates in, one value a group out."""
