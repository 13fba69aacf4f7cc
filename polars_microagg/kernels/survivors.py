"""Records that groups take away one after the other, and the mean of those left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import centred, total
from polars_microagg.kernels.search import with_norms

if TYPE_CHECKING:
    from polars_microagg.partition import Labels, Matrix, Vector

__all__ = ["Survivors"]


class Survivors:
    """Records centred once, a mark on each that is gone, and the mean of the others.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances, n >= 1 and d >= 1; not modified.

    Attributes
    ----------
    centre : array of shape (d,)
        The column means of `x`.
    records : array of shape (d + 1, n)
        All records less `centre`, one a column, and their squared norms below.
    columns : array of shape (d, n)
        The same without the norms.
    taken : array of shape (n,)
        By row, whether the record is gone.
    """

    def __init__(self, x: Matrix) -> None:
        columns, self.centre = centred(x)
        self.records = with_norms(columns)
        self.columns = self.records[:-1]
        self.taken = np.zeros(len(x), dtype=np.bool_)
        self._left = len(x)
        self._restart_sum()

    def __len__(self) -> int:
        """Count the records that are left."""
        return self._left

    @property
    def rows(self) -> Labels:
        """Rows of the records that are left, ascending."""
        return (~self.taken).nonzero()[0]

    def mean(self) -> Vector:
        """Mean of the records that are left.

        Notes
        -----
        A running sum, less each group removed, is divided by the number of records. The sum is
        taken afresh, in row order, when half of its records have gone, so that rounding errors
        cannot build up.
        """
        if 2 * self._left <= self._summed:
            self._restart_sum()
        return self._sum / self._left

    def remove(self, rows: Labels, sums: Vector | None = None) -> None:
        """Remove records that are left, whose `total` may be known already."""
        self.taken[rows] = True
        self._sum -= total(self.columns.take(rows, axis=1)) if sums is None else sums
        self._left -= len(rows)

    def _restart_sum(self) -> None:
        self._summed = self._left
        self._sum = total(self.columns.compress(~self.taken, axis=1))
