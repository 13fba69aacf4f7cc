"""Records that groups remove one after the other, and the mean of the remaining ones."""

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

    Built from a finite, scaled (n, d) matrix, which is not modified. `records` (d + 1, n) holds the
    centred records as columns with their squared norms below, `columns` (d, n) the same without the
    norms, `taken` (n,) marks removed rows, and `whole` says whether the records are whole numbers,
    whose means are kept as sums.
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
        """Rows of the remaining records, ascending."""
        return (~self.taken).nonzero()[0]

    def mean(self) -> Point:
        """Return the mean of the remaining records.

        Searches that take over from each other must ask at the start of every round, before its
        removals, and nowhere else: this may take the sum afresh, which can change the last bit of
        later means.
        """
        # A running sum less each group removed. It is taken afresh, in row order, when half of its
        # records have gone, so that rounding errors cannot build up. The moment depends on the
        # counts alone, so every search that keeps the rule above sees the same means.
        if 2 * self._left <= self._summed:
            self._restart_sum()
        return mean_of(self._sum, self._left, whole=self.whole)

    @property
    def sum(self) -> Vector:
        """The sum of the remaining records, as `mean` has it; not to be changed in place."""
        return self._sum

    @property
    def before_fresh(self) -> int:
        """Number of records that may go before `mean` takes the sum afresh, the last one excluded."""
        return max(0, (2 * self._left - self._summed - 1) // 2)

    def removed(self, rows: Labels, sums: Vector) -> None:
        """Remove records; `sums` is the sum of the others, less one group after the other."""
        self.taken[rows] = True
        self._sum = sums
        self._left -= rows.size

    def remove(self, rows: Labels, sums: Vector | None = None) -> None:
        """Remove records that remain; `sums` is their `total`, if it is known already."""
        self.taken[rows] = True
        # A mean keeps the sum it was made of, so that is not changed in place.
        gone = total(self.columns.take(rows, axis=1)) if sums is None else sums
        self._sum = self._sum - gone
        self._left -= len(rows)

    def _restart_sum(self) -> None:
        self._summed = self._left
        self._sum = total(self.columns.compress(~self.taken, axis=1))
