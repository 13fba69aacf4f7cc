"""The records that are left when no further group can be formed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.distance import total
from polars_microagg.kernels.sum_of_squares import Centroids

__all__ = ["join_last", "join_leftover"]


def join_leftover(columns: Matrix, groups: Sequence[Labels]) -> Labels:
    """Add each record that is in no group to the group nearest to it.

    Nearest is the group with the nearest centroid, of equally near ones the first formed.
    Centroids are those of the groups before any record is added.

    Parameters
    ----------
    columns : array of shape (d, n)
        One record a column.
    groups : sequence of array of int
        Rows of each group, in the order in which they were formed; at least one.

    Returns
    -------
    array of shape (n,)
        Number of the group of each record.

    Examples
    --------
    >>> columns = np.array([[0.0, 1.0, 9.0, 8.0, 6.0, 3.0]])
    >>> join_leftover(columns, [np.array([2, 3]), np.array([0, 1])])
    array([1, 1, 0, 0, 0, 1])
    """
    labels = _numbered(columns, groups)
    left = np.flatnonzero(labels < 0)
    if len(left):
        # Fewer than k records and n / k groups: no more than n distances.
        centroids = Centroids(columns, labels, len(groups))
        distances = centroids.squared_distances(columns[:, left], np.arange(len(groups)))
        labels[left] = distances.argmin(axis=0)
    return labels


def join_last(columns: Matrix, groups: Sequence[Labels], last: int) -> Labels:
    """Add all records that are in no group to one of the groups formed last.

    All of them join the group whose centroid is nearest to their mean, of equally near ones the
    first formed.

    Parameters
    ----------
    columns : array of shape (d, n)
        One record a column.
    groups : sequence of array of int
        Rows of each group, in the order in which they were formed.
    last : int
        How many of the groups come into question, at least 1.

    Returns
    -------
    array of shape (n,)
        Number of the group of each record.

    Examples
    --------
    >>> columns = np.array([[0.0, 1.0, 9.0, 8.0, 6.0, 3.0]])
    >>> join_last(columns, [np.array([2, 3]), np.array([0, 1])], 2)
    array([1, 1, 0, 0, 0, 0])
    """
    labels = _numbered(columns, groups)
    left = np.flatnonzero(labels < 0)
    if len(left):
        centroids = Centroids(columns, labels, len(groups))
        mean = total(columns.take(left, axis=1))
        if centroids.whole:
            # Everything is so many times as far apart, and the mean is whole as well.
            centroids.points *= len(left)
        else:
            mean /= len(left)
        latest = np.arange(len(groups))[-last:]
        labels[left] = latest[centroids.squared_distances(mean[:, None], latest).argmin()]
    return labels


def _numbered(columns: Matrix, groups: Sequence[Labels]) -> Labels:
    labels = np.full(columns.shape[1], -1, dtype=np.intp)
    for number, rows in enumerate(groups):
        labels[rows] = number
    return labels
