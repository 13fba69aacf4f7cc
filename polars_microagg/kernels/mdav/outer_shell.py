"""The outer shell of the records, which nearly always holds the record farthest from any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import coordinates, squared_distances
from polars_microagg.kernels.farthest_records import FarthestQueue

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Matrix, Vector
    from polars_microagg.kernels.mdav.box_index import BoxIndex
    from polars_microagg.kernels.remaining_mean import RemainingMean

__all__ = ["OuterShell"]

QUEUE = 512
"""Records farthest from the mean that are kept as candidates."""

BUSY = 4
"""A box joins the next shell if more than one in this many searches had to look into it."""

INFLATED = 1 + 1e-12
"""Factor on bounds of distances, for rounding."""

_TINY = float(np.finfo(np.float64).tiny)
"""Added to a squared distance whose root is to be a bound: a smaller square may have lost more to
rounding than the factor `INFLATED` makes good."""


class OuterShell:
    """Records far from the mean, and bounds on how far all others can be from any point.

    About `size` records, and all records of the boxes `busy`, are in the shell. Records that are
    gone must be gone from `boxes` as well, whenever a shell is built or searched. `searches` counts
    the searches for the record farthest from another, `scanned` the records outside the shell that
    they looked at.
    """

    def __init__(self, left: RemainingMean, boxes: BoxIndex, size: int, busy: Labels) -> None:
        self._left, self._boxes = left, boxes
        self._mean = mean = coordinates(left.mean())
        values = boxes.measure(mean)
        there = values > -np.inf
        size = min(size, len(left))
        # `values` are squared distances from the mean less |mean|^2, -inf where a record is gone. A
        # record within the slack of the last one may belong to either side; it goes into the shell.
        last = np.partition(values, values.size - size, axis=None)[values.size - size]
        inner = values < last - boxes.slack
        inner[busy] = False
        self._rows = np.sort(boxes.rows[there & ~inner])
        values[~inner] = -np.inf
        self._bound_others(values.max(axis=2) + float(mean @ mean) + boxes.margin)
        # A last column stands for every record outside the shell.
        size = len(self._rows)
        self._table = np.zeros((len(left.records), size + 1))
        np.take(left.records, self._rows, axis=1, out=self._table[:, :size])
        self._table[-1, size] = -np.inf
        self._position = np.full(len(left.taken), size)
        self._position[self._rows] = np.arange(size)
        self._gone = np.empty(256, dtype=np.intp)
        self._new = 0
        self._number: dict[int, int] = {}
        self._queue: FarthestQueue | None = None
        self._visits = np.zeros(len(boxes), dtype=np.intp)
        self.searches = self.scanned = 0

    def __len__(self) -> int:
        """Count the records that were in the shell at first."""
        return len(self._rows)

    def _bound_others(self, squared: Matrix) -> None:
        """Bound, part by part, how far from the mean the records outside the shell are."""
        boxes = self._boxes
        most = squared.max(axis=1)
        self._outside = (most > -np.inf).nonzero()[0]
        most = np.maximum(most[self._outside], 0.0)
        # No record outside the shell is farther than this from the mean of the time.
        self._reach = float(most.max(initial=0.0)) ** 0.5 if len(most) else -np.inf
        middle = boxes.middle[self._outside].T - self._mean[:, None]
        self._extent = np.vstack((middle, boxes.half[self._outside].T, most))
        # The same of the parts of these boxes, (2 d + 1, boxes, parts).
        middle = boxes.part_middle.take(self._outside, axis=0) - self._mean
        half = boxes.part_half.take(self._outside, axis=0)
        squared = squared[self._outside][:, :, None]
        extent = np.concatenate((middle, half, squared), axis=2)
        self._part_extent = np.ascontiguousarray(extent.transpose(2, 0, 1))

    def remove(self, rows: Labels) -> None:
        """Pass over these records from now on."""
        start, self._new = self._new, self._new + len(rows)
        if self._new > len(self._gone):
            self._gone = np.resize(self._gone, 2 * self._new)
        self._gone[start : self._new] = self._position.take(rows)

    def busy(self) -> Labels:
        """Return the boxes that many searches had to look into."""
        return (self._visits * BUSY > max(self.searches, 1)).nonzero()[0]

    def outermost(self) -> int:
        """Return the row farthest from the mean, or -1 if it may be outside the shell."""
        exact = self._left.mean()
        mean = self._now = coordinates(exact)
        if self._queue is not None:
            row, certain = self._queue.farthest(exact, self._left.taken)
            if certain:
                return row
        there = (~self._left.taken.take(self._rows)).nonzero()[0]
        if not len(there):
            return -1
        distances = squared_distances(self._table[:-1].take(there, axis=1), mean)
        first = len(there) - min(QUEUE, len(there))
        chosen = np.sort(np.argpartition(distances, first)[first:])
        distances[chosen] = 0.0
        # Triangle inequality: the mean has moved by `step`, so a record outside the shell is now at
        # most the old bound plus |step| away. `next_` bounds the shell's records that are not
        # queued.
        step = mean - self._mean
        next_ = (float(distances.max()) + _TINY) ** 0.5
        reach = max(self._reach + float(step @ step) ** 0.5, next_)
        # All remaining records are queued, so nothing is left to bound.
        if first == 0 and self._reach == -np.inf:
            reach = -np.inf
        self._queued = self._rows[there[chosen]]
        self._columns = self._table[:-1].take(there[chosen], axis=1)
        self._queue = FarthestQueue(self._columns, self._queued, exact, reach * INFLATED)
        row, certain = self._queue.farthest(exact, self._left.taken)
        return row if certain else -1

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
        self._number = {row: number for number, row in enumerate(rows.tolist())}
        self._table[-1, self._gone[: self._new]] = -np.inf
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

    def opposites(self, rows: Labels) -> Labels:
        """Return the rows probably farthest from these, as far as they were measured from."""
        numbers = [self._number[row] for row in rows.tolist() if row in self._number]
        best = np.empty(len(numbers), dtype=np.intp)
        for i, number in enumerate(numbers):
            values = self._values[number]
            values[self._gone[: self._new]] = -np.inf
            best[i] = values.argmax()
        farthest: Labels = self._rows[best[best < len(self)]]
        return farthest

    def measured_from(self, row: int) -> bool:
        """Return whether the shell has been measured from a record."""
        return row in self._number

    def opposite(self, row: int) -> int:
        """Return the row of the record farthest from one that the shell has been measured from."""
        self.searches += 1
        number = self._number[row]
        values, point = self._values[number], self._points[:, number]
        values[self._gone[: self._new]] = -np.inf
        best = int(values.argmax())
        top, slack = float(values[best]), self._boxes.slack
        # The product is not exact. Whatever it cannot tell from the top by the slack is compared by
        # exact distance; rows ascend, so argmax takes the lowest of equals.
        none = np.empty(0, dtype=np.intp)
        close = (values >= top - slack).nonzero()[0] if top > -np.inf else none
        if len(close) > 1:
            distances = squared_distances(self._table[:-1].take(close, axis=1), point)
            best = int(close[distances.argmax()])
        # Beyond the bound even with the rounding margin: no record outside the shell can be as far,
        # so the best one inside is the answer.
        if top + self._norms[number] - self._boxes.margin > self._bounds[number]:
            return int(self._rows[best])
        rows = self._beyond(point, top, self._norms[number])
        if len(close):
            rows = np.append(rows, self._rows[best])
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
        boxes = self._outside.take(near)
        self._visits[boxes] += 1
        # Of these boxes only the parts that may hold such a record; none if all its records are in
        # the shell, as its bound is -inf.
        extent = self._part_extent.take(near, axis=1)
        hit = (weights @ extent.reshape(len(weights), -1) >= least).nonzero()[0]
        of, part = np.divmod(hit, self._boxes.parts)
        parts = boxes.take(of) * self._boxes.parts + part
        values = self._boxes.measure_parts(point, parts)
        self.scanned += values.size
        # What is gone has an infinite value.
        values[values == np.inf] = -np.inf
        best = max(top, float(values.max(initial=-np.inf)))
        # The slack keeps every record that rounding may have put behind the best one.
        hit = (values >= best - self._boxes.slack).ravel().nonzero()[0]
        pair, slot = np.divmod(hit, values.shape[1])
        rivals: Labels = self._boxes.rows_of(parts.take(pair))[np.arange(len(slot)), slot]
        return rivals
