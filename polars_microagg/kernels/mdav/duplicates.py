"""Rounds of MDAV on few distinct records: a search looks at each of them once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import coordinates, rounding_slack, squared_distances
from polars_microagg.kernels.equal_records import distinct
from polars_microagg.kernels.smallest import at_least_kth

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Matrix, Vector
    from polars_microagg.kernels.distance import Point
    from polars_microagg.kernels.remaining_mean import RemainingMean

__all__ = ["DistinctRecords"]

SHARE = 4
"""It pays when the records are so many times as many as the places they are in."""

MOST = 1 << 15
"""Most places: with more, other ways of searching are quicker."""

_APART = 1e-150
"""Closer columns have a squared difference that may be rounded to nothing."""


class DistinctRecords:
    """The distinct records, and the equal ones in each place in row order.

    Equal distances go to the lowest row, so the records of a place leave it in row order, and
    the first k of a place are the group of its first one.

    Parameters
    ----------
    left : Survivors
        The records.
    k : int
        Group size.
    first : array of shape (g,)
        A row of each distinct record.
    labels : array of shape (n,)
        Place of each record.
    """

    def __init__(self, left: RemainingMean, k: int, first: Labels, labels: Labels) -> None:
        self._left, self._k = left, k
        self._order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
        self._end = np.cumsum(sizes)
        self._at = self._end - sizes
        self._place = labels
        self._table: Matrix = left.records.take(first, axis=1)
        self._largest = float(self._table[-1].max())

    @classmethod
    def of(cls, left: RemainingMean, k: int) -> DistinctRecords | None:
        """Lay the records out by place, or find that it does not pay."""
        first, labels = distinct(left.columns.T)
        if len(first) > min(len(left) // SHARE, MOST):
            return None
        for column in left.columns.take(first, axis=1):
            apart = np.diff(np.sort(column))
            if len(apart[apart > 0]) and apart[apart > 0].min() < _APART:
                return None
        return cls(left, k, first, labels)

    def round(self) -> tuple[Labels, Labels]:
        """Remove the group of the outermost record and that of the one opposite; their rows."""
        r = self._farthest(self._left.mean())
        point = self._left.columns[:, r]
        s = self._farthest(point)
        first = self._take(r)
        if self._left.taken[s]:
            s = self._farthest(point)
        return first, self._take(s)

    def _measure(self, point: Point) -> tuple[Vector, float]:
        point = coordinates(point)
        values = np.append(-2.0 * point, 1.0) @ self._table
        return values, rounding_slack(self._largest, point)

    def _farthest(self, point: Point) -> int:
        values, slack = self._measure(point)
        values[values == np.inf] = -np.inf
        places = (values >= values.max() - slack).nonzero()[0]
        if len(places) > 1:
            distances = squared_distances(self._table[:-1].take(places, axis=1), point)
            places = places[distances == distances.max()]
        return int(self._order[self._at[places]].min())

    def _take(self, row: int) -> Labels:
        """Remove a record, the first of its place, and the k - 1 nearest to it."""
        place = int(self._place[row])
        start = int(self._at[place])
        if self._end[place] - start >= self._k:
            rows = self._order[start : start + self._k]
            places = np.array([place])
            self._at[place] += self._k
        else:
            rows = self._nearest(self._left.columns[:, row])
            places = self._place[rows]
            np.add.at(self._at, places, 1)
        self._table[-1, places[self._at[places] == self._end[places]]] = np.inf
        self._left.remove(rows)
        return rows

    def _nearest(self, point: Vector) -> Labels:
        """Rows, ascending, of the k records nearest to a place with fewer."""
        values, slack = self._measure(point)
        count = min(self._k, int(np.count_nonzero(values < np.inf)))
        places = (values <= at_least_kth(values, count) + slack).nonzero()[0]
        places = places[values[places] < np.inf]
        distances = squared_distances(self._table[:-1].take(places, axis=1), point)
        # No more than k records of any place can be among the k nearest.
        rows = [self._order[self._at[p] : min(self._end[p], self._at[p] + self._k)] for p in places]
        found = np.concatenate(rows)
        distances = distances.repeat([len(part) for part in rows])
        return np.sort(found[np.lexsort((found, distances))[: self._k]])
