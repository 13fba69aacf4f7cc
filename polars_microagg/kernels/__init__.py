"""Arithmetic on matrices; numpy only."""
