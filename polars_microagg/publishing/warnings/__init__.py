"""What k does not protect: one warning a file."""
