"""Which records are nearest to their own centroid, by a search through a tree of centroids.

A centroid that is as near as the own one lies in the ball around the record through its own one.
Records whose centroids lie together look into the boxes that their balls can reach, all at once: a
product of matrices in single precision tells most links from misses, with a margin for its
rounding, and exact distances decide what is left.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.risk.centroid_tree import CentroidTree

__all__ = ["tied_weights"]

Single = npt.NDArray[np.float32]

REGION = 4096
"""Centroids of a region have coordinates about its middle, so that rounding stays small."""

BLOCK = 8
"""Cells in which a record first looks for a nearer centroid."""

LEAF = 2
"""Cells whose records are searched together."""

FAN = 4
"""Parts of a node of the search, until one is a leaf."""

ROWS = 128
"""Most records that are searched together."""

PRODUCTS = 2**18
"""Products at a time, so that they stay in the cache."""

EPSILON, EPSILON_SINGLE = (float(np.finfo(real).eps) for real in (np.float64, np.float32))

TINY = 1e-36
"""Products of this size and below may vanish in single precision."""

HUGE = 1e36
"""Records with larger squares are left in doubt: of all others single precision can tell the centroids
that are nearer, and those that are too far for it are farther."""


def tied_weights(
    tree: CentroidTree, weights: Vector, columns: Matrix, own: Labels, slack: float
) -> Vector:
    """Return the (n,) weight of the centroids that are as near as the own one.

    0 if one is nearer. `columns` (d, n) are the records, `own` (n,) the number of the centroid that
    belongs to each, and `weights` (g,) those of the centroids. Distances that differ by `slack` or
    less are equal.
    """
    search = _Search(tree, weights, columns, own, slack)
    # Where squares leave the range of single precision, records are decided in double precision.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        # Most records lie near their own centroid. From there the others would have to look far
        # around, while a nearer centroid is often found where they lie themselves.
        far = search.run(np.arange(len(own)), tree.cell[own], everywhere=False)
        if len(far):
            search.run(far, tree.cells_at(columns.take(far, axis=1)), everywhere=True)
    return search.tied


class _Search:
    """The records of one call, and the weight of the centroids tied with each one's own."""

    def __init__(
        self, tree: CentroidTree, weights: Vector, columns: Matrix, own: Labels, slack: float
    ) -> None:
        self.tree, self.weights, self.slack = tree, weights, slack
        self.columns, self.own = columns, own
        self.tied = np.zeros(len(own))
        regions = min(max(1, len(weights) // REGION), tree.count // BLOCK or 1)
        self.regions = 2 ** (regions.bit_length() - 1)

    def run(self, rows: Labels, cell: Labels, *, everywhere: bool) -> Labels:
        """Search from these cells; return the rows left out as too far from there, if not `everywhere`."""
        order = np.argsort(cell.astype(np.min_scalar_type(self.tree.count)), kind="stable")
        rows, cell = rows[order], cell[order]
        per = self.tree.count // self.regions
        bounds = np.searchsorted(cell, np.arange(self.regions + 1) * per).tolist()
        left_out = [rows[:0]]
        for number, (start, stop) in enumerate(itertools.pairwise(bounds)):
            if start < stop:
                region = _Region(self, number * per, per)
                left_out.append(region.search(rows[start:stop], cell[start:stop], everywhere))
        return np.concatenate(left_out)

    def count(self, rows: Labels, which: Labels, centroid: Labels) -> None:
        """Decide by plain distances, from pairs of a place in `rows` and a candidate of that row.

        The candidates of a row are all centroids that may be as near as its own one, itself too.
        """
        columns, own = self.tree.columns, self.own[rows]
        mine = self.columns.take(rows, axis=1)
        distance = _distance(mine.take(which, axis=1), columns.take(centroid, axis=1))
        own_distance = _distance(mine, columns.take(own, axis=1))
        nearest = np.full(len(rows), np.inf)
        np.minimum.at(nearest, which, distance)
        equal = distance <= nearest[which] + self.slack
        weight = np.bincount(which[equal], self.weights[centroid[equal]], minlength=len(rows))
        self.tied[rows] = np.where(own_distance <= nearest + self.slack, weight, 0.0)


@dataclass(frozen=True, eq=False, slots=True)
class _Records:
    """Records of a region: where they start, and (d, n) their coordinates about its middle."""

    rows: Labels
    cell: Labels
    points: Matrix
    radius: Vector
    level: Vector
    slack: Vector
    squares: Vector

    def only(self, kept: Labels) -> _Records:
        """Return some of them."""
        arrays = (getattr(self, name).take(kept, axis=-1) for name in self.__slots__)
        return _Records(*arrays)

    def lifted(self) -> Single:
        """Return the coordinates with a row of -1, whose products with centroids are compared."""
        d, n = self.points.shape
        lifted = np.empty((d + 1, n), dtype=np.float32)
        lifted[:d], lifted[d] = self.points, -1.0
        return lifted

    def limits(self, epsilon: float) -> tuple[Vector, Vector]:
        """Return the products below which a centroid is clearly farther, and above which nearer."""
        # What rounding may change, relatively, at centroids y as near as the own one: there |y| is
        # at most |x| and the radius. Farther ones lose more by being farther than by rounding.
        margin = self.slack + 2 * (len(self.points) + 4) * self.squares * epsilon + TINY
        if epsilon == EPSILON_SINGLE:
            margin[~(self.squares <= HUGE)] = np.inf
        return self.level - margin, self.level + margin


class _Region:
    """A part of the tree, from whose cells records search."""

    def __init__(self, search: _Search, first: int, cells: int) -> None:
        self.whole, self.tree = search, search.tree
        self.first, self.cells = first, cells
        self.centre = search.tree.points[first + cells // 2, 0]

    def search(self, rows: Labels, cell: Labels, everywhere: bool) -> Labels:
        """Decide the records that start in these cells; return the rows that were left out."""
        records = self._records(rows, cell)
        blocks = min(self.cells, BLOCK)
        best = self._best_in_blocks(records, blocks)
        left = ~(best > records.limits(EPSILON_SINGLE)[1])
        far = np.zeros(len(rows), dtype=np.bool_)
        if not everywhere:
            bounds = self.tree.bounds[:, self.first : self.first + self.cells]
            low, high = np.split(bounds.reshape(len(bounds), -1, blocks).min(axis=2), 2)
            diagonals = np.sqrt(np.square(high + low).sum(axis=0))
            far = left & (records.radius > diagonals[(cell - self.first) // blocks])
        near = np.flatnonzero(left & ~far)
        if len(near):
            _Descent(self, records.only(near)).run()
        return rows[far]

    def _records(self, rows: Labels, cell: Labels) -> _Records:
        whole = self.whole
        points = whole.columns.take(rows, axis=1)
        offsets = points - self.tree.columns.take(whole.own[rows], axis=1)
        squares = np.einsum("ij,ij->j", offsets, offsets)
        points -= self.centre[:, None]
        norms = np.einsum("ij,ij->j", points, points)
        radius = np.sqrt(squares) + 2 * whole.slack
        # x.y - |y|^2 / 2 is the larger, the nearer y is: this is its value at the own centroid.
        level = (norms - squares) / 2
        # A slack of distances as one of half their squares.
        slack = 2 * whole.slack * (radius + whole.slack)
        return _Records(rows, cell, points, radius, level, slack, norms + squares)

    def centroids(self, cells: Labels | slice, real: type[np.floating]) -> npt.NDArray[Any]:
        """Return (cells, width, d + 1) coordinates of centroids and half their squared norms."""
        points = self.tree.points[cells]
        lifted = np.empty((*points.shape[:2], points.shape[2] + 1), dtype=real)
        local = lifted[:, :, :-1]
        np.subtract(points, self.centre, out=local, casting="same_kind")
        lifted[:, :, -1] = np.einsum("ijk,ijk->ij", local, local) / 2
        # Repeated centroids are out of reach; infinity would be no number in some products.
        lifted[:, :, -1][~self.tree.real[cells]] = np.finfo(real).max / 4
        return lifted

    def _best_in_blocks(self, records: _Records, blocks: int) -> Single:
        """Return the largest product of each record with the centroids of its block of cells."""
        own = slice(self.first, self.first + self.cells)
        centroids = self.centroids(own, np.float32)
        centroids = centroids.reshape(self.cells // blocks, -1, centroids.shape[2])
        numbers = np.arange(len(centroids) + 1) * blocks + self.first
        bounds = np.searchsorted(records.cell, numbers).tolist()
        lifted = records.lifted()
        best = np.empty(len(records.rows), dtype=np.float32)
        for block, (start, stop) in zip(centroids, itertools.pairwise(bounds), strict=True):
            (lifted[:, start:stop].T @ block.T).max(axis=1, out=best[start:stop])
        return best


class _Descent:
    """A search of records of a region, from all cells in reach down to those in reach of few."""

    def __init__(self, region: _Region, records: _Records) -> None:
        self.region, tree = region, region.tree
        leaf = (records.cell - region.first) // LEAF
        leaves = max(1, region.cells // LEAF)
        counts = np.bincount(leaf, minlength=leaves)
        pieces = -(-counts // ROWS)
        if counts.max() > ROWS:
            # Those with a far centroid come last, so that one of them does not widen many searches.
            records = records.only(np.lexsort((records.radius, leaf)))
        self.records = records
        starts = np.cumsum(counts) - counts
        inner = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        of = np.repeat(np.arange(leaves), pieces)
        self.starts = [*(starts[of] + inner * counts[of] // pieces[of]).tolist(), len(leaf)]
        points, centre = records.points, region.centre[:, None]
        ends = np.concatenate([points + centre + records.radius, records.radius - centre - points])
        ends[np.isnan(ends)] = np.inf
        reach = np.maximum.reduceat(ends, self.starts[:-1], axis=1)
        self.reach, self.children = [reach], list[list[int]]()
        first = np.concatenate([[0], np.cumsum(pieces)])
        while True:
            # The parts of a node are those of up to FAN nodes of the level below it.
            first = first[:: min(FAN, len(first) - 1)]
            self.children.insert(0, first.tolist())
            self.reach.insert(0, _joined(self.reach[0], first))
            first = np.arange(len(first))
            if len(first) == 2:
                break
        boxes = tree.bounds
        self.cells = _within(boxes, self.reach[0][:, 0])
        self.boxes = boxes.take(self.cells, axis=1)
        self.centroids = region.centroids(self.cells, np.float32)
        self.lifted = records.lifted()
        self.low, self.high = records.limits(EPSILON_SINGLE)
        own = region.whole.own[records.rows]
        self.own_at = self.cells.searchsorted(tree.cell[own])
        self.own_slot = tree.slot[own]
        self.best = np.empty(len(own), dtype=np.float32)

    def run(self) -> None:
        """Decide all of the records."""
        self._descend(0, 0, np.arange(len(self.cells)), self.boxes)
        linked = self.best < self.low
        whole, rows = self.region.whole, self.records.rows[linked]
        whole.tied[rows] = whole.weights[whole.own[rows]]

    def _descend(self, level: int, node: int, at: Labels, boxes: Matrix) -> None:
        """Descend with the cells that a node can reach; `at` are their places in `cells`."""
        near = _within(boxes, self.reach[level][:, node])
        if level == len(self.children):
            self._compare(slice(self.starts[node], self.starts[node + 1]), at.take(near))
            return
        at, boxes = at.take(near), boxes.take(near, axis=1)
        first, last = self.children[level][node : node + 2]
        for child in range(first, last):
            self._descend(level + 1, child, at, boxes)

    def _compare(self, part: slice, at: Labels) -> None:
        """Compare a few records with the centroids of cells."""
        centroids = self.centroids.take(at, axis=0)
        _, width, lifted = centroids.shape
        others = centroids.reshape(-1, lifted).T
        own = at.searchsorted(self.own_at[part]) * width + self.own_slot[part]
        step = max(1, PRODUCTS // others.shape[1])
        for start in range(part.start, part.stop, step):
            some = slice(start, min(start + step, part.stop))
            products = self.lifted[:, some].T @ others
            mine = own[start - part.start : some.stop - part.start]
            products[np.arange(len(mine)), mine] = -np.inf
            best = products.max(axis=1, out=self.best[some])
            doubt = ~((best < self.low[some]) | (best > self.high[some]))
            if doubt.any():
                self._count(np.flatnonzero(doubt) + start, at)

    def _count(self, doubtful: Labels, at: Labels) -> None:
        """Decide records whose best product does not tell."""
        region, cells = self.region, self.cells[at]
        records = self.records.only(doubtful)
        centroids = region.centroids(cells, np.float64).reshape(-1, len(records.points) + 1)
        nearness = records.points.T @ centroids[:, :-1].T - centroids[:, -1]
        least, _ = records.limits(EPSILON)
        # In one dimension, where looking for what is not zero is many times as fast as in two. What is
        # no number, as squares are too large for double precision, too, is left to plain distances.
        places = np.flatnonzero(~(nearness < least[:, None]))
        which, place = np.divmod(places, nearness.shape[1])
        real = region.tree.real[cells].ravel()[place]
        centroid = region.tree.members[cells].ravel()[place]
        region.whole.count(records.rows, which[real], centroid[real])
        self.best[doubtful] = np.inf


def _within(boxes: Matrix, reach: Vector) -> Labels:
    """Return the boxes that meet another, given by its largest values and the negated least."""
    return np.flatnonzero((boxes <= reach[:, None]).all(axis=0))


def _joined(reach: Matrix, first: Labels) -> Matrix:
    """Return the boxes of nodes from those of their parts; a node without parts reaches nothing."""
    joined = np.full((len(reach), len(first) - 1), -np.inf)
    held = np.flatnonzero(np.diff(first))
    joined[:, held] = np.maximum.reduceat(reach, first[held], axis=1)
    return joined


def _distance(one: Matrix, other: Matrix) -> Vector:
    """Return the distances of pairs of columns."""
    distance: Vector = np.sqrt(np.square(one - other).sum(axis=0))
    return distance
