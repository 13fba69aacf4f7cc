"""Tours from record to nearest record, and through the groups of a partition."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.distance import squared_distances, total
from polars_microagg.kernels.remaining_records import RemainingRecords
from polars_microagg.kernels.sum_of_squares import Centroids, commensurable

__all__ = ["nearest_point_next", "through_groups"]


def nearest_point_next(x: Matrix) -> Labels:
    """Return the rows from the one farthest from the mean, always on to the nearest left.

    >>> nearest_point_next(np.array([[3.0], [0.0], [9.0], [4.0]]))
    array([2, 3, 0, 1])
    """
    # J. Domingo-Ferrer, A. Martinez-Balleste, J. M. Mateo-Sanz and F. Sebe (2006), "Efficient
    # multivariate data-oriented microaggregation", The VLDB Journal 15, 355-369: nearest point
    # next.
    remaining = RemainingRecords(x)
    path = np.empty(len(x), dtype=np.intp)
    row = remaining.farthest_from_mean()
    for step in range(len(path)):
        path[step] = row
        remaining.remove(path[step : step + 1])
        if len(remaining):
            row = int(remaining.nearest_to_point(remaining.columns[:, row], 1)[0])
    return path


def through_groups(columns: Matrix, labels: Labels) -> Labels:
    """Return the rows along a tour from group to group, and within each through its records.

    `columns` (d, n) are centred records. The groups follow each other as their centroids do by
    `nearest_point_next`. In a group the first record is the one nearest to the centroid before it,
    the last the one of the others nearest to the centroid after it, and between them the tour goes
    to the nearest one not visited. The first group starts with the record farthest from the mean of
    all. Equally near ones go by row.

    >>> columns = np.array([[1.0, 8.0, 9.0, 3.0, 2.0, 0.0]]) - 4
    >>> through_groups(columns, np.array([0, 1, 1, 2, 2, 0]))
    array([2, 1, 3, 4, 0, 5])
    """
    groups = int(labels.max()) + 1
    means = Centroids(columns, labels, groups)
    path = nearest_point_next(commensurable(means).T)
    points, times = means.points[:, path], means.times[path]
    visit = np.empty(groups, dtype=np.intp)
    visit[path] = np.arange(groups)
    walk = _Walk(columns, visit[labels])
    index, sizes = np.arange(groups), walk.free.sum(axis=1)
    # Whole records are compared n times as large, with sums instead of means: nothing is rounded
    # and equal distances are equal.
    n = np.array([columns.shape[1] if means.whole else 1.0])
    middle = total(columns)[:, None] if means.whole else np.zeros((len(columns), 1))
    walk.go(index[:1], 0, -walk.distances(index[:1], middle, n))
    walk.go(index[1:], 0, walk.distances(index[1:], points[:, :-1], times[:-1]))
    # The last record is chosen before those between, so the walk must go on from the first one.
    last_visited = walk.at.copy()
    longer = np.flatnonzero(sizes[:-1] > 1)
    walk.go(
        longer, sizes[longer] - 1, walk.distances(longer, points[:, longer + 1], times[longer + 1])
    )
    walk.at = last_visited
    for step in range(1, int(sizes.max())):
        left = np.flatnonzero(walk.free.any(axis=1))
        last = walk.cube[:, left, walk.at[left]]
        walk.go(left, step, walk.distances(left, last, np.ones(len(left))))
    return walk.rows[index[:, None], walk.order][walk.order >= 0]


class _Walk:
    """Groups side by side, each a row of slots with its records, and the order of its slots."""

    def __init__(self, columns: Matrix, group: Labels) -> None:
        sizes = np.bincount(group)
        slots = np.arange(sizes.max())
        self.free = slots < sizes[:, None]
        self.rows = np.zeros(self.free.shape, dtype=np.intp)
        self.rows[self.free] = np.argsort(group, kind="stable")
        self.order = np.full(self.free.shape, -1, dtype=np.intp)
        self.cube = columns.take(self.rows, axis=1)
        self.at = np.zeros(len(sizes), dtype=np.intp)

    def distances(self, groups: Labels, points: Matrix, times: Vector) -> Matrix:
        """Compare the records of several groups, `times` times each, with one point each."""
        d, _, slots = self.cube.shape
        offsets = times[:, None] * self.cube[:, groups] - points[:, :, None]
        return squared_distances(offsets.reshape(d, -1), np.zeros(d)).reshape(-1, slots)

    def go(self, groups: Labels, step: Labels | int, distances: Matrix) -> None:
        """Visit the free record at the least distance, in several groups."""
        slot = np.where(self.free[groups], distances, np.inf).argmin(axis=1)
        self.order[groups, step] = slot
        self.free[groups, slot] = False
        self.at[groups] = slot
