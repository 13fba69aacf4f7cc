"""Sums over two tables in files, from which measures follow that need no order and no neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.risk.changed_moments import variation
from polars_microagg.kernels.risk.moments import Moments, moments_of
from polars_microagg.kernels.scale import HUGE
from polars_microagg.out_of_core.coordinate_files import Column, CoordinateFiles

__all__ = ["Categories", "Numbers"]


MANY = 4096
"""Pieces that are kept to be added up at once."""


class _Sum:
    """Sums of vectors, rounded once: the order of pieces does not matter."""

    def __init__(self, *shape: int) -> None:
        self.parts, self.shape = list[Vector](), shape

    def add(self, part: Vector) -> None:
        """Add a piece."""
        self.parts.append(np.asarray(part, dtype=np.float64))
        if len(self.parts) >= MANY:
            self.parts = [self.total]

    @property
    def total(self) -> Vector:
        """Return the sum."""
        columns = zip(*(part.ravel().tolist() for part in self.parts), strict=True)
        summed = [math.fsum(column) for column in columns]
        return np.array(summed).reshape(self.shape) if summed else np.zeros(self.shape)


@dataclass
class Numbers:
    """Sums over columns of numbers, or ranks: in three passes, so that the last ones are centred."""

    files: CoordinateFiles
    chosen: list[int]
    size: int

    def __post_init__(self) -> None:
        self._extremes()
        self._means()
        self._squares()

    def _extremes(self) -> None:
        p = len(self.chosen)
        self.low, self.high = np.full(p, np.inf), np.full(p, -np.inf)
        self.tops = np.zeros(p)
        self.held, self.both, self.same, self.zeros = (np.zeros(p, dtype=np.intp) for _ in range(4))
        self.gaps = np.zeros(p, dtype=np.bool_)
        for x, y in self.files.pieces(self.size, self.chosen):
            held, present = ~np.isnan(x), ~(np.isnan(x) | np.isnan(y))
            self.low = np.minimum(self.low, x.min(axis=0, initial=np.inf, where=held))
            self.high = np.maximum(self.high, x.max(axis=0, initial=-np.inf, where=held))
            for table in (x, y):
                tops = np.abs(table).max(axis=0, initial=0.0, where=present)
                self.tops = np.maximum(self.tops, tops)
            self.held += held.sum(axis=0)
            self.both += present.sum(axis=0)
            self.same += ((x == y) | (np.isnan(x) & np.isnan(y))).sum(axis=0)
            self.zeros += ((x == 0) & (y != 0) & ~np.isnan(y)).sum(axis=0)
            self.gaps |= ~held.all(axis=0) | np.isnan(y).any(axis=0)
        # What is done here is what `standardised` and `present` do with a whole table.
        seen = self.held > 0
        low, high = np.where(seen, self.low, 0.0), np.where(seen, self.high, 0.0)
        self.unit = np.where(np.fmax(np.abs(low), np.abs(high)) > HUGE, 2.0**-64, 1.0)
        self.from_ = low * self.unit
        self.varies = high > low
        self.shift = -np.frexp(high * self.unit - self.from_)[1].astype(np.intc)
        self.down = -np.frexp(self.tops)[1].astype(np.intc)

    def steps(self, x: Matrix) -> Matrix:
        """Return numbers from the least on, of the order of 1."""
        return np.asarray(np.ldexp(x * self.unit - self.from_, self.shift))

    def one(self, place: int, column: Vector) -> Vector:
        """Return numbers of one column in standard deviations from the mean of the original."""
        steps = np.ldexp(column * self.unit[place] - self.from_[place], self.shift[place])
        return np.asarray((steps - self.mean[place]) / self.sd[place])

    def _present(self, x: Matrix, y: Matrix) -> tuple[Matrix, Matrix]:
        absent = np.isnan(x) | np.isnan(y)
        one, other = np.ldexp(x, self.down), np.ldexp(y, self.down)
        one[absent] = other[absent] = np.nan
        return one, other

    def _means(self) -> None:
        p = len(self.chosen)
        mean, sums, sizes = _Sum(p), [_Sum(p), _Sum(p)], [_Sum(p), _Sum(p)]
        self.ends = np.tile(np.array([np.inf, -np.inf])[:, None, None], (1, 2, p))
        for x, y in self.files.pieces(self.size, self.chosen):
            mean.add(np.nansum(self.steps(x), axis=0))
            for side, table in enumerate(self._present(x, y)):
                there = ~np.isnan(table)
                sums[side].add(np.nansum(table, axis=0))
                sizes[side].add(np.nansum(np.abs(table), axis=0))
                ends = self.ends[:, side]
                ends[0] = np.minimum(ends[0], table.min(axis=0, initial=np.inf, where=there))
                ends[1] = np.maximum(ends[1], table.max(axis=0, initial=-np.inf, where=there))
        self.mean = mean.total / np.maximum(self.held, 1)
        count = np.maximum(self.both, 1)
        self.means = [one.total / count for one in sums]
        self.sizes = [one.total / count for one in sizes]
        for side in (0, 1):
            low, high = self.ends[:, side]
            constant = (low >= high) & np.isfinite(low)
            self.means[side] = np.where(constant, low, self.means[side])

    def _squares(self) -> None:
        p = len(self.chosen)
        squares, lost, apart, changes, error = (_Sum(p) for _ in range(5))
        products, pairs = [_Sum(p, p), _Sum(p, p)], _Sum(p, p)
        self.compared = np.zeros(p, dtype=np.intp)
        for x, y in self.files.pieces(self.size, self.chosen):
            one, other = self.steps(x), self.steps(y)
            centred = one - self.mean
            squares.add(np.nansum(centred**2, axis=0))
            gone = np.isnan(y) & ~np.isnan(x)
            lost.add(np.nansum(np.where(gone, centred, 0.0) ** 2, axis=0))
            apart.add(np.nansum(np.abs(one - other), axis=0))
            error.add(np.nansum((one - other) ** 2, axis=0))
            tables = self._present(x, y)
            there = ~np.isnan(tables[0])
            pairs.add(there.T.astype(np.float64) @ there)
            for side, table in enumerate(tables):
                around = np.where(there, table - self.means[side], 0.0)
                products[side].add(around.T @ around)
            sizes = np.broadcast_to(self.sizes[0], x.shape)
            change = variation(*tables, sizes)
            defined = ~np.isnan(change)
            self.compared += defined.sum(axis=0)
            changes.add(np.where(defined, change, 0.0).sum(axis=0))
        variance = squares.total / np.maximum(self.held, 1)
        self.sd = np.sqrt(variance)
        unit = np.where(self.varies, variance, 1.0)
        self.errors = np.where(self.varies, error.total / unit, 0.0)
        self.lost = np.where(self.varies, lost.total / unit, 0.0)
        self.distances = np.where(self.varies, apart.total / np.sqrt(unit), 0.0)
        self.changes = changes.total
        count = np.maximum(pairs.total, 1.0)
        self.moments = tuple(
            moments_of(
                self.means[side],
                products[side].total / count,
                self.sizes[side],
                self.ends[0, side] >= self.ends[1, side],
            )
            for side in (0, 1)
        )

    def of(self, columns: Labels) -> tuple[Moments, Moments]:
        """Return the moments before and after of some of the columns, by place."""
        before, after = self.moments
        return before.only(columns), after.only(columns)


@dataclass
class Categories:
    """Counts of each category before that became each one after, of one column; -1 is no value."""

    files: CoordinateFiles
    j: int
    size: int

    def __post_init__(self) -> None:
        column: Column = self.files.columns[self.j]
        table: Matrix = column.table if column.table is not None else np.empty((0, 2))
        wide = len(table) + 1
        keys, counts = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        for x, y in self.files.pieces(self.size, [self.j]):
            one, other = (np.where(np.isnan(t[:, 0]), -1, t[:, 0]).astype(np.intp) for t in (x, y))
            new, often = np.unique((one + 1) * wide + other + 1, return_counts=True)
            keys, place = np.unique(np.concatenate([keys, new]), return_inverse=True)
            counts = np.bincount(place, np.concatenate([counts, often])).astype(np.intp)
        before, after = np.divmod(keys, wide)
        self.before, self.after, self.counts = before - 1, after - 1, counts
        self.same = int(counts[before == after].sum())
        self.both = int(counts[(before > 0) & (after > 0)].sum())
        self.gaps = bool(((before == 0) | (after == 0)).any())
        self.inside = int(counts[(before == after) & (before > 0)].sum())
        held = np.bincount(before, counts, wide)[1:]
        self.held = int(held.sum())
        self.varies = bool(np.count_nonzero(held) > 1)
        self.table = table[:, :0]
        self.errors = 0.0
        if self.varies:
            mean = held @ table / self.held
            around = table - mean
            self.table = around / np.sqrt(held @ np.square(around).sum(axis=1) / self.held)
            # What is gone counts as the mean, which is at 0.
            placed = np.vstack([self.table, np.zeros((1, table.shape[1]))])
            chosen = self.before >= 0
            apart = placed[self.before[chosen]] - placed[self.after[chosen]]
            self.errors = float(counts[chosen] @ np.square(apart).sum(axis=1))
