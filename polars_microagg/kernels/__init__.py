"""Arithmetic on matrices that several rooms share; numpy only."""
