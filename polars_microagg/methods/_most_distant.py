"""The two records most distant from each other, while records are removed."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.distance import rounding_slack, squared_distances
from polars_microagg.kernels.equal_records import distinct
from polars_microagg.kernels.point_search import with_norms

__all__ = ["MostDistant"]

BATCH = 8
"""So many places are looked at together, and twice as many each time that was not enough."""

CELLS = 1 << 21
"""Never more distances than this together."""

SHARE = 8
"""The table of places is rewritten once one in so many is empty."""


class MostDistant:
    """Knows how far from each record any other one can be at most.

    Records that are equal share a place. The greatest distance from a place only falls while
    records are removed, so once found it remains a bound. Only places whose bound reaches the
    greatest distance of all are looked at again, and few do.

    Parameters
    ----------
    columns : array of shape (d, n)
        One centred record a column.
    """

    def __init__(self, columns: Matrix) -> None:
        self._place = distinct(columns.T)[1]
        self._count = np.bincount(self._place)
        first = np.unique(self._place, return_index=True)[1]
        self._records = with_norms(columns.take(first, axis=1))
        norms = self._records[-1]
        self._slack = rounding_slack(float(norms.max()), self._records[:-1, norms.argmax()])
        self._radius = norms**0.5
        self._bound = np.full(len(norms), np.inf)
        self._farthest = np.full(len(norms), -1)
        self._tabulate()

    def remove(self, rows: Labels) -> None:
        """Remove records."""
        places = self._place[rows]
        np.subtract.at(self._count, places, 1)
        self._bound[places[self._count[places] == 0]] = -1.0
        if (SHARE - 1) * len(self._filled) >= SHARE * np.count_nonzero(self._count):
            self._tabulate()

    def ends(self, rows: Labels) -> Labels:
        """Of the rows of all remaining records, those at either end of the greatest distance.

        There are more than two where several pairs are as distant or records are equal.
        """
        # No record is farther away than the way through the origin to the outermost one.
        outermost = self._radius.max(initial=0.0, where=self._count > 0)
        through = (self._radius + outermost) ** 2 + self._slack
        np.minimum(self._bound, through, out=self._bound)
        batch = BATCH
        while True:
            known = (self._farthest >= 0) & (self._count[self._farthest] > 0)
            greatest = self._bound.max(initial=0.0, where=known)
            unsure = np.flatnonzero(~known & (self._bound >= greatest))
            if not len(unsure):
                ends = known & (self._bound == greatest)
                at_ends: Labels = rows[ends[self._place[rows]]]
                return at_ends
            batch = max(1, min(batch, CELLS // len(self._filled)))
            if len(unsure) > batch:
                likely = np.argpartition(-self._bound[unsure], batch)[:batch]
                unsure = unsure[likely]
                batch *= 2
            self._measure(unsure)

    def _tabulate(self) -> None:
        self._filled = np.flatnonzero(self._count)
        self._table = self._records.take(self._filled, axis=1)

    def _measure(self, places: Labels) -> None:
        """Find the greatest distance from some places, and a place that far away."""
        records = self._records.take(places, axis=1)
        weights = np.ones_like(records)
        np.multiply(records[:-1], -2.0, out=weights[:-1])
        values = weights.T @ self._table
        values[:, self._count[self._filled] == 0] = -np.inf
        which, far = np.nonzero(values >= values.max(axis=1, keepdims=True) - self._slack)
        far = self._filled[far]
        offsets = self._records[:-1].take(far, axis=1) - records[:-1].take(which, axis=1)
        distances = squared_distances(offsets, np.zeros(len(offsets)))
        order = np.lexsort((-distances, which))
        farthest = order[which.searchsorted(np.arange(len(places)))]
        self._bound[places] = distances[farthest]
        self._farthest[places] = far[farthest]
