"""Centroids of groups, and sums of squares within them."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.distance import squared_distances
from polars_microagg.kernels.whole_numbers import is_whole

__all__ = [
    "TIE",
    "Centroids",
    "commensurable",
    "group_sse",
    "sums_of_squares",
    "worst_first",
]

TIE = 1e-12
"""Sums of squares that differ by less, relatively, count as equal."""


MULTIPLE = 1 << 20
"""Means are brought to a common denominator up to this."""


class Centroids:
    """Means of groups, of whole records as sums and numbers so that no digit is lost.

    `labels` (n,) may be -1; no group is empty. `counts` (groups,) are the sizes and `means` (d,
    groups) the rounded means; `points` (d, groups) are the sums, in row order, if the records are
    `whole`, else the means, and `times` (groups,) says how many times the means they are.
    """

    def __init__(self, columns: Matrix, labels: Labels, groups: int) -> None:
        # np.bincount adds in order, as `total` does; -1 is counted in front and dropped.
        self.counts = np.bincount(labels + 1, minlength=groups + 1)[1:]
        sums = np.array([np.bincount(labels + 1, column, groups + 1)[1:] for column in columns])
        self.means: Matrix = sums / self.counts
        self.whole = is_whole(columns)
        self.points = sums if self.whole else self.means
        self.times = np.where(self.whole, self.counts, 1).astype(np.float64)

    def squared_distances(self, records: Matrix, groups: Labels) -> Matrix:
        """Return squared distances from these groups' centroids, one a row, to records."""
        times = self.times[groups, None]
        # With s the sum of n whole records, n |x - s/n| = |n x - s| is whole.
        offsets = times * records[:, None] - self.points[:, groups, None]
        return squared_distances(offsets, np.zeros((len(records), 1))) / times**2


def commensurable(centroids: Centroids) -> Matrix:
    """Return (d, groups) means times the least number that makes those of whole records whole.

    >>> x = np.array([[0.0, 1.0, 5.0, 5.0, 6.0]])
    >>> commensurable(Centroids(x, np.array([0, 0, 1, 1, 1]), 2))
    array([[ 3., 32.]])
    """
    # Distances between multiples of the means order pairs alike, and whole multiples are compared
    # without rounding.
    multiple = 1
    for times in np.unique(centroids.times).tolist():
        multiple = int(np.lcm(multiple, int(times)))
        if multiple > MULTIPLE:
            return centroids.means
    scaled: Matrix = centroids.points * (multiple / centroids.times)
    return scaled


def sums_of_squares(columns: Matrix, members: Labels) -> Vector:
    """Return the (s,) sums of squares of sets of m records about their means.

    `members` (m, s) has the rows of a set in each column. A sum is the same whatever other sets
    there are, and exactly 0 where all records are equal.

    >>> sums_of_squares(np.array([[0.1, 0.3, 0.1, 0.7]]), np.array([[0, 1], [2, 3]]))
    array([0.  , 0.08])
    """
    records = columns.take(members, axis=1)
    # Less the first record, equal ones are exactly 0, whatever their mean is rounded to.
    records -= records[:, :1]
    means = np.cumsum(records, axis=1)[:, -1] / len(members)
    sums: Vector = np.cumsum(squared_distances(records, means), axis=0)[-1]
    return sums


def group_sse(columns: Matrix, labels: Labels) -> Vector:
    """Return the (groups,) sums of squares of a partition.

    Exactly 0 where all records are equal.

    >>> group_sse(np.array([[0.0, 5.0, 2.0, 5.0]]), np.array([0, 1, 0, 1]))
    array([2., 0.])
    """
    first = np.unique(labels, return_index=True)[1]
    # Less a record of the group, equal records are exactly 0, whatever their mean is rounded to.
    offsets = columns - columns.take(first[labels], axis=1)
    means = Centroids(offsets, labels, len(first)).means
    offsets -= means.take(labels, axis=1)
    squares = squared_distances(offsets, np.zeros(len(columns)))
    sums: Vector = np.bincount(labels, squares).astype(np.float64, copy=False)
    return sums


def worst_first(columns: Matrix, labels: Labels) -> Labels:
    """Return the groups by sum of squares, the greatest first; of equal ones the lowest number.

    >>> worst_first(np.array([[0.1, 0.2, 5.0, 0.3, 0.4, 9.0]]), np.array([0, 0, 1, 2, 2, 1]))
    array([1, 0, 2])
    """
    sse = group_sse(columns, labels)
    order = (-sse).argsort(kind="stable")
    ranked = sse[order]
    # Sums within TIE of the one before share a rank, and in a rank the lowest number comes first.
    rank = np.cumsum(np.append(False, ranked[1:] < (1 - TIE) * ranked[:-1]))
    return order[np.lexsort((order, rank))]
