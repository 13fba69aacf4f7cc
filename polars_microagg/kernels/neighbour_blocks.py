"""Many records cut into blocks of neighbours, and MDAV in all blocks at once."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["equal_blocks", "mdav_in_blocks", "random_parts"]

SAMPLE = 64
"""Records of a block that decide along which column it is cut."""

CACHED = 1 << 17
"""Values handled at a time, so that they stay in the cache."""


def equal_blocks(x: Matrix, count: int) -> Labels:
    """Return the (count, n / count) rows of blocks of neighbours, as in a k-d tree.

    Records are halved along the column where they spread most, again and again; `count` is a power
    of 2 that divides n. Consecutive blocks are near each other.

    >>> np.sort(equal_blocks(np.array([[9.0], [1.0], [8.0], [0.0]]), 2))
    array([[1, 3],
           [0, 2]])
    """
    n = len(x)
    columns = np.ascontiguousarray(x.T)
    values = columns.reshape(-1)
    blocks = np.arange(n)[None]
    while len(blocks) < count:
        width = blocks.shape[1]
        # A sample bounds the spread well enough: the cut only decides how fast a search is, or
        # where a heuristic starts.
        sample = columns[:, blocks[:, :: max(1, width // SAMPLE)]]
        widest = (sample.max(axis=2) - sample.min(axis=2)).argmax(axis=0)
        halves = np.empty((2 * len(blocks), width // 2), dtype=np.intp)
        step = max(1, CACHED // width)
        for first in range(0, len(blocks), step):
            part = blocks[first : first + step]
            keys = values.take(part + widest[first : first + step, None] * n)
            order = np.argpartition(keys, width // 2, axis=1)
            cut = np.take_along_axis(part, order, axis=1)
            halves[2 * first : 2 * (first + len(part))] = cut.reshape(-1, width // 2)
        blocks = halves
    return blocks


def random_parts(points: Matrix, size: int, rng: np.random.Generator) -> list[Labels]:
    """Return the rows of parts of at most `size` neighbouring points, cut in random axes.

    Consecutive parts are near each other.
    """
    # QR of a normal matrix gives random axes, so that borders of successive calls run in different
    # directions.
    turned = points @ np.linalg.qr(rng.normal(size=(points.shape[1],) * 2))[0]
    parts = []
    stack = [np.arange(len(points))]
    while stack:
        rows = stack.pop()
        if len(rows) <= size:
            parts.append(np.sort(rows))
            continue
        local = turned[rows]
        widest = int(local[:: max(1, len(rows) // 1024)].var(axis=0).argmax())
        # A cut somewhere in the middle, so that the next time it is somewhere else.
        half = int(len(rows) * rng.uniform(0.4, 0.6))
        order = np.argpartition(local[:, widest], half)
        stack += [rows[order[half:]], rows[order[:half]]]
    return parts


def mdav_in_blocks(x: Matrix, blocks: Labels, k: int, layers: int = 1) -> Labels:
    """Return (n,) labels of MDAV in each of many equal blocks, up to rounding.

    `blocks` (b, m) has the rows of each, m >= k. Groups have k records, the last of each block k to
    2k - 1. With several `layers`, equal runs of the rows of a block, a group takes as many records of
    each; their number divides k and m.

    >>> mdav_in_blocks(np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([[0, 1, 2, 3]]), 2)
    array([0, 0, 1, 1])
    """
    labels = np.empty(len(x), dtype=np.intp)
    groups = max(1, blocks.shape[1] // k)
    step = max(1, CACHED // (blocks.shape[1] * (x.shape[1] + 1)))
    for first in range(0, len(blocks), step):
        part = blocks[first : first + step]
        offset = (first + np.arange(len(part))) * groups
        labels[part] = _Blocks(x[part], k, layers).group(groups) + offset[:, None]
    return labels


class _Blocks:
    """Blocks side by side, their records as columns, and the squared norms below them."""

    def __init__(self, x: Matrix, k: int, layers: int) -> None:
        self.k, self.layers = k, layers
        x = x - x.mean(axis=1, keepdims=True)
        norms = np.einsum("bmd,bmd->bm", x, x)
        self.table = np.concatenate((x.transpose(0, 2, 1), norms[:, None]), axis=1)
        self.total = x.sum(axis=1)
        self.left = x.shape[1]
        self.index = np.arange(len(x))
        # Added to the distances of records that are gone.
        self.gone = np.zeros(norms.shape)
        self.labels = np.full(norms.shape, -1, dtype=np.intp)
        self.made = 0

    def group(self, groups: int) -> Labels:
        """Make all groups of every block."""
        while groups - self.made >= 2:
            r = self.point(self.distances(self.total / self.left) - self.gone)
            distances = self.distances(r)
            # Unlike in exact MDAV, s seeds the second group even if the group of r has taken it:
            # this is only a start for a search.
            s = self.point(distances - self.gone)
            self.take(distances)
            if groups - self.made >= 2:
                self.take(self.distances(s))
        self.labels[self.labels < 0] = self.made
        return self.labels

    def distances(self, points: Matrix) -> Matrix:
        """Return squared distances from one point a block, less a constant."""
        weights = np.ones((len(points), 1, points.shape[1] + 1))
        np.multiply(points, -2.0, out=weights[:, 0, :-1])
        distances: Matrix = np.matmul(weights, self.table)[:, 0]
        return distances

    def point(self, distances: Vector | Matrix) -> Matrix:
        """Return the record of each block at the greatest distance."""
        return self.table[self.index, :-1, distances.argmax(axis=1)]

    def take(self, distances: Matrix) -> None:
        """Group the k nearest remaining records of each block."""
        distances += self.gone
        each = self.k // self.layers
        layered = distances.reshape(len(distances), self.layers, -1)
        near = np.argpartition(layered, each - 1, axis=2)[:, :, :each]
        near += np.arange(self.layers)[:, None] * layered.shape[2]
        near = near.reshape(len(distances), self.k)
        row = self.index[:, None]
        self.labels[row, near] = self.made
        self.gone[row, near] = np.inf
        self.total -= self.table[row, :-1, near].sum(axis=1)
        self.left -= self.k
        self.made += 1
