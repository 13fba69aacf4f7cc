"""Remaining records by their distance from a point that stays where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polars_microagg.core.partition import Vector
    from polars_microagg.kernels.remaining_records import RemainingRecords

__all__ = ["FarthestFirst"]

HEAD = 64
"""So many of the farthest are looked at together."""


class FarthestFirst:
    """The records of a shrinking set, sorted once by their distance from a point.

    Parameters
    ----------
    remaining : Remaining
        The set of records.
    distances : array of shape (n,)
        Distance of each record from the point, squared or not.

    Examples
    --------
    >>> import numpy as np
    >>> from polars_microagg.kernels.remaining_records import Remaining
    >>> x = np.array([[1.0], [5.0], [9.0], [0.0]])
    >>> remaining = Remaining(x)
    >>> far_first = FarFirst(remaining, x[:, 0])
    >>> far_first.row()
    2
    >>> remaining.remove(np.array([2, 3]))
    >>> far_first.row()
    1
    """

    def __init__(self, remaining: RemainingRecords, distances: Vector) -> None:
        self._remaining = remaining
        self._order = (-distances).argsort(kind="stable")

    def row(self) -> int:
        """Row of the remaining record farthest from the point, of equally far ones the lowest."""
        while not len(left := self._remaining.among(self._order[:HEAD])):
            self._order = self._order[HEAD:]
        return int(left[0])
