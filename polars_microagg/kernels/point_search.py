"""A table of records, searched for those nearest to and farthest from a point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import coordinates, rounding_slack, squared_distances
from polars_microagg.kernels.smallest import at_least_kth, first_smallest

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Matrix, Vector
    from polars_microagg.kernels.distance import Point

__all__ = ["PointTable", "with_norms"]

DIRECT = 512
"""Up to this many records, all distances are computed directly."""

HEAD = 256
"""If there are more than eight times this many candidates, this many are first tested for equality
with the point."""


def with_norms(columns: Matrix) -> Matrix:
    """Return the (d, m) columns with the squared norms of the records as a last row."""
    norms = squared_distances(columns, np.zeros(len(columns)))
    return np.concatenate((columns, norms[None]))


class PointTable:
    """A table of records in row order, some of which are gone.

    Built from the (d + 1, m) result of `with_norms`. Positions are decided by `squared_distances`,
    the first of equals wins; in a large table a matrix product narrows down the positions to be
    compared.
    """

    __slots__ = ("_columns", "_gone", "_largest", "_product", "_size", "_weights")

    def __init__(self, columns: Matrix) -> None:
        self._columns = columns[:-1]
        self._product = columns
        self._size = int(columns.shape[1])
        self._weights = np.ones(len(columns))
        self._gone = np.empty(0, dtype=np.intp)
        self._largest = float(columns[-1].max(initial=0.0))

    def __len__(self) -> int:
        """Count the records, gone or not."""
        return self._size

    @property
    def direct(self) -> bool:
        """Return whether the table is so small that all distances are computed directly."""
        return self._size <= DIRECT

    @property
    def gone(self) -> int:
        """Number of records that are gone."""
        return len(self._gone)

    def remove(self, positions: Labels) -> None:
        """Pass over these records from now on."""
        self._gone = np.concatenate((self._gone, positions))

    def measure(self, point: Point) -> tuple[Vector, float]:
        """Return values that rank the records by distance from a point, and their slack.

        With slack 0 the values are exact squared distances. Else they lack |point|^2 and may be
        off: a difference up to the slack does not decide. The other methods write infinities where
        a record is gone.
        """
        if self._size <= DIRECT:
            return squared_distances(self._columns, point), 0.0
        point = coordinates(point)
        np.multiply(point, -2.0, out=self._weights[:-1])
        return self._weights @ self._product, rounding_slack(self._largest, point)

    def farthest(self, point: Point, values: Vector, slack: float) -> int:
        """Return the position farthest from the point that the values were measured from."""
        values[self._gone] = -np.inf
        best = values.argmax()
        if slack:
            # Every record that rounding may have put behind the best one; exact distances decide.
            candidates = (values >= values[best] - slack).nonzero()[0]
            if len(candidates) > 1:
                best = candidates[self._distances(candidates, point).argmax()]
        return int(best)

    def nearest(
        self, point: Point, values: Vector, slack: float, count: int, own: int = -1
    ) -> Labels:
        """Return the positions, ascending, of the `count` nearest to the point measured from.

        At least `count` records must be left. The record at position `own` lies on the point and
        comes before its equals in lower rows.
        """
        values[self._gone] = np.inf
        if not slack:
            return _choose(values, count, own)
        # At least `count` values are up to the bound, so each true neighbour is up to the bound
        # plus the slack: none is lost.
        candidates = (values <= at_least_kth(values, count) + slack).nonzero()[0]
        if len(candidates) == count:
            return candidates
        candidates = self._shorten(candidates, point, count, own)
        own = int(candidates.searchsorted(own)) if own >= 0 else own
        return candidates[_choose(self._distances(candidates, point), count, own)]

    def far(self, point: Vector, size: int) -> tuple[Labels, Matrix, float]:
        """Return positions and columns of the `size` farthest records, and a bound on others."""
        values, slack = self.measure(point)
        values[self._gone] = -np.inf
        last = np.partition(values, len(values) - size)[len(values) - size]
        # Records that rounding cannot tell from the last one are all taken, so the bound holds for
        # the rest.
        positions = (values >= last - slack).nonzero()[0]
        values[positions] = -np.inf
        next_value = float(values.max())
        squared = max(next_value + float(point @ point) + slack, 0.0)
        reach = -np.inf if next_value == -np.inf else squared**0.5
        return positions, self._columns.take(positions, axis=1), reach

    def _distances(self, positions: Labels, point: Point) -> Vector:
        return squared_distances(self._columns.take(positions, axis=1), point)

    def _shorten(self, candidates: Labels, point: Point, count: int, own: int) -> Labels:
        """Drop the later candidates if enough of the first ones lie on the point itself."""
        head = candidates[: HEAD + count]
        if len(candidates) <= 8 * HEAD or own > head[-1]:
            return candidates
        # `count` records at distance 0 in the lowest rows: no later candidate can come before them.
        enough = np.count_nonzero(self._distances(head, point) == 0) >= count
        return head if enough else candidates


def _choose(distances: Vector, count: int, own: int) -> Labels:
    if own >= 0:
        distances[own] = -1.0
    chosen = first_smallest(distances, count)
    if own >= 0:
        distances[own] = 0.0
    return chosen
