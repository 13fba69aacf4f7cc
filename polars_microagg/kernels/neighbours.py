"""The nearest neighbours of all records among those that remain."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.distance import rounding_slack, squared_distances
from polars_microagg.kernels.point_search import with_norms

__all__ = ["Neighbours"]

CELLS = 1 << 22
"""Distances handled at a time."""

KNOWN = 1 << 24
"""Neighbours kept in all, unless more are needed."""

SPARE = 16
"""Least number of neighbours of a record kept beyond those wanted."""

SHARE = 4
"""The table is rewritten once one record in this many has gone from it."""


class Neighbours:
    """The `count` records nearest to each one, kept up to date while records are removed.

    Built from (d, n) columns, n > count. `near` (count, n) lists the rows of the neighbours of each
    remaining record, nearest first. Nearest is by `squared_distances`, the lowest row of equals.
    """

    def __init__(self, columns: Matrix, count: int) -> None:
        n = columns.shape[1]
        self._columns = columns
        self._records = with_norms(columns)
        norms = self._records[-1]
        self._slack = rounding_slack(float(norms.max()), columns[:, norms.argmax()])
        # One more than there are rows: row n is gone, and stands for no neighbour.
        self._gone = np.zeros(n + 1, dtype=np.bool_)
        self._gone[n] = True
        spare = SPARE + min(4 * count, max(0, KNOWN // n - count))
        self._known = np.full((n, min(count + spare, n - 1)), n, dtype=np.intp)
        self.near = np.empty((count, n), dtype=np.intp)
        self._tabulate()
        self._renew(np.arange(n))

    def remove(self, rows: Labels) -> Labels:
        """Remove records; return the rows, ascending, of those that have other neighbours now.

        The result is empty if no more than `count` records are left.
        """
        self._gone[rows] = True
        self._left -= len(rows)
        if self._left <= len(self.near):
            return np.empty(0, dtype=np.intp)
        if (SHARE - 1) * len(self._rows) >= SHARE * self._left:
            self._tabulate()
        lost = self._gone.take(self.near).any(axis=0)
        lost &= ~self._gone[:-1]
        changed = np.flatnonzero(lost)
        self._renew(changed)
        return changed

    def _tabulate(self) -> None:
        """Rewrite the table with the remaining records."""
        self._rows = np.flatnonzero(~self._gone)
        self._left = len(self._rows)
        self._table = self._records.take(self._rows, axis=1)

    def _renew(self, rows: Labels) -> None:
        """Refill the lists from the nearest of the known neighbours that remain."""
        count = len(self.near)
        # The known neighbours were the nearest of all when they were found, and removals only take
        # competitors away. So the first survivors are the nearest; a search is needed only when too
        # few are left.
        few = np.count_nonzero(~self._gone[self._known[rows]], axis=1) < count
        wanted = rows[few]
        step = max(1, CELLS // len(self._rows))
        for start in range(0, len(wanted), step):
            self._search(wanted[start : start + step])
        known = self._known[rows]
        left = ~self._gone[known]
        left &= np.cumsum(left, axis=1) <= count
        self.near[:, rows] = known[left].reshape(-1, count).T

    def _search(self, rows: Labels) -> None:
        """Find the nearest neighbours of these records among all that remain."""
        length = min(self._known.shape[1], self._left - 1)
        records = self._records.take(rows, axis=1)
        weights = np.ones_like(records)
        np.multiply(records[:-1], -2.0, out=weights[:-1])
        values = weights.T @ self._table
        values[:, self._gone.take(self._rows)] = np.inf
        values[np.arange(len(rows)), self._rows.searchsorted(rows)] = np.inf
        # `length` values are up to the bound, so with the slack every true neighbour is among
        # these; exact distances then decide.
        which, rivals = np.nonzero(values <= _at_least_kth(values, length) + self._slack)
        rivals = self._rows[rivals]
        offsets = self._columns.take(rivals, axis=1) - records[:-1].take(which, axis=1)
        distances = squared_distances(offsets, np.zeros(len(offsets)))
        # Both sorts are stable, so equally near neighbours stay in row order.
        order = np.lexsort((distances, which))
        rank = np.arange(len(which)) - which.searchsorted(which)
        best = rank < length
        self._known[rows] = len(self._gone) - 1
        self._known[rows[which[best]], rank[best]] = rivals[order[best]]


def _at_least_kth(values: Matrix, count: int) -> Matrix:
    """Return, for each row, an upper bound on the `count`-th smallest value, seldom far off."""
    stripes = 8 * count
    depth = values.shape[1] // stripes
    if depth > 1:
        # So many different stripes hold a value as small as the count-th smallest minimum.
        minima = values[:, : depth * stripes].reshape(len(values), depth, stripes).min(axis=1)
        bound: Matrix = np.partition(minima, count - 1, axis=1)[:, count - 1 : count]
        if bound.max() < np.inf:
            return bound
    kth: Matrix = np.partition(values, count - 1, axis=1)[:, count - 1 : count]
    return kth
