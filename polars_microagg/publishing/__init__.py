"""Putting a release in place whole, with its manifest and warnings."""
