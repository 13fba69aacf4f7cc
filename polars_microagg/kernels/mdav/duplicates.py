"""Rounds of MDAV on few distinct records: a search measures each of them once."""

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
"""Distinct records are used when there are at least this many records for each."""

MOST = 1 << 15
"""Most distinct records; with more, other searches are faster."""

_APART = 1e-150
"""Values closer than this have a squared difference that may be rounded to zero."""


class DistinctRecords:
    """The distinct records, each with the rows of its equals in ascending order.

    `first` (g,) is a row of each distinct record, `labels` (n,) the distinct record of each row.
    """

    def __init__(self, left: RemainingMean, k: int, first: Labels, labels: Labels) -> None:
        self._left, self._k = left, k
        self._order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
        # Equal distances go to the lowest row, so the rows of one distinct record leave in
        # ascending order: a start that moves and a fixed end describe what is left of each.
        self._end = np.cumsum(sizes)
        self._at = self._end - sizes
        self._number = labels
        self._table: Matrix = left.records.take(first, axis=1)
        self._largest = float(self._table[-1].max())

    @classmethod
    def of(cls, left: RemainingMean, k: int) -> DistinctRecords | None:
        """Group the rows by distinct record; return None if that does not pay."""
        first, labels = distinct(left.columns.T)
        if len(first) > min(len(left) // SHARE, MOST):
            return None
        # `_take` counts equals as the nearest without measuring. That is wrong if a different
        # record lies so close that the square of the difference underflows to 0.
        for column in left.columns.take(first, axis=1):
            apart = np.diff(np.sort(column))
            if len(apart[apart > 0]) and apart[apart > 0].min() < _APART:
                return None
        return cls(left, k, first, labels)

    def round(self) -> tuple[Labels, Labels]:
        """Remove the groups of the outermost record r and of s opposite; return their rows."""
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
        numbers = (values >= values.max() - slack).nonzero()[0]
        # Several within the slack: exact distances decide, then the lowest remaining row.
        if len(numbers) > 1:
            distances = squared_distances(self._table[:-1].take(numbers, axis=1), point)
            numbers = numbers[distances == distances.max()]
        return int(self._order[self._at[numbers]].min())

    def _take(self, row: int) -> Labels:
        """Remove the first row of a distinct record and the k - 1 nearest; return these rows."""
        number = int(self._number[row])
        start = int(self._at[number])
        # k equals at distance 0: they are the nearest, and the lowest rows come first.
        if self._end[number] - start >= self._k:
            rows = self._order[start : start + self._k]
            numbers = np.array([number])
            self._at[number] += self._k
        else:
            rows = self._nearest(self._left.columns[:, row])
            numbers = self._number[rows]
            np.add.at(self._at, numbers, 1)
        self._table[-1, numbers[self._at[numbers] == self._end[numbers]]] = np.inf
        self._left.remove(rows)
        return rows

    def _nearest(self, point: Vector) -> Labels:
        """Return the rows, ascending, of the k nearest to a point with fewer than k equals."""
        values, slack = self._measure(point)
        count = min(self._k, int(np.count_nonzero(values < np.inf)))
        # A bound that `count` values do not exceed, plus the slack, keeps every true neighbour.
        numbers = (values <= at_least_kth(values, count) + slack).nonzero()[0]
        numbers = numbers[values[numbers] < np.inf]
        distances = squared_distances(self._table[:-1].take(numbers, axis=1), point)
        # No more than equals can be among the k nearest.
        rows = [
            self._order[self._at[p] : min(self._end[p], self._at[p] + self._k)] for p in numbers
        ]
        candidates = np.concatenate(rows)
        distances = distances.repeat([len(part) for part in rows])
        return np.sort(candidates[np.lexsort((candidates, distances))[: self._k]])
