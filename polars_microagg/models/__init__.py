"""One privacy model a file: what every group of records must satisfy."""
