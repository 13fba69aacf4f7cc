"""The records farthest from a slowly moving centroid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import coordinates, squared_distances

if TYPE_CHECKING:
    import numpy.typing as npt

    from polars_microagg.core.partition import Labels, Matrix
    from polars_microagg.kernels.distance import Point

__all__ = ["FarthestQueue"]

_EPSILON = float(np.finfo(np.float64).eps)


class FarthestQueue:
    """Records that were farthest from a centroid, and how far from it all others are at most.

    By the triangle inequality no other record is farther from a new centroid than `reach` plus
    the way the centroid has moved. A queued record beyond that is the farthest of all.

    Parameters
    ----------
    columns : array of shape (d, m)
        The queued records, in row order.
    rows : array of shape (m,)
        Their rows.
    centroid : array of shape (d,), or Mean
        The centroid they were far from.
    reach : float
        Bound on the distance of every record that is not queued; -inf if there is none.
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
        """Find the queued record farthest from a centroid.

        Parameters
        ----------
        centroid : array of shape (d,), or Mean
            Where the centroid is now.
        taken : array of shape (n,)
            By row, whether the record is gone.

        Returns
        -------
        row : int
            Its row; of equally far records the lowest.
        certain : bool
            Whether it is certainly farther than every record that is not queued.
        """
        distances = squared_distances(self._columns, centroid)
        distances[taken.take(self._rows)] = -1.0
        best = distances.argmax()
        farthest = max(float(distances[best]), 0.0) ** 0.5
        step = coordinates(centroid) - self._centroid
        others = self._reach + float(step @ step) ** 0.5
        return int(self._rows[best]), farthest > others * self._rounding
