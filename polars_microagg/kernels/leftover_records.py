"""The records that are left when no further group can be formed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.distance import total
from polars_microagg.kernels.sum_of_squares import Centroids

__all__ = ["join_last", "join_leftover"]


def join_leftover(columns: Matrix, groups: Sequence[Labels]) -> Labels:
    """Return (n,) labels with each leftover record in the group with the nearest centroid.

    `groups` lists the rows of each group in the order of forming; of equally near ones it is the
    first. Centroids are those before any record is added.

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
    """Return (n,) labels with all leftover records in one of the `last` groups formed.

    It is the group whose centroid is nearest to their mean, the first formed of equals.

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
    """Return the number of the group of each record, -1 if it is in none."""
    labels = np.full(columns.shape[1], -1, dtype=np.intp)
    for number, rows in enumerate(groups):
        labels[rows] = number
    return labels
