"""An index of the records in boxes of neighbours, to search from many records at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import rounding_slack
from polars_microagg.kernels.neighbour_blocks import equal_blocks

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Matrix, Vector
    from polars_microagg.kernels.mdav.many_strata import Cube

__all__ = ["BoxIndex", "BoxNeighbours"]

WIDTH = 16
"""Most records in a part of a box."""

PARTS = 8
"""Parts of a box, where there are so many."""

CLOSE = 40
"""Parts about a record that bound how far its neighbours can be."""

FIRST = 24
"""Boxes that are looked into first if these parts have too few records left."""

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
    """Boxes of equal numbers of neighbouring records, each of a few parts; some records are gone.

    Built from the (d + 1, n) matrix `records` of centred columns with their squared norms below,
    for the given `rows`. `rows` (b, p, w) lists the rows of each part of each box, where repeats
    fill up and count as gone; `middle` and `half` (b, d) are the middle of each box and half its
    extent, `part_middle` and `part_half` (b, p, d) those of the parts. A part is named by its
    number, p times that of its box and more.
    """

    def __init__(self, records: Matrix, rows: Labels) -> None:
        self._records = records
        d, m = len(records) - 1, len(rows)
        count = 1 << ((m - 1) // WIDTH).bit_length()
        self.parts = parts = min(PARTS, count)
        width = -(-m // count)
        # Parts are of one size, so that products over many of them are one call; repeats fill up.
        # They are halves of halves of their box, as consecutive blocks are.
        filled = np.resize(rows, count * width)
        cut = equal_blocks(records[:-1].take(filled, axis=1).T, count)
        # The records, part by part, with an infinite norm where one is gone.
        self._table = records.take(filled.take(cut), axis=1)
        # Rows of coordinates are kept together: `take` copies the whole of other arrays first.
        low = np.ascontiguousarray(self._table[:-1].min(axis=2).T)
        high = np.ascontiguousarray(self._table[:-1].max(axis=2).T)
        self.part_middle = ((low + high) / 2).reshape(-1, parts, d)
        self.part_half = ((high - low) / 2).reshape(-1, parts, d)
        low, high = low.reshape(-1, parts, d).min(axis=1), high.reshape(-1, parts, d).max(axis=1)
        self.middle: Matrix = (low + high) / 2
        self.half: Matrix = (high - low) / 2
        self._norms = np.einsum("bd,bd->b", self.middle, self.middle)
        # A box is also inside a ball about its middle m of radius r. Kept as m, |m|^2 - r^2 and r,
        # so that one product tests all balls against all points; see `_within`.
        columns = self._table[:-1].reshape(d, len(self.middle), -1)
        radius = _squared_from(columns, self.middle).max(axis=1) ** 0.5
        self._balls = np.vstack((self.middle.T, self._norms - radius**2, radius))
        self._slot = np.empty(records.shape[1], dtype=np.intp)
        real = (cut < m).ravel()
        self.rows = filled.take(cut).reshape(-1, parts, width)
        self._slot[self.rows.ravel()[real]] = real.nonzero()[0]
        self._table[-1].reshape(-1)[~real] = np.inf
        norms = records[-1].take(rows)
        self._farthest = records[:-1, rows[norms.argmax()]]
        self._largest = float(norms.max())
        self._close = self._neighbours()

    def __len__(self) -> int:
        """Count the boxes."""
        return len(self.middle)

    @property
    def slack(self) -> float:
        """Greatest difference of two values that rounding may explain."""
        return rounding_slack(self._largest, self._farthest)

    @property
    def margin(self) -> float:
        """Greatest rounding error of a bound on the squared distance to a box."""
        return 4 * (len(self._farthest) + 1) * self.slack

    def rows_of(self, parts: Labels) -> Labels:
        """Return the (q, w) rows of parts."""
        return self.rows.reshape(-1, self.rows.shape[2]).take(parts, axis=0)

    def remove(self, rows: Labels) -> None:
        """Pass over these records from now on."""
        self._table[-1].reshape(-1)[self._slot.take(rows)] = np.inf

    def measure(self, point: Vector) -> Cube:
        """Return (b, p, w) squared distances less |point|^2, rounded; -inf where a record is gone."""
        values = np.append(-2.0 * point, 1.0) @ self._table.reshape(len(point) + 1, -1)
        values[values == np.inf] = -np.inf
        return values.reshape(self.rows.shape)

    def measure_parts(self, point: Vector, parts: Labels) -> Matrix:
        """Return the same of some parts (q, w); infinite where a record is gone."""
        table = self._table.take(parts, axis=1)
        values = np.append(-2.0 * point, 1.0) @ table.reshape(len(table), -1)
        return values.reshape(len(parts), self.rows.shape[2])

    def near(self, rows: Labels, count: int) -> BoxNeighbours:
        """Return the `count` records, or a few more, nearest to each of several that remain.

        All that are left, if these are fewer.
        """
        points = self._records.take(rows, axis=1)
        points, norms = points[:-1], points[-1]
        weights = np.ascontiguousarray(-2.0 * points.T)
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

    def _measure_pairs(self, weights: Matrix, parts: Labels) -> Matrix:
        """Return the values (q, w) of a part each, from points given as (q, d) weights -2 x."""
        values: Matrix = self._table[-1].take(parts, axis=0)
        for weight, column in zip(weights.T, self._table, strict=False):
            values += weight[:, None] * column.take(parts, axis=0)
        return values

    def _bound(self, rows: Labels, weights: Matrix, count: int) -> Vector:
        """Return, for each record, a value that `count` records, or all left, do not exceed."""
        chosen = self._close.take(self._slot.take(rows) // self.rows.shape[2], axis=0)
        # Any set of `count` real records gives an upper bound; nearby parts give a tight one.
        # Records that are gone have an infinite value and bound nothing.
        of = np.repeat(np.arange(len(rows)), chosen.shape[1])
        values = self._measure_pairs(weights.take(of, axis=0), chosen.ravel())
        values = values.reshape(len(rows), -1)
        if values.shape[1] < count:
            last = np.full(len(rows), np.inf)
        else:
            last = np.partition(values, count - 1, axis=1)[:, count - 1]
        for i in (last == np.inf).nonzero()[0].tolist():
            last[i] = self._wider_bound(weights[i], count)
        return last

    def _wider_bound(self, weights: Vector, count: int) -> float:
        """Return the same for one record from more and more boxes."""
        distances = self.middle @ weights + self._norms
        size = min(FIRST, len(self))
        while True:
            chosen = np.argpartition(distances, size - 1)[:size]
            values = self.measure_parts(-0.5 * weights, self._parts_of(chosen)).ravel()
            values = values[values < np.inf]
            if len(values) >= count:
                return float(np.partition(values, count - 1)[count - 1])
            if size == len(self):
                return float(values.max())
            size = min(8 * size, len(self))

    def _parts_of(self, boxes: Labels) -> Labels:
        parts: Labels = (boxes[:, None] * self.parts + np.arange(self.parts)).ravel()
        return parts

    def _within(self, columns: Matrix, norms: Vector, limit: Vector) -> tuple[Labels, Labels]:
        """Return pairs of a point and a part that may hold a record within its squared distance."""
        weights = np.vstack((-2.0 * columns, np.ones(len(norms)), -2.0 * limit**0.5)).T
        # |q - m| <= limit^.5 + r, squared and sorted by products: |m|^2 - r^2 - 2 q.m - 2 limit^.5
        # r <= limit - |q|^2. This drops most boxes cheaply, and none that holds a record within the
        # limit.
        hit = (weights @ self._balls <= (limit - norms)[:, None]).ravel().nonzero()[0]
        of: Labels = hit // len(self)
        box: Labels = hit - of * len(self)
        # Then the exact squared distances from the point to the box itself, and to its parts.
        points: Matrix = np.ascontiguousarray(columns.T)
        near = _away(points.take(of, axis=0), self.middle, self.half, box) <= limit.take(of)
        of, box = np.repeat(of[near], self.parts), self._parts_of(box[near])
        d = points.shape[1]
        middle, half = self.part_middle.reshape(-1, d), self.part_half.reshape(-1, d)
        near = _away(points.take(of, axis=0), middle, half, box) <= limit.take(of)
        return of[near], box[near]

    def _hits(
        self, of: Labels, parts: Labels, weights: Matrix, limit: Vector
    ) -> tuple[Labels, Labels, Vector]:
        """Return pairs of a point and a record with a value within the limit, and these values."""
        width = self.rows.shape[2]
        rows = self.rows.reshape(-1, width)
        step = max(1, CELLS // (width * len(self._table)))
        found = []
        for first in range(0, max(len(of), 1), step):
            point, part = of[first : first + step], parts[first : first + step]
            values = self._measure_pairs(weights.take(point, axis=0), part)
            slots = (values <= limit.take(point)[:, None]).ravel().nonzero()[0]
            pair, slot = np.divmod(slots, width)
            hits = point.take(pair), rows[part.take(pair), slot], values.ravel().take(slots)
            found.append(hits)
        if len(found) == 1:
            return found[0]
        points, neighbours, hits_ = zip(*found, strict=True)
        return np.concatenate(points), np.concatenate(neighbours), np.concatenate(hits_)

    def _neighbours(self) -> Labels:
        """Return, for each part, parts with the nearest middles in boxes near its own."""
        boxes = np.empty((len(self), min(FIRST, len(self))), dtype=np.intp)
        step = max(1, CELLS // len(self))
        for first in range(0, len(self), step):
            part = slice(first, first + step)
            distances = self._norms - 2.0 * (self.middle[part] @ self.middle.T)
            count = boxes.shape[1]
            boxes[part] = np.argpartition(distances, count - 1, axis=1)[:, :count]
        near = []
        step = max(1, CELLS // (boxes.shape[1] * self.parts * self.parts))
        for first in range(0, len(self), step):
            chosen = boxes[first : first + step]
            others = self.part_middle[chosen].reshape(len(chosen), -1, self.middle.shape[1])
            norms = np.einsum("bod,bod->bo", others, others)
            own = self.part_middle[first : first + step]
            distances = norms[:, None] - 2.0 * np.matmul(own, others.transpose(0, 2, 1))
            count = min(CLOSE, others.shape[1])
            best = np.argpartition(distances, count - 1, axis=2)[:, :, :count]
            numbers = self._parts_of(chosen.ravel()).reshape(len(chosen), 1, -1)
            near.append(np.take_along_axis(numbers, best, axis=2).reshape(-1, count))
        return np.concatenate(near)


def _away(points: Matrix, middle: Matrix, half: Matrix, numbers: Labels) -> Vector:
    """Return the squared distance of each point from one of the boxes with these middles."""
    away = np.abs(points - middle.take(numbers, axis=0))
    away -= half.take(numbers, axis=0)
    np.maximum(away, 0.0, out=away)
    squared: Vector = np.einsum("pd,pd->p", away, away)
    return squared


def _squared_from(columns: Cube, middle: Matrix) -> Matrix:
    """Return the (b, m) squared distances of the (d, b, m) columns from the (b, d) middles."""
    distances = np.zeros(columns.shape[1:])
    for column, coordinate in zip(columns, middle.T, strict=True):
        distances += (column - coordinate[:, None]) ** 2
    return distances
