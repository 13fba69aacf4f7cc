"""An index of the records in boxes of neighbours, to search from many records at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import rounding_slack
from polars_microagg.kernels.neighbour_blocks import equal_blocks

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["BoxIndex", "BoxNeighbours"]

WIDTH = 128
"""Most records in a box."""

CLOSE = 8
"""Boxes about a record that bound how far its neighbours can be."""

CELLS = 1 << 19
"""Values handled at a time, so that they stay in the cache."""


@dataclass(slots=True)
class BoxNeighbours:
    """Lists of the records near several others, nearest first.

    `rows` (m,) holds the lists one after the other, each starting with the record itself; `starts`
    (q,) says where each begins, and `certain` (q,) where the part of it ends that no missing record
    could precede.
    """

    rows: Labels
    starts: Labels
    certain: Labels


class BoxIndex:
    """Boxes of equal numbers of neighbouring records, some of which are gone.

    Built from the (d + 1, n) matrix `records` of centred columns with their squared norms below,
    for the given `rows`. `rows` (b, w) lists the rows of each box, where repeats fill up and count
    as gone; `table` (b, d + 1, w) holds the records, with an infinite norm where one is gone;
    `middle` and `half` (b, d) are the middle of each box and half its extent.
    """

    def __init__(self, records: Matrix, rows: Labels) -> None:
        self._records = records
        m = len(rows)
        count = 1 << ((m - 1) // WIDTH).bit_length()
        width = -(-m // count)
        # Boxes are of one size, so that products over many of them are one call; repeats fill up.
        filled = np.resize(rows, count * width)
        cut = equal_blocks(records[:-1].take(filled, axis=1).T, count)
        self.rows = filled[cut]
        self.table = np.ascontiguousarray(records.take(self.rows, axis=1).transpose(1, 0, 2))
        low, high = self.table[:, :-1].min(axis=2), self.table[:, :-1].max(axis=2)
        self.middle, self.half = (low + high) / 2, (high - low) / 2
        offsets = self.table[:, :-1] - self.middle[:, :, None]
        radius = np.einsum("bdm,bdm->bm", offsets, offsets).max(axis=1) ** 0.5
        self._norms = np.einsum("bd,bd->b", self.middle, self.middle)
        # A box is also inside a ball about its middle m of radius r. Kept as m, |m|^2 - r^2 and r,
        # so that one product tests all balls against all points; see `_within`.
        self._balls = np.vstack((self.middle.T, self._norms - radius**2, radius))
        self._slot = np.empty(records.shape[1], dtype=np.intp)
        real = cut < m
        self._slot[self.rows[real]] = real.ravel().nonzero()[0]
        self.table[:, -1][~real] = np.inf
        self._farthest = records[:-1, rows[records[-1].take(rows).argmax()]]
        self._largest = float(records[-1].take(rows).max())
        self._close = self._neighbours(min(CLOSE, count))

    def __len__(self) -> int:
        """Count the boxes."""
        return len(self.table)

    @property
    def slack(self) -> float:
        """Greatest difference of two values that rounding may explain."""
        return rounding_slack(self._largest, self._farthest)

    @property
    def margin(self) -> float:
        """Greatest rounding error of a bound on the squared distance to a box."""
        return 4 * (len(self._farthest) + 1) * self.slack

    def remove(self, rows: Labels) -> None:
        """Pass over these records from now on."""
        box, slot = np.divmod(self._slot.take(rows), self.table.shape[2])
        self.table[box, -1, slot] = np.inf

    def measure(self, point: Vector, boxes: Labels | slice = slice(None)) -> Matrix:
        """Return (b, w) squared distances less |point|^2, rounded; -inf where a record is gone."""
        values: Matrix = np.matmul(np.append(-2.0 * point, 1.0), self.table[boxes])
        values[values == np.inf] = -np.inf
        return values

    def near(self, rows: Labels, count: int) -> BoxNeighbours:
        """Return the `count` records, or a few more, nearest to each of several that remain.

        All that are left, if these are fewer.
        """
        points = self._records.take(rows, axis=1)
        points, norms = points[:-1], points[-1]
        weights = np.ones((len(rows), len(points) + 1))
        np.multiply(points.T, -2.0, out=weights[:, :-1])
        # At least `count` records, or all that are left, have a value up to `last`, so the `count`
        # nearest all have; with the slack, also those that rounding moved up. What has a larger
        # value cannot be among them.
        last = self._bound(rows, weights, count)
        limit = last + self.slack
        pairs = self._within(points, norms, limit + norms + self.margin)
        of, neighbours, values = self._hits(*pairs, weights, limit)
        # Added up column by column as `squared_distances` does, so the same pair has the same bits
        # in every search. The record itself is put first.
        distances = np.zeros(len(of))
        for column, point in zip(self._records, points, strict=False):
            difference = column.take(neighbours) - point.take(of)
            difference *= difference
            distances += difference
        distances[neighbours == rows.take(of)] = -1.0
        # By record, then distance, then row: equal distances go to the lowest row.
        order = np.lexsort((neighbours, distances, of))
        of = of[order]
        ends = of.searchsorted(np.arange(len(rows)), side="right")
        # A missing record has a value beyond the limit, so it is truly farther than every record
        # with a value up to `last`. Between `last` and the limit that is not certain, so the list
        # counts only up to the first such record.
        unsure = (values[order] > last[of]).nonzero()[0]
        certain = ends.copy()
        np.minimum.at(certain, of[unsure], unsure)
        return BoxNeighbours(neighbours[order], np.append(0, ends[:-1]), certain)

    def _bound(self, rows: Labels, weights: Matrix, count: int) -> Vector:
        """Return, for each record, a value that `count` records, or all left, do not exceed."""
        chosen = self._close[self._slot.take(rows) // self.table.shape[2]]
        # Any set of `count` real records gives an upper bound; nearby boxes give a tight one.
        # Records that are gone have an infinite value and bound nothing.
        values = np.matmul(weights[:, None, None, :], self.table[chosen]).reshape(len(rows), -1)
        if values.shape[1] < count:
            last = np.full(len(rows), np.inf)
        else:
            last = np.partition(values, count - 1, axis=1)[:, count - 1]
        for i in (last == np.inf).nonzero()[0].tolist():
            last[i] = self._wider_bound(weights[i], count)
        return last

    def _wider_bound(self, weights: Vector, count: int) -> float:
        """Return the same for one record from more and more boxes."""
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
        """Return pairs of a point and a box that may hold a record within its squared distance."""
        weights = np.vstack((-2.0 * points, np.ones(len(norms)), -2.0 * limit**0.5)).T
        # |q - m| <= limit^.5 + r, squared and sorted by products: |m|^2 - r^2 - 2 q.m - 2 limit^.5
        # r <= limit - |q|^2. This drops most boxes cheaply, and none that holds a record within the
        # limit.
        of, box = (weights @ self._balls <= (limit - norms)[:, None]).nonzero()
        # Then the exact squared distance from the point to the box itself, column by column.
        away = np.abs(points.T[of] - self.middle[box])
        away -= self.half[box]
        np.maximum(away, 0.0, out=away)
        inside = (np.einsum("pd,pd->p", away, away) <= limit[of]).nonzero()[0]
        return of[inside], box[inside]

    def _hits(
        self, of: Labels, box: Labels, weights: Matrix, limit: Vector
    ) -> tuple[Labels, Labels, Vector]:
        """Return pairs of a point and a record with a value within the limit, and these values."""
        step = max(1, CELLS // self.table[0].size)
        parts = []
        for first in range(0, len(of), step):
            point, boxes = of[first : first + step], box[first : first + step]
            values = np.matmul(weights[point][:, None, :], self.table[boxes])[:, 0]
            pair, slot = (values <= limit[point][:, None]).nonzero()
            parts.append((point[pair], self.rows[boxes[pair], slot], values[pair, slot]))
        if len(parts) == 1:
            return parts[0]
        points, rows, hits = zip(*parts, strict=True)
        return np.concatenate(points), np.concatenate(rows), np.concatenate(hits)

    def _neighbours(self, count: int) -> Labels:
        """Return, for each box, the boxes with the nearest middles, itself among them."""
        near = np.empty((len(self), count), dtype=np.intp)
        step = max(1, CELLS // len(self))
        for first in range(0, len(self), step):
            part = slice(first, first + step)
            distances = self._norms - 2.0 * (self.middle[part] @ self.middle.T)
            near[part] = np.argpartition(distances, count - 1, axis=1)[:, :count]
        return near
