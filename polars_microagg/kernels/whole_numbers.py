"""Whole numbers, which distances without rounding can be taken of."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["is_whole", "step_of", "whole_steps"]

BITS = 52
"""The sum of all records of a stratum is known exactly up to this power of two of their step."""

FINEST = 1000
"""Steps are no finer than 2 to the power of minus this."""


def step_of(columns: Matrix) -> float:
    """Step of which all values are multiples, a power of two; 0 if it would be too fine.

    Parameters
    ----------
    columns : array of shape (d, n)
        One record a column.

    Returns
    -------
    float
        A step so small that n times the widest range is up to 2^52 steps, if that will do.

    Examples
    --------
    >>> bool(step_of(np.array([[3.0, -1.5, 1e9]])) > 0), step_of(np.array([[0.1, 0.2, 0.3]]))
    (True, 0.0)
    """
    n = columns.shape[1]
    return float(whole_steps(columns, np.zeros(1, dtype=np.intp), np.array([n]))[0])


def is_whole(columns: Matrix) -> bool:
    """Return whether sums and differences of these records are exact."""
    return step_of(columns) > 0


def whole_steps(columns: Matrix, starts: Labels, sizes: Labels) -> Vector:
    """Find the `step_of` the records of each stratum.

    Parameters
    ----------
    columns : array of shape (d, n)
        One record a column, stratum by stratum.
    starts, sizes : array of shape (s,)
        Where each stratum starts, and its number of records, none of them 0.

    Returns
    -------
    array of shape (s,)
        The steps; 0 where there is none.
    """
    span = np.zeros(len(sizes))
    for column in columns:
        range_ = np.maximum.reduceat(column, starts) - np.minimum.reduceat(column, starts)
        np.maximum(span, range_, out=span)
    bits = np.frexp(span)[1] + np.frexp(sizes.astype(np.float64))[1]
    steps: Vector = np.ldexp(1.0, np.maximum(bits - BITS, -FINEST))
    whole = np.ones(len(sizes), dtype=np.bool_)
    each = steps if len(steps) == 1 else np.repeat(steps, sizes)
    for column in columns:
        if not whole.any():
            break
        with np.errstate(over="ignore"):
            counted = column / each
        whole &= np.logical_and.reduceat(counted == np.rint(counted), starts)
    return np.where(whole, steps, 0.0)
