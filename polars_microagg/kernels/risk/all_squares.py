"""Squared distances of all pairs of records, exact to their own rounding."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Matrix

__all__ = ["all_squares"]


def all_squares(x: Matrix) -> Matrix:
    """Return the (n, n) squared distances of (n, d) records, from their differences.

    >>> all_squares(np.array([[0.0], [3.0]])).tolist()
    [[0.0, 9.0], [9.0, 0.0]]
    """
    squares: Matrix = np.zeros((len(x), len(x)))
    for column in x.T:
        squares += np.square(column[:, None] - column)
    return squares
