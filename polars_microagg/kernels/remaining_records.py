"""The records that are in no group yet, with exact nearest and farthest searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import coordinates, mean_of, total
from polars_microagg.kernels.farthest_records import FarthestQueue
from polars_microagg.kernels.point_search import PointTable
from polars_microagg.kernels.remaining_mean import RemainingMean

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Matrix, Vector
    from polars_microagg.kernels.distance import Point

__all__ = ["RemainingRecords", "greedy_group"]

SHARE = 16
"""The table is rewritten once one record in this many has gone from it."""


class RemainingRecords:
    """A shrinking set of records with its mean and its nearest and farthest records.

    Built from a finite, scaled (n, d) matrix or from a `RemainingMean`, whose remaining records are
    then searched. Points are in the coordinates of `columns` (d, n), the centred records. Choices
    are made on `squared_distances`, and equal distances go to the lowest row. A matrix product only
    narrows down which records need comparing.
    """

    def __init__(self, x: Matrix | RemainingMean) -> None:
        self._left = x if isinstance(x, RemainingMean) else RemainingMean(x)
        self.columns = self._left.columns
        self._taken = self._left.taken
        self._position = np.arange(len(self._taken))
        self._measured: tuple[int, Vector, float] | None = None
        self._queue: FarthestQueue | None = None
        self._rewrite()

    def __len__(self) -> int:
        """Count the records."""
        return len(self._left)

    def __contains__(self, row: int) -> bool:
        """Return whether a record remains."""
        return not self._taken[row]

    @property
    def rows(self) -> Labels:
        """Rows of the remaining records, ascending."""
        return self.among(self._rows)

    def among(self, rows: Labels) -> Labels:
        """Return those of these rows that remain, in the same order."""
        return rows[~self._taken.take(rows)]

    def mean(self) -> Point:
        """Return the mean of the remaining records; see `RemainingMean.mean`."""
        return self._left.mean()

    def mean_of(self, rows: Labels) -> Point:
        """Return the mean of records, which may be gone."""
        sums = total(self.columns.take(rows, axis=1))
        return mean_of(sums, len(rows), whole=self._left.whole)

    def farthest_from_mean(self) -> int:
        """Return the row of the record farthest from the mean of the remaining records."""
        mean = self.mean()
        if self._table.direct:
            return self.farthest_from_point(mean)
        # The mean moves little in a round. While the queue proves that its farthest record beats
        # every record outside it, no other record is measured.
        if self._queue is not None:
            row, certain = self._queue.farthest(mean, self._taken)
            if certain:
                return row
        # 2 sqrt(n) records in the queue balance the cost of filling it and of searching it.
        size = min(int(2 * len(self._rows) ** 0.5), len(self))
        positions, columns, reach = self._table.far(coordinates(mean), size)
        self._queue = FarthestQueue(columns, self._rows[positions], mean, reach)
        return self._queue.farthest(mean, self._taken)[0]

    def farthest_from(self, row: int) -> int:
        """Return the row of the record farthest from a record, which may itself be gone."""
        values, slack = self._measure(row)
        return int(self._rows[self._table.farthest(self.columns[:, row], values, slack)])

    def farthest_from_point(self, point: Point) -> int:
        """Return the row of the record farthest from a point."""
        return int(self._rows[self._table.farthest(point, *self._table.measure(point))])

    def nearest(self, row: int, count: int) -> Labels:
        """Return the rows, ascending, of a remaining record and the `count` - 1 nearest to it."""
        if count >= len(self):
            return self.rows
        point, own = self.columns[:, row], int(self._position[row])
        return self._rows[self._table.nearest(point, *self._measure(row), count, own)]

    def nearest_to_point(self, point: Point, count: int) -> Labels:
        """Return the rows, ascending, of the `count` records nearest to a point."""
        if count >= len(self):
            return self.rows
        return self._rows[self._table.nearest(point, *self._table.measure(point), count)]

    def take(self, row: int, count: int) -> Labels:
        """Remove a record and the `count` - 1 nearest to it; return their rows, ascending."""
        rows = self.nearest(row, count)
        self.remove(rows)
        return rows

    def remove(self, rows: Labels) -> None:
        """Remove one or more remaining records."""
        self._left.remove(rows)
        table = self._table
        table.remove(self._position.take(rows))
        if SHARE * table.gone >= len(table):
            self._rewrite()

    def _rewrite(self) -> None:
        """Rewrite the table with the remaining records."""
        self._rows = self._left.rows
        self._position[self._rows] = np.arange(len(self._rows))
        self._table = PointTable(self._left.records.take(self._rows, axis=1))
        self._measured = None

    def _measure(self, row: int) -> tuple[Vector, float]:
        """Return the values measured from a record.

        They are kept until another is measured, as MDAV measures r twice.
        """
        if self._measured is None or self._measured[0] != row:
            self._measured = row, *self._table.measure(self.columns[:, row])
        return self._measured[1:]


def greedy_group(remaining: RemainingRecords, row: int, count: int, spared: int = -1) -> Labels:
    """Remove a record, then `count` - 1 times the one nearest to the mean of those removed.

    Returns the (count,) rows in the order of joining. The record `spared` is left out; at least
    `count` others must remain.

    >>> greedy_group(RemainingRecords(np.array([[0.0], [4.0], [5.0], [8.5], [2.0]])), 1, 4)
    array([1, 2, 4, 0])
    """
    rows = np.array([row], dtype=np.intp)
    while True:
        remaining.remove(rows[-1:])
        if len(rows) == count:
            return rows
        mean = remaining.mean_of(rows)
        nearest = remaining.nearest_to_point(mean, 1)
        if nearest[0] == spared:
            nearest = remaining.nearest_to_point(mean, 2)
            nearest = nearest[nearest != spared]
        rows = np.append(rows, nearest)
