"""Records that groups take away one after the other, and the mean of those left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import centred, mean_of, total
from polars_microagg.kernels.point_search import with_norms
from polars_microagg.kernels.whole_numbers import is_whole

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Matrix, Vector
    from polars_microagg.kernels.distance import Point

__all__ = ["RemainingMean"]


class RemainingMean:
    """Records centred once, a mark on each that is gone, and the mean of the others.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances, n >= 1 and d >= 1; not modified.

    Attributes
    ----------
    records : array of shape (d + 1, n)
        The records `centred`, one a column, and their squared norms below.
    columns : array of shape (d, n)
        The same without the norms.
    whole : bool
        Whether they are whole numbers, so that means of them are kept as sums.
    taken : array of shape (n,)
        By row, whether the record is gone.
    """

    def __init__(self, x: Matrix) -> None:
        self.records = with_norms(centred(x))
        self.columns = self.records[:-1]
        self.whole = is_whole(self.columns)
        self.taken = np.zeros(len(x), dtype=np.bool_)
        self._left = self._summed = len(x)
        self._sum: Vector = total(self.columns)

    def __len__(self) -> int:
        """Count the records that are left."""
        return self._left

    @property
    def rows(self) -> Labels:
        """Rows of the records that are left, ascending."""
        return (~self.taken).nonzero()[0]

    def mean(self) -> Point:
        """Mean of the records that are left.

        Notes
        -----
        A running sum, less each group removed, is divided by the number of records. The sum is
        taken afresh, in row order, when half of its records have gone, so that rounding errors
        cannot build up.
        """
        if 2 * self._left <= self._summed:
            self._restart_sum()
        return mean_of(self._sum, self._left, whole=self.whole)

    def remove(self, rows: Labels, sums: Vector | None = None) -> None:
        """Remove records that are left, whose `total` may be known already."""
        self.taken[rows] = True
        # A mean keeps the sum it was made of, so that is not changed in place.
        gone = total(self.columns.take(rows, axis=1)) if sums is None else sums
        self._sum = self._sum - gone
        self._left -= len(rows)

    def _restart_sum(self) -> None:
        self._summed = self._left
        self._sum = total(self.columns.compress(~self.taken, axis=1))
