"""Optimal partitions of records along an order."""
