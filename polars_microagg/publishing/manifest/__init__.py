"""The manifest of a release: written, sealed, and checked again."""
