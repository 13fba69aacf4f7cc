"""Remaining records by their distance from a point that stays where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_microagg.kernels.distance import squared_distances

if TYPE_CHECKING:
    from polars_microagg.kernels.remaining import Remaining
    from polars_microagg.partition import Vector

__all__ = ["FarFirst"]

HEAD = 64
"""So many of the farthest are looked at together."""


class FarFirst:
    """The records of a shrinking set, sorted once by their distance from a point.

    Parameters
    ----------
    remaining : Remaining
        The set of records.
    point : array of shape (d,)
        The point, in the coordinates of ``remaining.columns``.

    Examples
    --------
    >>> import numpy as np
    >>> from polars_microagg.kernels.remaining import Remaining
    >>> remaining = Remaining(np.array([[1.0], [5.0], [9.0], [0.0]]))
    >>> far_first = FarFirst(remaining, remaining.columns[:, 3])
    >>> far_first.row()
    2
    >>> remaining.remove(np.array([2, 3]))
    >>> far_first.row()
    1
    """

    def __init__(self, remaining: Remaining, point: Vector) -> None:
        self._remaining = remaining
        self._order = (-squared_distances(remaining.columns, point)).argsort(kind="stable")

    def row(self) -> int:
        """Row of the remaining record farthest from the point, of equally far ones the lowest."""
        while not len(left := self._remaining.among(self._order[:HEAD])):
            self._order = self._order[HEAD:]
        return int(left[0])
