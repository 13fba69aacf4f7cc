"""The outer shell of the records, which nearly always holds the record farthest from any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import coordinates, squared_distances
from polars_microagg.kernels.farthest_records import FarthestQueue

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Vector
    from polars_microagg.kernels.distance import Point
    from polars_microagg.kernels.mdav.box_index import BoxIndex
    from polars_microagg.kernels.mdav.many_strata import Cube
    from polars_microagg.kernels.remaining_mean import RemainingMean

__all__ = ["OuterShell"]

QUEUE = 512
"""Records farthest from the mean that are kept as candidates."""

SMALLEST = 4096
"""Fewest records in a shell."""

DEARER = 2
"""Cost of a value outside the shell, in values inside it."""

INFLATED = 1 + 1e-12
"""Factor on bounds of distances, for rounding."""

_TINY = float(np.finfo(np.float64).tiny)
"""Added to a squared distance whose root is to be a bound: a smaller square may have lost more to
rounding than the factor `INFLATED` makes good."""


class OuterShell:
    """Records far from the mean, and bounds on how far all others can be from any point.

    The records are sorted once by their distance from the mean of the time, the outermost first. The
    shell is the first of them that are left, about `size`, and the next ones take the places of
    those that are gone. Records that are gone must be gone from `boxes` as well, whenever a shell is
    built or searched. `scanned` counts the values outside the shell that were looked at since it was
    built.
    """

    def __init__(self, left: RemainingMean, boxes: BoxIndex, size: int) -> None:
        self._left, self._boxes = left, boxes
        self._mean = mean = coordinates(left.mean())
        values = boxes.measure(mean)
        # `values` are squared distances from the mean less |mean|^2, -inf where a record is gone;
        # with the margin, these bound the squared distances. Whoever is gone sorts last.
        margin = float(mean @ mean) + boxes.margin
        self.built = len(left)
        self.size, self._most = size, max(SMALLEST, self.built // 4)
        self._bound_parts(values, margin)
        values = values.ravel()
        head = min(self.built, max(self._most, 2 * size))
        chosen = np.argpartition(values, values.size - head)[values.size - head :]
        chosen = chosen[values.take(chosen).argsort()[::-1]]
        self._sorted = boxes.rows.ravel().take(chosen)
        # No record from the i-th one on is farther from the mean of the time than the i-th number.
        squared = np.maximum(values.take(chosen) + margin, 0.0)
        values[chosen] = -np.inf
        last = float(values.max(initial=-np.inf))
        self._limits = np.append(squared**0.5, max(last + margin, 0.0) ** 0.5)
        if last == -np.inf:
            self._limits[-1] = -np.inf
        self._next = 0
        self._rows = np.empty(0, dtype=np.intp)
        self._position = np.zeros(len(left.taken), dtype=np.intp)
        self._gone = np.empty(256, dtype=np.intp)
        self._queue: FarthestQueue | None = None
        self.scanned = self._spent = self._searches = 0
        self._fill()

    def __len__(self) -> int:
        """Count the records in the shell, with those that went since it was filled."""
        return len(self._rows)

    def _bound_parts(self, values: Cube, margin: float) -> None:
        """Bound, part by part, how far from the mean the records of the boxes are."""
        boxes = self._boxes
        d = len(self._mean)
        most = values.max(axis=2)
        self._farthest = np.where(most > -np.inf, np.maximum(most + margin, 0.0), -np.inf)
        values = np.where(values > -np.inf, values, np.inf)
        self._nearest = values.min(axis=2) + (margin - 2.0 * boxes.margin)
        self._extent = np.empty((2 * d + 1, len(boxes)))
        self._extent[:d] = boxes.middle.T - self._mean[:, None]
        self._extent[d:-1] = boxes.half.T
        # The same of the parts of these boxes, (2 d + 1, boxes, parts).
        self._part_extent = np.empty((2 * d + 1, *self._farthest.shape))
        self._part_extent[:d] = (boxes.part_middle - self._mean).transpose(2, 0, 1)
        self._part_extent[d:-1] = boxes.part_half.transpose(2, 0, 1)

    def _fill(self) -> None:
        """Fill the shell with the next records in sorted order, up to `size`."""
        stay = self._rows[~self._left.taken.take(self._rows)]
        self._position[self._rows] = 0
        rows = [stay]
        missing = self.size - len(stay)
        while missing > 0 and self._next < len(self._sorted):
            new = self._sorted[self._next : self._next + missing]
            self._next += len(new)
            rows.append(new[~self._left.taken.take(new)])
            missing -= len(rows[-1])
        self._rows = np.concatenate(rows)
        # A first column stands for every record outside the shell.
        size = len(self._rows)
        self._table = np.zeros((len(self._left.records), size + 1))
        self._table[:, 1:] = self._left.records.take(self._rows, axis=1)
        self._table[-1, 0] = -np.inf
        self._position[self._rows] = np.arange(1, size + 1)
        self._new = self._lost = 0
        self._number: dict[int, int] = {}
        # No record outside the shell is farther than this from the mean of the time.
        self._reach = float(self._limits[self._next])
        # A part that is in the shell as a whole has nothing outside it.
        limit = self._reach**2 * INFLATED if self._reach > -np.inf else -np.inf
        bounds = np.minimum(self._farthest, limit)
        bounds[self._nearest > limit] = -np.inf
        self._part_extent[-1] = bounds
        bounds.max(axis=1, out=self._extent[-1])

    def remove(self, rows: Labels) -> None:
        """Pass over these records from now on."""
        start, self._new = self._new, self._new + len(rows)
        if self._new > len(self._gone):
            self._gone = np.resize(self._gone, 2 * self._new)
        self._gone[start : self._new] = self._position.take(rows)

    def outermost(self) -> int:
        """Return the row farthest from the mean, or -1 if it may be outside the shell."""
        exact = self._left.mean()
        self._now = coordinates(exact)
        if self._queue is not None:
            row, certain = self._queue.farthest(exact, self._left.taken)
            if certain:
                return row
        self._fill()
        return self._fill_queue(exact) if len(self._rows) else -1

    def _fill_queue(self, exact: Point) -> int:
        """Queue the outermost records of the shell; return what `outermost` does."""
        distances = squared_distances(self._table[:-1, 1:], exact)
        farthest = float(distances.max())
        row = int(self._rows[distances == farthest].min())
        first = len(distances) - min(QUEUE, len(distances))
        chosen = np.argpartition(distances, first)[first:]
        distances[chosen] = 0.0
        # Triangle inequality: the mean has moved by `step`, so a record outside the shell is now at
        # most the old bound plus |step| away. `next_` bounds the shell's records that are not
        # queued.
        step = self._now - self._mean
        beyond = self._reach + float(step @ step) ** 0.5
        next_ = (float(distances.max()) + _TINY) ** 0.5 if first else -np.inf
        self._queued = np.sort(self._rows[chosen])
        self._columns = self._left.columns.take(self._queued, axis=1)
        reach = max(beyond, next_) * INFLATED
        self._queue = FarthestQueue(self._columns, self._queued, exact, reach)
        # The whole shell has been measured: what is not queued need not be told apart from the rest.
        return row if farthest**0.5 > beyond * INFLATED**2 else -1

    def likely_outermost(self, count: int) -> Labels:
        """Return the rows of records that will probably be the next outermost ones."""
        # From the last mean, not a new one, which may be asked for only at the start of a round;
        # see `RemainingMean.mean`.
        distances = squared_distances(self._columns, self._now)
        distances[self._left.taken.take(self._queued)] = -1.0
        first = len(distances) - min(count, len(distances))
        chosen = np.argpartition(distances, first)[first:]
        rows: Labels = self._queued[chosen[distances[chosen] >= 0]]
        return rows

    def measure_from(self, rows: Labels) -> None:
        """Measure the whole shell from each of these records, in one matrix product."""
        self._resize()
        self._number = {row: number for number, row in enumerate(rows.tolist())}
        gone = self._gone[: self._new]
        self._lost += int(np.count_nonzero(gone))
        self._table[-1, gone] = -np.inf
        self._new = 0
        self._points = self._left.columns.take(rows, axis=1)
        weights = np.ones((len(rows), len(self._table)))
        np.multiply(self._points.T, -2.0, out=weights[:, :-1])
        self._values = weights @ self._table
        self._norms = self._left.records[-1].take(rows).tolist()
        # Triangle inequality through the mean: no record outside the shell is farther from q than
        # |q - mean| + reach.
        offsets = self._points - self._mean[:, None]
        away = np.einsum("dp,dp->p", offsets, offsets) ** 0.5
        reach = np.maximum((away + self._reach) * INFLATED, 0.0)
        self._bounds = (reach * reach).tolist()

    def _resize(self) -> None:
        """Fill the shell, larger or smaller as the last searches went beyond it or not."""
        inside, outside = self._searches * len(self._rows), DEARER * self._spent
        if outside > inside:
            self.size = min(self.size + self.size // 2, self._most)
        elif outside < inside // 16:
            self.size = max(self.size - self.size // 16, SMALLEST)
        if outside > inside or self._lost * 4 > len(self._rows):
            self._fill()
        self._searches = self._spent = 0

    def opposites(self, rows: Labels) -> Labels:
        """Return the rows probably farthest from these, as far as they were measured from."""
        numbers = [self._number[row] for row in rows.tolist() if row in self._number]
        best = np.empty(len(numbers), dtype=np.intp)
        for i, number in enumerate(numbers):
            values = self._values[number]
            values[self._gone[: self._new]] = -np.inf
            best[i] = values.argmax()
        farthest: Labels = self._rows[best[best > 0] - 1]
        return farthest

    def measured_from(self, row: int) -> bool:
        """Return whether the shell has been measured from a record."""
        return row in self._number

    def opposite(self, row: int) -> int:
        """Return the row of the record farthest from one that the shell has been measured from."""
        self._searches += 1
        number = self._number[row]
        values, point = self._values[number], self._points[:, number]
        values[self._gone[: self._new]] = -np.inf
        top, slack = float(values.max()), self._boxes.slack
        # The product is not exact. Whatever it cannot tell from the top by the slack is compared by
        # exact distance; rows ascend, so argmax takes the lowest of equals.
        none = np.empty(0, dtype=np.intp)
        rows = self._rows[(values >= top - slack).nonzero()[0] - 1] if top > -np.inf else none
        # Beyond the bound even with the rounding margin: no record outside the shell can be as far,
        # so the best one inside is the answer.
        if top + self._norms[number] - self._boxes.margin <= self._bounds[number]:
            rows = np.append(rows, self._beyond(point, top, self._norms[number]))
        if len(rows) == 1:
            return int(rows[0])
        rows.sort()
        distances = squared_distances(self._left.columns.take(rows, axis=1), point)
        return int(rows[distances.argmax()])

    def _beyond(self, point: Vector, top: float, norm: float) -> Labels:
        """Return rows outside the shell that may be farther from a point than the best inside."""
        offset = point - self._mean
        # For x in a box, with R its greatest distance from the mean m and q' = q - m, |x - q|^2 =
        # |x - m|^2 + |q'|^2 - 2 (x - m).q' <= R^2 + |q'|^2 - 2 (x - m).q'. Over the box the last
        # term is greatest in a corner: -2 c.q' + 2 h.abs(q'), where c is the middle of the box
        # relative to m, h half its extent, and abs is taken of each coordinate. So one product
        # bounds all boxes.
        weights = np.concatenate((-2.0 * offset, 2.0 * np.abs(offset), [1.0]))
        # A little less than what must be reached, as the bounds are rounded.
        least = top + norm - self._boxes.margin - float(offset @ offset)
        near = (weights @ self._extent >= least).nonzero()[0]
        # Of these boxes only the parts that may hold such a record; none if all its records are in
        # the shell, as its bound is -inf.
        extent = self._part_extent.take(near, axis=1)
        hit = (weights @ extent.reshape(len(weights), -1) >= least).nonzero()[0]
        of, part = np.divmod(hit, self._boxes.parts)
        parts = near.take(of) * self._boxes.parts + part
        values = self._boxes.measure_parts(point, parts)
        # A bound costs about two values.
        spent = 2 * (len(self._boxes) + self._boxes.parts * len(near)) + values.size
        self.scanned += spent
        self._spent += spent
        # What is gone has an infinite value.
        values[values == np.inf] = -np.inf
        best = max(top, float(values.max(initial=-np.inf)))
        # The slack keeps every record that rounding may have put behind the best one.
        hit = (values >= best - self._boxes.slack).ravel().nonzero()[0]
        pair, slot = np.divmod(hit, values.shape[1])
        rivals: Labels = self._boxes.rows_of(parts.take(pair))[np.arange(len(slot)), slot]
        return rivals
