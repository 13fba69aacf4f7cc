"""Warnings of what k does not protect, one a file."""
