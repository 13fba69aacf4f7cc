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

SHARE, WIDE_SHARE = 4, 2
"""Distinct records are used when there are at least this many records for each; with many columns,
where a search costs what it measures and calls next to nothing, the latter."""

WIDE = 32
"""Least number of columns that are many."""

MOST = 1 << 15
"""Most distinct records; with more, other searches are faster."""

GONE = 0.25
"""Share of distinct records without rows left at which the table is written anew."""

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
        self._exhausted = 0
        self._measured: tuple[int, Vector, float] | None = None

    @classmethod
    def of(cls, left: RemainingMean, k: int) -> DistinctRecords | None:
        """Group the rows by distinct record; return None if that does not pay."""
        first, labels = distinct(left.columns.T)
        share = SHARE if len(left.columns) < WIDE else WIDE_SHARE
        if len(first) > min(len(left) // share, MOST):
            return None
        # `_take` counts equals as the nearest without measuring. That is wrong if a different
        # record lies so close that the square of the difference underflows to 0.
        for column in left.columns.take(first, axis=1):
            apart = np.diff(np.sort(column))
            if len(apart[apart > 0]) and apart[apart > 0].min() < _APART:
                return None
        return cls(left, k, first, labels)

    def groups(self) -> Labels:
        """Remove the groups of the outermost record r and of s opposite; return their rows (2, k)."""
        r = self._farthest(self._left.mean())
        s = self._farthest_from(r)
        first = self._take(r)
        if self._left.taken[s]:
            s = self._farthest_from(r)
        return np.array((first, self._take(s)))

    def _farthest_from(self, row: int) -> int:
        return self._farthest(self._left.columns[:, row], row)

    def _measure(self, point: Point, row: int = -1) -> tuple[Vector, float]:
        """Return what ranks the distinct records by distance; kept for the last record measured."""
        if self._measured is None or row < 0 or self._measured[0] != row:
            values, slack = self._from(point)
            if row < 0:
                return values, slack
            self._measured = row, values, slack
        values = self._measured[1].copy()
        # What has been used up since then counts no more.
        values[self._table[-1] == np.inf] = np.inf
        return values, self._measured[2]

    def _from(self, point: Point) -> tuple[Vector, float]:
        point = coordinates(point)
        values = np.append(-2.0 * point, 1.0) @ self._table
        return values, rounding_slack(self._largest, point)

    def _farthest(self, point: Point, row: int = -1) -> int:
        values, slack = self._measure(point, row)
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
            rows = self._nearest(self._left.columns[:, row], row)
            numbers = self._number[rows]
            np.add.at(self._at, numbers, 1)
        # Several rows may be of one distinct record.
        used = np.unique(numbers[self._at[numbers] == self._end[numbers]])
        self._table[-1, used] = np.inf
        self._exhausted += len(used)
        self._left.remove(rows)
        if self._exhausted > GONE * len(self._at):
            self._rewrite()
        return rows

    def _rewrite(self) -> None:
        """Leave out distinct records of which no row is left."""
        kept = np.flatnonzero(self._at < self._end)
        number = np.full(len(self._at), -1, dtype=np.intp)
        number[kept] = np.arange(len(kept))
        self._number = number[self._number]
        self._at, self._end = self._at[kept], self._end[kept]
        self._table = self._table.take(kept, axis=1)
        self._exhausted, self._measured = 0, None

    def _nearest(self, point: Vector, row: int) -> Labels:
        """Return the rows, ascending, of the k nearest to a record with fewer than k equals."""
        values, slack = self._measure(point, row)
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
