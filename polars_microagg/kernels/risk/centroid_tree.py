"""A balanced tree of centroids: cells of a few that lie together, with their boxes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix

__all__ = ["CentroidTree"]

CELL = 8
"""A cell has fewer centroids than this, and at least half as many."""

CHUNK = 65_536
"""Records that are brought to their cells at a time."""


class CentroidTree:
    """A tree that halves (d, g) columns of centroids at the median of the widest one.

    The halves at the bottom are the cells: `members` (cells, width) are the numbers of their
    centroids. Cells with one fewer repeat their last; `real` says which are none of these. `bounds`
    (2d, cells) are the least values of a cell and the negated largest, `cell` (g,) and `slot` (g,)
    where each centroid is found.
    """

    def __init__(self, columns: Matrix) -> None:
        g = columns.shape[1]
        self.depth = max(0, (2 * g // CELL).bit_length() - 1)
        self.count = 2**self.depth
        self.columns = columns
        self._axis = np.zeros(self.count, dtype=np.intp)
        self._cut = np.zeros(self.count)
        order, sizes = np.arange(g), np.array([g])
        for level in range(self.depth):
            order, sizes = self._halved(order, sizes, 2**level)
        ends = np.cumsum(sizes)
        self.width = int(sizes.max())
        slots = np.arange(self.width)
        self.real: npt.NDArray[np.bool_] = slots < sizes[:, None]
        self.members: Labels = order[np.minimum((ends - sizes)[:, None] + slots, ends[:, None] - 1)]
        self.points: npt.NDArray[np.float64] = columns.T.take(self.members, axis=0)
        low, high = self.points.min(axis=1), self.points.max(axis=1)
        self.bounds: Matrix = np.concatenate([low.T, -high.T])
        self.cell, self.slot = np.empty(g, dtype=np.intp), np.empty(g, dtype=np.intp)
        cell, slot = np.nonzero(self.real)
        self.cell[order], self.slot[order] = cell, slot

    def _halved(self, order: Labels, sizes: Labels, first: int) -> tuple[Labels, Labels]:
        """Split all nodes of a level, whose sizes differ by at most one; so do their halves' sizes."""
        ends, least, width = np.cumsum(sizes), int(sizes.min()), int(sizes.max())
        slots = np.minimum((ends - sizes)[:, None] + np.arange(width), ends[:, None] - 1)
        rows = order[slots]
        points = self.columns.take(rows, axis=1)
        axis = np.argmax(points.max(axis=2) - points.min(axis=2), axis=0)
        nodes = np.arange(len(sizes))
        values = points[axis, nodes]
        # A shorter node repeats its last centroid, which must stay out of the lower half.
        short = sizes < width
        values[short, -1] = np.inf
        middle = (least + 1) // 2
        chosen = np.argpartition(values, middle, axis=1)
        self._axis[first : 2 * first] = axis
        self._cut[first : 2 * first] = values[nodes, chosen[:, middle]]
        kept = np.take_along_axis(rows, chosen, axis=1)[~(short[:, None] & (chosen == width - 1))]
        return kept, np.column_stack([np.full(len(sizes), middle), sizes - middle]).ravel()

    def cells_at(self, columns: Matrix) -> Labels:
        """Return the cell in which each of (d, n) points lies."""
        n = columns.shape[1]
        cells = np.empty(n, dtype=np.intp)
        for start in range(0, n, CHUNK):
            part = np.ascontiguousarray(columns[:, start : start + CHUNK].T)
            node, rows = np.ones(len(part), dtype=np.intp), np.arange(len(part))
            for _ in range(self.depth):
                node = 2 * node + (part[rows, self._axis[node]] >= self._cut[node])
            cells[start : start + CHUNK] = node - self.count
        return cells
