"""The two records most distant from each other, while records are removed."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.distance import rounding_slack, squared_distances
from polars_microagg.kernels.equal_records import distinct
from polars_microagg.kernels.point_search import with_norms

__all__ = ["MostDistant"]

BATCH = 8
"""Places measured together; the number doubles each time that was not enough."""

CELLS = 1 << 21
"""Most distances handled at a time."""

SHARE = 8
"""The table is rewritten once one place in this many is empty."""


class MostDistant:
    """Bounds on how far from each record any other one can be, while records are removed.

    Built from centred (d, n) columns. Equal records share a place.
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
        """Return, of all remaining rows, those at either end of the greatest distance.

        There are more than two where several pairs are as distant or records are equal.
        """
        # No record is farther away than the way through the origin to the outermost one.
        outermost = self._radius.max(initial=0.0, where=self._count > 0)
        through = (self._radius + outermost) ** 2 + self._slack
        np.minimum(self._bound, through, out=self._bound)
        batch = BATCH
        while True:
            # The greatest distance from a place only falls while records are removed, so once
            # measured it remains a bound; it is exact as long as the other end remains.
            known = (self._farthest >= 0) & (self._count[self._farthest] > 0)
            greatest = self._bound.max(initial=0.0, where=known)
            # Only places whose bound reaches the greatest exact distance can change the answer.
            unsure = np.flatnonzero(~known & (self._bound >= greatest))
            if not len(unsure):
                ends = known & (self._bound == greatest)
                at_ends: Labels = rows[ends[self._place[rows]]]
                return at_ends
            batch = max(1, min(batch, CELLS // len(self._filled)))
            if len(unsure) > batch:
                # The largest bounds first: they raise the greatest distance most, and spare the
                # others.
                likely = np.argpartition(-self._bound[unsure], batch)[:batch]
                unsure = unsure[likely]
                batch *= 2
            self._measure(unsure)

    def _tabulate(self) -> None:
        """Rewrite the table with the places that hold records."""
        self._filled = np.flatnonzero(self._count)
        self._table = self._records.take(self._filled, axis=1)

    def _measure(self, places: Labels) -> None:
        """Find the greatest distance from each of these places, and a place that far away."""
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
