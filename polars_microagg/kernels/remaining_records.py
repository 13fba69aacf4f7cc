"""The records that no group has taken yet."""

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

__all__ = ["RemainingRecords"]

SHARE = 16
"""The table is rewritten once one record in so many has gone from it."""


class RemainingRecords:
    """A shrinking set of records that knows its mean and who is nearest and farthest.

    Records are near or far by `squared_distances` over the centred columns, however many there
    are, and equal distances go to the lowest row. A matrix product only narrows down which
    records need comparing.

    Parameters
    ----------
    x : array of shape (n, d), or Survivors
        One record a row, finite, scaled for distances, n >= 1 and d >= 1; not modified. Or
        records that are already centred, those left of which are searched.

    Attributes
    ----------
    columns : array of shape (d, n)
        All records `centred`, one a column. Points are given in these coordinates.
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
        """Tell whether a record is still there."""
        return not self._taken[row]

    @property
    def rows(self) -> Labels:
        """Rows of the records, ascending."""
        return self.among(self._rows)

    def among(self, rows: Labels) -> Labels:
        """Those of some rows whose records are still there, in the same order."""
        return rows[~self._taken.take(rows)]

    def mean(self) -> Point:
        """Mean of the records, see `Survivors.mean`."""
        return self._left.mean()

    def mean_of(self, rows: Labels) -> Point:
        """Mean of some records, which may be gone."""
        sums = total(self.columns.take(rows, axis=1))
        return mean_of(sums, len(rows), whole=self._left.whole)

    def farthest_from_mean(self) -> int:
        """Row of the record farthest from the mean of the records."""
        mean = self.mean()
        if self._table.direct:
            return self.farthest_from_point(mean)
        if self._queue is not None:
            row, certain = self._queue.farthest(mean, self._taken)
            if certain:
                return row
        size = min(int(2 * len(self._rows) ** 0.5), len(self))
        positions, columns, reach = self._table.far(coordinates(mean), size)
        self._queue = FarthestQueue(columns, self._rows[positions], mean, reach)
        return self._queue.farthest(mean, self._taken)[0]

    def farthest_from(self, row: int) -> int:
        """Row of the record farthest from a record, which may itself be gone."""
        values, slack = self._measure(row)
        return int(self._rows[self._table.farthest(self.columns[:, row], values, slack)])

    def farthest_from_point(self, point: Point) -> int:
        """Row of the record farthest from a point."""
        return int(self._rows[self._table.farthest(point, *self._table.measure(point))])

    def nearest(self, row: int, count: int) -> Labels:
        """Rows, ascending, of a record that is still there and the `count` - 1 nearest to it."""
        if count >= len(self):
            return self.rows
        point, own = self.columns[:, row], int(self._position[row])
        return self._rows[self._table.nearest(point, *self._measure(row), count, own)]

    def nearest_to_point(self, point: Point, count: int) -> Labels:
        """Rows, ascending, of the `count` records nearest to a point."""
        if count >= len(self):
            return self.rows
        return self._rows[self._table.nearest(point, *self._table.measure(point), count)]

    def take(self, row: int, count: int) -> Labels:
        """Remove a record and the `count` - 1 nearest to it; their rows, ascending."""
        rows = self.nearest(row, count)
        self.remove(rows)
        return rows

    def remove(self, rows: Labels) -> None:
        """Remove one or more records that are still there."""
        self._left.remove(rows)
        self._table.remove(self._position.take(rows))
        if SHARE * self._table.gone >= len(self._table):
            self._rewrite()

    def _rewrite(self) -> None:
        """Write the table anew with the records that are left."""
        self._rows = self._left.rows
        self._position[self._rows] = np.arange(len(self._rows))
        self._table = PointTable(self._left.records.take(self._rows, axis=1))
        self._measured = None

    def _measure(self, row: int) -> tuple[Vector, float]:
        """Measure from a record; twice in a row, as for r in MDAV, costs once."""
        if self._measured is None or self._measured[0] != row:
            self._measured = row, *self._table.measure(self.columns[:, row])
        return self._measured[1:]
