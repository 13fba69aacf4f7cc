"""Rounds of MDAV on all remaining records at once, most of them in single precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import mean_of, squared_distances
from polars_microagg.kernels.mdav.outer_queue import OuterQueue
from polars_microagg.kernels.mdav.single_table import SingleTable
from polars_microagg.kernels.point_search import PointTable
from polars_microagg.kernels.remaining_records import RemainingRecords
from polars_microagg.kernels.smallest import at_least_kth, first_smallest

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Vector
    from polars_microagg.kernels.distance import Point
    from polars_microagg.kernels.mdav.single_table import Singles
    from polars_microagg.kernels.remaining_mean import RemainingMean

__all__ = ["FullScan"]

SHARE, MORE = 6, 128
"""A table serves until this share of its records is gone, and this many more."""

RUN = 64
"""Most rounds at a time."""

FEW = 64
"""Up to this many records that the table cannot tell apart are compared by exact distance; with
more, all are measured in double precision."""

QUEUED = 1 << 15
"""A table with more values than this keeps a queue of the records that are farthest from the mean."""

GROW, SHRINK, CUT = 1.5, 0.98, 0.8
"""The reach of a search grows if it finds too few records, shrinks a little if not, and more if it
finds too many."""

TRUST = 8
"""If more than one in this many searches measured all records in double precision, the next tables
are in double precision, too."""

REST = 3
"""Number of tables until single precision is tried again."""


class FullScan:
    """Scan all remaining records; at least 3k must be left.

    Products in single precision narrow the records down; exact distances decide where these cannot,
    so the groups are those of exact distances. Where too much is left open, by ties or by scales,
    the records are searched in double precision, by `RemainingRecords`.
    """

    def __init__(self, left: RemainingMean, k: int) -> None:
        self.left, self._k = left, k
        # How far the k nearest were lately, about r and about s. It only decides what is looked at
        # first.
        self.reach = [0.0, 0.0]
        self._rest = self.searches = self._left_open = 0
        self.begin()

    @property
    def single(self) -> bool:
        """Return whether the present table is in single precision."""
        return self._double is None

    def groups(self) -> Labels:
        """Remove the groups of the next rounds, two of each; return their rows (g, k)."""
        if len(self.rows) - len(self.left) > len(self.rows) // SHARE + MORE:
            self.begin()
        if self._double is not None:
            return self._round_in_double(self._double)
        return self._rounds_in_single()

    def begin(self) -> None:
        """Write a table of what is left."""
        if TRUST * self._left_open > self.searches:
            self._rest = REST
        self.searches = self._left_open = 0
        self.rows = self.left.rows
        self._gone: list[Labels] = []
        self._points: PointTable | None = None
        self._queue: OuterQueue | None = None
        self._double: RemainingRecords | None = None
        if self._rest:
            self._rest -= 1
        else:
            self.table = SingleTable(self.left, self.rows)
            if self.table.useful:
                return
        self._double = RemainingRecords(self.left)

    def _round_in_double(self, remaining: RemainingRecords) -> Labels:
        k = self._k
        r = remaining.farthest_from_mean()
        s = remaining.farthest_from(r)
        first = remaining.take(r, k)
        # If the group of r took s, the seed of the second group is the remaining record farthest
        # from r, which is what s means after the removal.
        if s not in remaining:
            s = remaining.farthest_from(r)
        return np.stack((first, remaining.take(s, k)))

    def _rounds_in_single(self) -> Labels:
        left, k, table, rows = self.left, self._k, self.table, self.rows
        left.mean()
        # The sum of the remaining records is kept here, so no more rounds than `left.mean` would
        # go on with the same sum.
        size, sums = len(left), left.sum
        count = min(RUN, 1 + (size - 3 * k) // (2 * k), 1 + left.before_fresh // (2 * k))
        made = np.empty((count, 2, k), dtype=np.intp)
        # Rows ascend with positions in the table: the lowest position of equals is the lowest row.
        for pair in made:
            r = self._outermost(sums, size)
            values = table.measure(r, 0)
            s = self._farthest(values, r)
            first = self.nearest(values, r, 0)
            self.pass_over(first)
            if s in first.tolist():
                values[first] = 0.0
                s = self._farthest(values, r)
            values = table.measure(s, 1)
            values[first] = 0.0
            second = self.nearest(values, s, 1)
            self.pass_over(second)
            pair[0], pair[1] = first, second
            table.remove(pair)
            if self._queue is not None:
                self._queue.remove(pair)
            # As `total` of one group, then of the other.
            gone = left.columns.take(rows.take(pair), axis=1).cumsum(axis=2)
            sums = sums - gone[:, 0, -1]
            sums = sums - gone[:, 1, -1]
            size -= 2 * k
        self.searches += 3 * count
        groups = rows.take(made).reshape(-1, k)
        left.removed(groups, sums)
        return groups

    def _outermost(self, sums: Vector, size: int) -> int:
        """Return the position of the record farthest from the mean."""
        table = self.table
        weights = table.weigh(sums, size)
        if not table.spans(weights):
            return self.farthest_of_all(self.mean(sums, size))
        single = table.single(weights)
        if self._queue is not None:
            values, others = self._queue.measure(single, weights)
            best = int(values.argmax())
            limit = float(values[best]) - table.slack
            values[best] = -np.inf
            # Farther than all records that are not queued, and than all that are gone.
            beyond = limit > max(others + table.slack, 0.0)
            if beyond and values[values.argmax()] < limit:
                return int(self._queue.positions[best])
            if not beyond:
                self._queue = None
        values = table.measure_weighed(single)
        if self._queue is None and table.cells > QUEUED:
            self._queue = OuterQueue(table, weights, values, int(2 * len(self.rows) ** 0.5))
        best, limit = self._best(values)
        return best if best >= 0 else self.farthest_of(values, limit, self.mean(sums, size))

    def mean(self, sums: Vector, size: int) -> Point:
        """Return the mean of `size` records with these sums."""
        return mean_of(sums, size, whole=self.left.whole)

    def point(self, position: int) -> Vector:
        """Return the coordinates of a record."""
        point: Vector = self.left.columns[:, self.rows[position]]
        return point

    def _farthest(self, values: Singles, position: int) -> int:
        """Return the position of the record farthest from the one that values are measured from."""
        best, limit = self._best(values)
        return best if best >= 0 else self.farthest_of(values, limit, self.point(position))

    def _best(self, values: Singles) -> tuple[int, float]:
        """Return the position of the largest value, or -1 if others may be as far; and their limit."""
        best = int(values.argmax())
        top = values[best]
        limit = float(top) - self.table.slack
        values[best] = -np.inf
        second = values[values.argmax()]
        values[best] = top
        # Beyond 0, which is the value of every record that is gone.
        return (best if limit > max(second, 0.0) else -1), limit

    def farthest_of(self, values: Singles, limit: float, point: Point) -> int:
        """Compare the records with a value beyond the limit by exact distance."""
        if limit > 0.0:
            close = (values >= limit).nonzero()[0]
            if len(close) <= FEW:
                return int(close[self._distances(close, point).argmax()])
        return self.farthest_of_all(point)

    def farthest_of_all(self, point: Point) -> int:
        """Return the position of the record farthest from a point, in double precision."""
        points = self._in_double()
        return points.farthest(point, *points.measure(point))

    def nearest(self, values: Singles, position: int, side: int) -> Labels:
        """Return the positions, ascending, of the k records nearest to one, which comes first."""
        k, table, reach = self._k, self.table, self.reach[side]
        slack, norm = table.slack, table.norm(position)
        # What is gone has the value 0, so an answer must lie below.
        limit = min(reach - norm, -slack)
        close = (values <= limit).nonzero()[0]
        if len(close) > k:
            self.reach[side] = reach * (SHRINK if len(close) <= 8 * k else CUT)
        else:
            bound = at_least_kth(values, k) + 2 * slack
            self.reach[side] = max(GROW * reach, bound + norm)
            limit = min(bound, -slack)
            close = (values <= limit).nonzero()[0]
            if len(close) < k:
                return self._nearest_of_all(position)
        near = values.take(close)
        order = near.argsort()
        last = float(near[order[k - 1]])
        following = float(near[order[k]]) if len(close) > k else limit
        if following - last > slack:
            chosen: Labels = close.take(order[:k])
            chosen.sort()
            return chosen
        # Every record that rounding may have put behind the k-th; exact distances decide.
        limit, found = last + slack, limit
        if limit >= -slack:
            return self._nearest_of_all(position)
        close = close[near <= limit] if limit <= found else (values <= limit).nonzero()[0]
        if len(close) > FEW + 4 * k:
            return self._nearest_of_all(position)
        distances = self._distances(close, self.point(position))
        distances[close.searchsorted(position)] = -1.0
        return close.take(first_smallest(distances, k))

    def _nearest_of_all(self, position: int) -> Labels:
        points, point = self._in_double(), self.point(position)
        return points.nearest(point, *points.measure(point), self._k, position)

    def _distances(self, positions: Labels, point: Point) -> Vector:
        columns = self.left.columns.take(self.rows.take(positions), axis=1)
        return squared_distances(columns, point)

    def _in_double(self) -> PointTable:
        """Return the records in double precision, for what single precision leaves open."""
        self._left_open += 1
        if self._points is None:
            self._points = PointTable(self.left.records.take(self.rows, axis=1))
            self._points.remove(np.concatenate(self._gone or [np.empty(0, dtype=np.intp)]))
        return self._points

    def pass_over(self, positions: Labels) -> None:
        """Leave these records out where double precision decides."""
        self._gone.append(positions)
        if self._points is not None:
            self._points.remove(positions)
