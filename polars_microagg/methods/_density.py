"""Groups formed where records lie most densely."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.equal_records import distinct
from polars_microagg.kernels.neighbours import Neighbours
from polars_microagg.kernels.sum_of_squares import TIE, sums_of_squares

__all__ = ["densest_first"]

CELLS = 1 << 20
"""Values handled at a time."""


def densest_first(columns: Matrix, k: int) -> list[Labels]:
    """Return the rows of groups of k, each round the record in the densest place.

    Groups are formed until fewer than k records remain. The k-neighbourhood of a record is itself
    and the k - 1 remaining records nearest to it. The density there is one over the sum of squared
    distances of the k-neighbourhood from its mean. Of equally dense places the one of the lowest
    row comes first.

    >>> densest_first(np.array([[0.0, 2.0, 3.0, 3.5, 9.0]]), 2)
    [array([2, 3]), array([0, 1])]
    """
    groups, rest = _equal_records(columns, k)
    if len(rest) >= k:
        groups += [rest[rows] for rows in _densest(columns.take(rest, axis=1), k)]
    return groups


def _equal_records(columns: Matrix, k: int) -> tuple[list[Labels], Labels]:
    """Return groups of equal records, whose density is infinite, and the rows in none of them."""
    # These come first in any case. Setting them apart spares looking again, after each of them, at
    # all the records that have the same neighbours.
    place = distinct(columns.T)[1]
    order = np.argsort(place, kind="stable")
    size = np.bincount(place)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(size) - size, size)
    grouped = rank < np.repeat(size - size % k, size)
    groups = order[grouped].reshape(-1, k)
    return list(groups[groups[:, 0].argsort()]), np.sort(order[~grouped])


def _densest(columns: Matrix, k: int) -> Iterator[Labels]:
    """Yield the groups one after the other."""
    n = columns.shape[1]
    neighbours = Neighbours(columns, k - 1)
    spread = np.empty(n)
    changed = np.arange(n)
    for _ in range(n // k):
        spread[changed] = _spread(columns, changed, neighbours.near)
        # Sums within TIE are one density, so rounding cannot change which of equally dense places
        # comes first.
        densest = int((spread <= spread.min() * (1 + TIE)).argmax())
        rows = np.sort(np.append(neighbours.near[:, densest], densest))
        yield rows
        spread[rows] = np.inf
        # Only a record that lost a neighbour has another density now.
        changed = neighbours.remove(rows)


def _spread(columns: Matrix, rows: Labels, near: Labels) -> Vector:
    """Return the sum of squares of the k-neighbourhood of several records."""
    step = max(1, CELLS // (len(columns) * (len(near) + 1)))
    spread = np.empty(len(rows))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        members = np.concatenate((part[None], near[:, part]))
        # In row order, so that records with the same neighbourhood are exactly as dense.
        members.sort(axis=0)
        spread[start : start + step] = sums_of_squares(columns, members)
    return spread
