"""The Polars door: masks and groups of frames, lazy plans and expressions, as one plan node."""
