"""The two records farthest from each other."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Matrix
from polars_microagg.kernels.distance import rounding_slack, squared_distances
from polars_microagg.kernels.point_search import with_norms

__all__ = ["farthest_pair"]

CELLS = 1 << 21
"""Distances handled at a time."""


def farthest_pair(columns: Matrix) -> tuple[int, int]:
    """Return the two rows farthest from each other, ascending, the first pair of equals.

    >>> farthest_pair(np.array([[1.0, 5.0, 0.0, 5.0]]))
    (1, 2)
    """
    n = columns.shape[1]
    table = with_norms(columns)
    slack = rounding_slack(float(table[-1].max()), columns[:, int(table[-1].argmax())])
    farthest, pair = -1.0, (0, 1)
    step = max(1, CELLS // n)
    for first in range(0, n - 1, step):
        own = table[:, first : first + step]
        weights = np.vstack((-2.0 * own[:-1], np.ones((1, own.shape[1]))))
        values = weights.T @ table[:, first:] + own[-1][:, None]
        values[np.tri(*values.shape, dtype=np.bool_)] = -np.inf
        # Both the old and the new value may be off by the slack; what is below both cannot be the
        # farthest.
        bound = max(float(values.max()), farthest) - 2 * slack
        one, other = np.nonzero(values >= bound)
        one, other = one + first, other + first
        for start in range(0, len(one), CELLS):
            part = slice(start, start + CELLS)
            difference = columns.take(one[part], axis=1) - columns.take(other[part], axis=1)
            exact = squared_distances(difference, np.zeros(len(columns)))
            best = int(exact.argmax())
            # Pairs come in row order and a later one must be strictly farther, so the first of
            # equals stays.
            if exact[best] > farthest:
                farthest, pair = float(exact[best]), (int(one[part][best]), int(other[part][best]))
    return pair
