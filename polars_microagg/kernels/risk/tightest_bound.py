"""The highest floor of the sum of squares that can be had for an effort."""

from __future__ import annotations

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.local.local_search import squares_within
from polars_microagg.kernels.risk.group_prices import group_price_bound
from polars_microagg.kernels.risk.lower_bound import lagrangian_bound, neighbour_bound
from polars_microagg.kernels.risk.semidefinite_bound import semidefinite_bound
from polars_microagg.kernels.risk.semidefinite_patches import patch_size, patched_bound

__all__ = ["tightest_bound"]

LISTED = 5
"""Up to this k, all groups of k that may be cheap can be looked at."""

MOST = 5000
"""With more records than this they are not, as that takes the square of it in memory."""

DECOMPOSED = 1500
"""With more records than this, eigenvalues of all of them take too long."""

PATCHED = 1_000_000
"""With more records than this over the size of a patch, patches take more than about a minute."""

STEPS = 200
"""Steps of the multipliers of pairs for an effort of 1."""

ROUNDS = 8
"""Rounds of column generation for an effort of 1."""

TURNS = 100
"""Steps of the semidefinite relaxation for an effort of 1."""


def tightest_bound(x: Matrix, k: int, labels: Labels, effort: float) -> float:
    """Return a floor of the sum of squares of any grouping of (n, d) records about zero.

    `labels` are groups of at least k records, the fewer squares they have the better. More effort never
    finds a lower floor, as it takes the same steps and then some.

    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [1.5], [9.0], [9.5]])
    >>> round(tightest_bound(x, 2, np.array([0, 0, 0, 1, 1]), 1), 3)
    1.0
    """
    floor, steps = neighbour_bound(x, k), round(STEPS * effort)
    if not steps:
        return floor
    squares = float(squares_within(x, labels).sum())
    floor = max(floor, lagrangian_bound(x, k, squares, steps))
    if k <= LISTED and len(x) <= MOST:
        return max(floor, group_price_bound(x, k, labels, max(1, round(ROUNDS * effort))))
    if k > LISTED and len(x) <= DECOMPOSED:
        return max(floor, semidefinite_bound(x, k, labels, max(1, round(TURNS * effort))))
    if len(x) * patch_size(len(x), k) <= PATCHED:
        return max(floor, patched_bound(x, k, max(1, round(TURNS * effort))))
    return floor
