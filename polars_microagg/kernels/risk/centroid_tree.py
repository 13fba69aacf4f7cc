"""A balanced tree of centroids that counts those as near as a record's own, in little memory."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["CentroidTree"]

LEAF = 32
"""Most centroids in a leaf."""

ROWS = 64
"""Records that are compared with the same leaves at a time."""

PRODUCT = 2**18
"""Multiplications in one product of matrices."""

CHUNK = 65_536
"""Records that are brought to their leaves at a time."""

FAN = 32
"""Leaves under a node of the level that is looked at first."""

EPSILON = float(np.finfo(np.float64).eps)


class CentroidTree:
    """A balanced tree that halves (g, d) centroids at the median of their widest column.

    `weights` (g,) says how many records each centroid stands for.
    """

    def __init__(self, centroids: Matrix, weights: Vector) -> None:
        g, d = centroids.shape
        self.depth = max(0, int(np.ceil(np.log2(g / LEAF))))
        self.centroids, self.weights = centroids, weights
        leaves = 2**self.depth
        self._axis = np.zeros(leaves, dtype=np.intp)
        self._cut = np.zeros(leaves)
        order = np.arange(g)
        bounds = np.array([0, g])
        for level in range(self.depth):
            self._halve(order, bounds, 2**level)
            middles = (bounds[:-1] + bounds[1:]) // 2
            bounds = np.sort(np.concatenate([bounds, middles]))
        counts = np.diff(bounds)
        width = int(counts.max())
        # Short leaves repeat their last centroid, with a half norm out of reach.
        slots = np.minimum(bounds[:-1, None] + np.arange(width), bounds[1:, None] - 1)
        real = np.arange(width) < counts[:, None]
        self.members: Labels = np.where(real, order[slots], -1)
        points = centroids[order[slots]]
        self.low, self.high = points.min(axis=1), points.max(axis=1)
        half = (points * points).sum(axis=2) / 2
        self.top = float(half.max())
        self.points = np.empty((leaves, width, d + 1))
        self.points[:, :, :d] = points
        self.points[:, :, d] = np.where(real, half, np.inf)
        fan = min(FAN, leaves)
        self.low_of = self.low.reshape(-1, fan, d).min(axis=1)
        self.high_of = self.high.reshape(-1, fan, d).max(axis=1)
        self.fan = fan

    def _halve(self, order: Labels, bounds: Labels, first: int) -> None:
        """Split every node of a level; node i has the children 2i and 2i + 1."""
        for number, (start, stop) in enumerate(itertools.pairwise(bounds)):
            rows = order[start:stop]
            points = self.centroids[rows]
            axis = int(np.argmax(points.max(axis=0) - points.min(axis=0)))
            values = points[:, axis]
            middle = (start + stop) // 2 - start
            chosen = np.argpartition(values, middle)
            order[start:stop] = rows[chosen]
            self._axis[first + number] = axis
            self._cut[first + number] = values[chosen[middle]]

    def leaf_of(self, x: Matrix) -> Labels:
        """Return the leaf in which each point lies."""
        node = np.ones(len(x), dtype=np.intp)
        rows = np.arange(len(x))
        for _ in range(self.depth):
            node = 2 * node + (x[rows, self._axis[node]] >= self._cut[node])
        leaves: Labels = node - 2**self.depth
        return leaves

    def tied(self, x: Matrix, own: Labels, slack: float) -> Vector:
        """Return the (n,) weight of the centroids that are as near as the own one.

        0 if one is nearer. `own` (n,) is the centroid that belongs to each point. Distances that
        differ by `slack` or less are equal.
        """
        n = len(x)
        tied = np.zeros(n)
        leaf = np.empty(n, dtype=np.intp)
        for start in range(0, n, CHUNK):
            leaf[start : start + CHUNK] = self.leaf_of(
                np.ascontiguousarray(x[start : start + CHUNK])
            )
        order = np.argsort(leaf, kind="stable")
        bounds = np.searchsorted(leaf[order], np.arange(len(self.members) + 1))
        for start, stop, number in zip(bounds[:-1], bounds[1:], range(len(bounds)), strict=False):
            if start < stop:
                self._leaf(x, own, order[start:stop], number, slack, tied)
        return tied

    def _leaf(
        self, x: Matrix, own: Labels, rows: Labels, number: int, slack: float, tied: Vector
    ) -> None:
        """Compare the points of one leaf with its centroids, then with those around."""
        points, mine = x[rows], self.centroids[own[rows]]
        squares = ((points - mine) ** 2).sum(axis=1)
        norms = (points * points).sum(axis=1)
        # x.y - |y|^2 / 2 is the larger, the nearer y is.
        level = (norms - squares) / 2
        radius = np.sqrt(squares) + 2 * slack
        # The first term covers the rounding of products; the second turns a slack of distances into
        # one of half their squares.
        margin = 8 * (x.shape[1] + 4) * EPSILON * (norms + self.top) + 2 * slack * (radius + slack)
        lifted = np.column_stack([points, np.full(len(points), -1.0)])
        # A clearly nearer centroid in the leaf of the point makes the link wrong already.
        best = (lifted @ self.points[number].T).max(axis=1)
        left = np.flatnonzero(best <= level + margin)
        # Those with a far centroid come last, so that one of them does not widen many searches.
        left = left[np.argsort(radius[left], kind="stable")]
        for start in range(0, len(left), ROWS):
            part = left[start : start + ROWS]
            # A nearer or equally near centroid lies within the distance of the own one, so in a
            # leaf whose box that ball reaches. No other leaf can matter.
            near = self._around(points[part], float(radius[part[-1]]))
            all_of_them = len(near) == len(self.points)
            block = self.points if all_of_them else self.points[near]
            nearness = _products(lifted[part], block.reshape(-1, lifted.shape[1]))
            hit = nearness.max(axis=1) <= level[part] + margin[part]
            # All centroids within the margin go to `_count`, which decides on plain distances.
            least = np.where(hit, level[part] - margin[part], np.inf)
            self._count(x, own, rows[part], nearness, near, slack, tied, least)

    def _around(self, points: Matrix, radius: float) -> Labels:
        """Return the leaves that a ball around one of the points can reach."""
        low, high, reach = points.min(axis=0), points.max(axis=0), radius * radius
        above = np.flatnonzero(_gap(self.low_of, self.high_of, low, high) <= reach)
        leaves = (above[:, None] * self.fan + np.arange(self.fan)).ravel()
        near = _gap(self.low[leaves], self.high[leaves], low, high) <= reach
        chosen: Labels = leaves[near]
        return chosen

    def _count(
        self,
        x: Matrix,
        own: Labels,
        rows: Labels,
        nearness: Matrix,
        near: Labels,
        slack: float,
        tied: Vector,
        least: Vector,
    ) -> None:
        """Add up the weights of the centroids at the same distance, all computed one way.

        Rows whose least nearness is infinite are passed over.
        """
        # In one dimension, where looking for what is not zero is many times as fast as in two.
        at, place = np.divmod(np.flatnonzero(nearness >= least[:, None]), nearness.shape[1])
        centroid = self.members[near].ravel()[place]
        # Only the own centroid is within the margin: no tie, and no distance to compute.
        plain = np.bincount(at, minlength=len(rows)) == 1
        tied[rows[plain]] = self.weights[own[rows[plain]]]
        unclear = ~plain[at]
        at, centroid = at[unclear], centroid[unclear]
        if not len(at):
            return
        mine = rows[at]
        distance = np.sqrt(((x[mine] - self.centroids[centroid]) ** 2).sum(axis=1))
        own_distance = np.sqrt(((x[mine] - self.centroids[own[mine]]) ** 2).sum(axis=1))
        nearest = np.full(len(rows), np.inf)
        np.minimum.at(nearest, at, distance)
        equal = distance <= nearest[at] + slack
        weight = np.bincount(at[equal], self.weights[centroid[equal]], minlength=len(rows))
        hit = np.zeros(len(rows), dtype=np.bool_)
        hit[at] = own_distance <= nearest[at] + slack
        ties = ~plain & hit
        tied[rows[ties]] = weight[ties]


def _products(rows: Matrix, others: Matrix) -> Matrix:
    """Return the inner products of all pairs, in parts that are too small for BLAS to share out."""
    # Threads of BLAS wait for each other after each part: where other work keeps the processors
    # busy, that takes many times as long as the products.
    products = np.empty((len(rows), len(others)))
    step = max(1, PRODUCT // max(rows.size, 1))
    for start in range(0, len(others), step):
        part = slice(start, start + step)
        np.matmul(rows, others[part].T, out=products[:, part])
    return products


def _gap(low: Matrix, high: Matrix, from_: Vector, to: Vector) -> npt.NDArray[np.float64]:
    """Return the squared distance of boxes from one box."""
    # Both boxes are axis-parallel: column by column the gap is what lies between their intervals.
    apart = np.maximum(low - to, from_ - high)
    np.maximum(apart, 0.0, out=apart)
    gap: npt.NDArray[np.float64] = np.einsum("ij,ij->i", apart, apart)
    return gap
