"""Records in boxes of neighbours, searched for those nearest to many of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import rounding_slack
from polars_microagg.kernels.neighbour_blocks import equal_blocks

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["BoxIndex", "Near"]

WIDTH = 128
"""Most records in a box."""

CLOSE = 8
"""Boxes about a record that bound how far its neighbours can be."""

CELLS = 1 << 19
"""Values looked at together, so that they stay in the cache."""


@dataclass(slots=True)
class Near:
    """Records near some others, nearest first.

    Attributes
    ----------
    rows : array of shape (m,)
        Neighbours of all of them, each list starting with the record itself.
    starts : array of shape (q,)
        Where each list starts.
    certain : array of shape (q,)
        Where the part of it ends that leaves out no record nearer than its last one.
    """

    rows: Labels
    starts: Labels
    certain: Labels


class BoxIndex:
    """Records cut into boxes of equal size, some of which are gone.

    Parameters
    ----------
    records : array of shape (d + 1, n)
        Centred records, one a column, and below each its squared norm.
    rows : array of shape (m,)
        Those that are cut into boxes.

    Attributes
    ----------
    rows : array of shape (b, w)
        Rows in each box; some repeat to fill it, and are gone from the start.
    table : array of shape (b, d + 1, w)
        The records themselves; the norm of one that is gone is infinite.
    middle, half : array of shape (b, d)
        Middle of each box, and half its extent along each column.
    """

    def __init__(self, records: Matrix, rows: Labels) -> None:
        self._records = records
        m = len(rows)
        count = 1 << ((m - 1) // WIDTH).bit_length()
        width = -(-m // count)
        filled = np.resize(rows, count * width)
        cut = equal_blocks(records[:-1].take(filled, axis=1).T, count)
        self.rows = filled[cut]
        self.table = np.ascontiguousarray(records.take(self.rows, axis=1).transpose(1, 0, 2))
        low, high = self.table[:, :-1].min(axis=2), self.table[:, :-1].max(axis=2)
        self.middle, self.half = (low + high) / 2, (high - low) / 2
        offsets = self.table[:, :-1] - self.middle[:, :, None]
        radius = np.einsum("bdm,bdm->bm", offsets, offsets).max(axis=1) ** 0.5
        self._norms = np.einsum("bd,bd->b", self.middle, self.middle)
        self._balls = np.vstack((self.middle.T, self._norms - radius**2, radius))
        self._place = np.empty(records.shape[1], dtype=np.intp)
        real = cut < m
        self._place[self.rows[real]] = real.ravel().nonzero()[0]
        self.table[:, -1][~real] = np.inf
        self._farthest = records[:-1, rows[records[-1].take(rows).argmax()]]
        self._largest = float(records[-1].take(rows).max())
        self._close = self._neighbours(min(CLOSE, count))

    def __len__(self) -> int:
        """Count the boxes."""
        return len(self.table)

    @property
    def slack(self) -> float:
        """Greatest difference of values, from any of the records, that does not decide."""
        return rounding_slack(self._largest, self._farthest)

    @property
    def margin(self) -> float:
        """Greatest rounding error of a bound on the squared distance to a box."""
        return 4 * (len(self._farthest) + 1) * self.slack

    def remove(self, rows: Labels) -> None:
        """Pass over these records from now on."""
        box, slot = np.divmod(self._place.take(rows), self.table.shape[2])
        self.table[box, -1, slot] = np.inf

    def measure(self, point: Vector, boxes: Labels | slice = slice(None)) -> Matrix:
        """Measure the records in some boxes from a point.

        Returns
        -------
        array of shape (b, w)
            Squared distances less that of the point from zero, not quite exact; -inf where a
            record is gone.
        """
        values: Matrix = np.matmul(np.append(-2.0 * point, 1.0), self.table[boxes])
        values[values == np.inf] = -np.inf
        return values

    def near(self, rows: Labels, count: int) -> Near:
        """Find the `count` records, or a few more, nearest to each of some that are left."""
        points = self._records.take(rows, axis=1)
        points, norms = points[:-1], points[-1]
        weights = np.ones((len(rows), len(points) + 1))
        np.multiply(points.T, -2.0, out=weights[:, :-1])
        last = self._bound(rows, weights, count)
        limit = last + self.slack
        pairs = self._within(points, norms, limit + norms + self.margin)
        of, found, values = self._hits(*pairs, weights, limit)
        distances = np.zeros(len(of))
        for column, point in zip(self._records, points, strict=False):
            difference = column.take(found) - point.take(of)
            difference *= difference
            distances += difference
        distances[found == rows.take(of)] = -1.0
        order = np.lexsort((found, distances, of))
        of = of[order]
        ends = of.searchsorted(np.arange(len(rows)), side="right")
        unsure = (values[order] > last[of]).nonzero()[0]
        certain = ends.copy()
        np.minimum.at(certain, of[unsure], unsure)
        return Near(found[order], np.append(0, ends[:-1]), certain)

    def _bound(self, rows: Labels, weights: Matrix, count: int) -> Vector:
        """Find a value for each record that `count` others do not exceed, from boxes about it."""
        chosen = self._close[self._place.take(rows) // self.table.shape[2]]
        values = np.matmul(weights[:, None, None, :], self.table[chosen]).reshape(len(rows), -1)
        if values.shape[1] < count:
            last = np.full(len(rows), np.inf)
        else:
            last = np.partition(values, count - 1, axis=1)[:, count - 1]
        for i in (last == np.inf).nonzero()[0].tolist():
            last[i] = self._wider_bound(weights[i], count)
        return last

    def _wider_bound(self, weights: Vector, count: int) -> float:
        """Do the same for one record from more and more boxes."""
        distances = weights[:-1] @ self.middle.T + self._norms
        size = CLOSE
        while True:
            size = min(8 * size, len(self))
            chosen = np.argpartition(distances, size - 1)[:size]
            values = np.matmul(weights, self.table[chosen]).ravel()
            values = values[values < np.inf]
            if len(values) >= count:
                return float(np.partition(values, count - 1)[count - 1])
            if size == len(self):
                return float(values.max())

    def _within(self, points: Matrix, norms: Vector, limit: Vector) -> tuple[Labels, Labels]:
        """Find the boxes that may hold a record within a squared distance of each point."""
        weights = np.vstack((-2.0 * points, np.ones(len(norms)), -2.0 * limit**0.5)).T
        of, box = (weights @ self._balls <= (limit - norms)[:, None]).nonzero()
        away = np.abs(points.T[of] - self.middle[box])
        away -= self.half[box]
        np.maximum(away, 0.0, out=away)
        inside = (np.einsum("pd,pd->p", away, away) <= limit[of]).nonzero()[0]
        return of[inside], box[inside]

    def _hits(
        self, of: Labels, box: Labels, weights: Matrix, limit: Vector
    ) -> tuple[Labels, Labels, Vector]:
        """Find the records in pairs of a point and a box whose values are within the limit."""
        step = max(1, CELLS // self.table[0].size)
        parts = []
        for first in range(0, len(of), step):
            point, here = of[first : first + step], box[first : first + step]
            values = np.matmul(weights[point][:, None, :], self.table[here])[:, 0]
            pair, slot = (values <= limit[point][:, None]).nonzero()
            parts.append((point[pair], self.rows[here[pair], slot], values[pair, slot]))
        if len(parts) == 1:
            return parts[0]
        points, rows, found = zip(*parts, strict=True)
        return np.concatenate(points), np.concatenate(rows), np.concatenate(found)

    def _neighbours(self, count: int) -> Labels:
        """Boxes with the nearest middles to each box, itself among them."""
        near = np.empty((len(self), count), dtype=np.intp)
        step = max(1, CELLS // len(self))
        for first in range(0, len(self), step):
            part = slice(first, first + step)
            distances = self._norms - 2.0 * (self.middle[part] @ self.middle.T)
            near[part] = np.argpartition(distances, count - 1, axis=1)[:, :count]
        return near
