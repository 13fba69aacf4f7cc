"""Putting a release in place whole: files, requirements, the manifest, and warnings."""
