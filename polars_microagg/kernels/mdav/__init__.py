"""The exact MDAV engine."""
