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
    """Means of groups, of whole records as sums and numbers so that no digit of them is lost.

    Parameters
    ----------
    columns : array of shape (d, n)
        One record a column.
    labels : array of shape (n,)
        Number of the group of each record; -1 if it has none.
    groups : int
        Number of groups, none of them empty.

    Attributes
    ----------
    counts : array of shape (groups,)
        Records of each group.
    means : array of shape (d, groups)
        Where the centroids are, one a column, rounded.
    points : array of shape (d, groups)
        Sums of the groups, each added in row order; the means if the records are not whole.
    times : array of shape (groups,)
        How many times the means the points are: the counts, or 1.
    whole : bool
        Whether the records are whole.
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
        """Squared distance from the centroid of some groups to each of some records, one a row."""
        times = self.times[groups, None]
        # With s the sum of n whole records, n |x - s/n| = |n x - s| is whole.
        offsets = times * records[:, None] - self.points[:, groups, None]
        return squared_distances(offsets, np.zeros((len(records), 1))) / times**2


def commensurable(found: Centroids) -> Matrix:
    """Means times the least number that makes those of whole records whole again.

    Parameters
    ----------
    found : Centroids
        Centroids of groups, none of them empty.

    Returns
    -------
    array of shape (d, groups)
        The means, all on one scale.

    Examples
    --------
    >>> x = np.array([[0.0, 1.0, 5.0, 5.0, 6.0]])
    >>> commensurable(Centroids(x, np.array([0, 0, 1, 1, 1]), 2))
    array([[ 3., 32.]])
    """
    multiple = 1
    for times in np.unique(found.times).tolist():
        multiple = int(np.lcm(multiple, int(times)))
        if multiple > MULTIPLE:
            return found.means
    scaled: Matrix = found.points * (multiple / found.times)
    return scaled


def sums_of_squares(columns: Matrix, members: Labels) -> Vector:
    """Sum of squares about the mean of each of several sets of m records.

    Parameters
    ----------
    columns : array of shape (d, n)
        One record a column.
    members : array of shape (m, s)
        Rows of a set in each column.

    Returns
    -------
    array of shape (s,)
        The sums, the same whatever other sets there are; exactly 0 where all records are equal.

    Examples
    --------
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
    """Sum of squares of each group of a partition; exactly 0 where all records are equal.

    Parameters
    ----------
    columns : array of shape (d, n)
        One record a column.
    labels : array of shape (n,)
        Number of the group of each record, none of them empty.

    Returns
    -------
    array of shape (groups,)
        The sums.

    Examples
    --------
    >>> group_sse(np.array([[0.0, 5.0, 2.0, 5.0]]), np.array([0, 1, 0, 1]))
    array([2., 0.])
    """
    first = np.unique(labels, return_index=True)[1]
    offsets = columns - columns.take(first[labels], axis=1)
    means = Centroids(offsets, labels, len(first)).means
    offsets -= means.take(labels, axis=1)
    squares = squared_distances(offsets, np.zeros(len(columns)))
    sums: Vector = np.bincount(labels, squares).astype(np.float64, copy=False)
    return sums


def worst_first(columns: Matrix, labels: Labels) -> Labels:
    """Order groups by their sum of squares, the greatest first; of equal ones the lowest number.

    Parameters
    ----------
    columns : array of shape (d, n)
        One record a column.
    labels : array of shape (n,)
        Number of the group of each record, none of them empty.

    Returns
    -------
    array of shape (groups,)
        Numbers of the groups in this order.

    Examples
    --------
    >>> worst_first(np.array([[0.1, 0.2, 5.0, 0.3, 0.4, 9.0]]), np.array([0, 0, 1, 2, 2, 1]))
    array([1, 0, 2])
    """
    sse = group_sse(columns, labels)
    order = (-sse).argsort(kind="stable")
    ranked = sse[order]
    rank = np.cumsum(np.append(False, ranked[1:] < (1 - TIE) * ranked[:-1]))
    return order[np.lexsort((order, rank))]
