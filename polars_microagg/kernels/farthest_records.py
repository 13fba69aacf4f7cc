"""The records farthest from a point that stays, or from a centroid that moves slowly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import coordinates, squared_distances

if TYPE_CHECKING:
    import numpy.typing as npt

    from polars_microagg.core.partition import Labels, Matrix, Vector
    from polars_microagg.kernels.distance import Point
    from polars_microagg.kernels.remaining_records import RemainingRecords

__all__ = ["FarthestFirst", "FarthestQueue"]

HEAD = 64
"""Farthest records that are checked at a time."""

_EPSILON = float(np.finfo(np.float64).eps)


class FarthestQueue:
    """Records that were farthest from a centroid, and a bound on the distance of all others.

    `columns` (d, m) are the queued records in row order, `rows` (m,) their rows; `reach` bounds the
    distance of every other record, -inf if there is none.
    """

    __slots__ = ("_centroid", "_columns", "_reach", "_rounding", "_rows")

    def __init__(self, columns: Matrix, rows: Labels, centroid: Point, reach: float) -> None:
        self._columns = columns
        self._rows = rows
        self._centroid = coordinates(centroid)
        self._reach = reach
        # A distance in d columns is off by a relative (d + 2) / 4 eps, in either direction.
        self._rounding = 1 + (len(columns) + 8) * _EPSILON

    def farthest(self, centroid: Point, taken: npt.NDArray[np.bool_]) -> tuple[int, bool]:
        """Return the queued row farthest from a centroid, and whether it beats all others."""
        distances = squared_distances(self._columns, centroid)
        distances[taken.take(self._rows)] = -1.0
        # Rows ascend, so argmax takes the lowest of equally far records.
        best = distances.argmax()
        farthest = max(float(distances[best]), 0.0) ** 0.5
        # Triangle inequality: a record that was within `reach` of the old centroid is within
        # `reach` plus the way the centroid has moved. A queued record beyond that, with room for
        # rounding, is the farthest of all.
        step = coordinates(centroid) - self._centroid
        others = self._reach + float(step @ step) ** 0.5
        return int(self._rows[best]), farthest > others * self._rounding


class FarthestFirst:
    """The remaining records, sorted once by their (n,) distances from a fixed point.

    >>> import numpy as np
    >>> from polars_microagg.kernels.remaining_records import RemainingRecords
    >>> x = np.array([[1.0], [5.0], [9.0], [0.0]])
    >>> remaining = RemainingRecords(x)
    >>> farthest = FarthestFirst(remaining, x[:, 0])
    >>> farthest.row()
    2
    >>> remaining.remove(np.array([2, 3]))
    >>> farthest.row()
    1
    """

    def __init__(self, remaining: RemainingRecords, distances: Vector) -> None:
        self._remaining = remaining
        self._order = (-distances).argsort(kind="stable")

    def row(self) -> int:
        """Return the row of the remaining record farthest from the point, the lowest of equals."""
        # Records never come back, so a head without any remaining record can be dropped for good.
        while not len(left := self._remaining.among(self._order[:HEAD])):
            self._order = self._order[HEAD:]
        return int(left[0])
