"""Whole numbers, of which distances can be taken without rounding."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["is_whole", "step_of", "whole_steps"]

BITS = 52
"""The sum of all records of a stratum is exact up to this power of two of their step."""

FINEST = 1000
"""Steps are at least 2 to the power of minus this."""


def step_of(columns: Matrix) -> float:
    """Return a power of two of which all values are multiples, or 0 if none is coarse enough.

    Coarse enough means that n times the widest range is up to 2^52 steps.

    >>> bool(step_of(np.array([[3.0, -1.5, 1e9]])) > 0), step_of(np.array([[0.1, 0.2, 0.3]]))
    (True, 0.0)
    """
    n = columns.shape[1]
    return float(whole_steps(columns, np.zeros(1, dtype=np.intp), np.array([n]))[0])


def is_whole(columns: Matrix) -> bool:
    """Return whether sums and differences of these records are exact."""
    return step_of(columns) > 0


def whole_steps(columns: Matrix, starts: Labels, sizes: Labels) -> Vector:
    """Return the `step_of` the records of each stratum, 0 where there is none."""
    span = np.zeros(len(sizes))
    for column in columns:
        range_ = np.maximum.reduceat(column, starts) - np.minimum.reduceat(column, starts)
        np.maximum(span, range_, out=span)
    # Sums of up to n values then stay below 2^53 steps, where doubles hold every whole number.
    bits = np.frexp(span)[1] + np.frexp(sizes.astype(np.float64))[1]
    steps: Vector = np.ldexp(1.0, np.maximum(bits - BITS, -FINEST))
    whole = np.ones(len(sizes), dtype=np.bool_)
    steps_by_row = steps if len(steps) == 1 else np.repeat(steps, sizes)
    for column in columns:
        if not whole.any():
            break
        with np.errstate(over="ignore"):
            counted = column / steps_by_row
        whole &= np.logical_and.reduceat(counted == np.rint(counted), starts)
    return np.where(whole, steps, 0.0)
