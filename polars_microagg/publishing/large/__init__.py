"""Releases of tables larger than memory: masked by leaves, counted and measured on disk."""
