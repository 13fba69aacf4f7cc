"""Processes that share a piece of work."""
