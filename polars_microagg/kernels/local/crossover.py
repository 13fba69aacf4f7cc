"""Crossover of two groupings: of each part where they differ, the better one."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Partition
from polars_microagg.kernels.local.local_search import squares_within

__all__ = ["crossed"]


def crossed(x: Matrix, one: Labels, two: Labels) -> Labels:
    """Return, of each part of the (n, d) records, its grouping with the lower sum of squares.

    Every group of the result is a group of `one` or `two`; its sum of squares is at most that of
    either.

    >>> x = np.array([[0.0], [1.0], [5.0], [6.0], [20.0], [21.0], [25.0], [26.0]])
    >>> crossed(x, np.array([0, 0, 1, 1, 2, 3, 2, 3]), np.array([0, 1, 0, 1, 2, 2, 3, 3]))
    array([0, 0, 1, 1, 2, 2, 3, 3])
    """
    # A part is a smallest set of records such that neither grouping has a group partly inside it.
    # So the parts can be chosen one by one, groups stay whole and keep k, and the sums of squares
    # add up.
    part = _parts(one, two)
    first = np.bincount(part, squares_within(x, one))
    second = np.bincount(part, squares_within(x, two))
    better = np.where((second < first)[part], two + one.max() + 1, one)
    return Partition.from_labels(better).labels


def _parts(one: Labels, two: Labels) -> Labels:
    """Number the connected parts of the records that share a group in either grouping."""
    part = one
    while True:
        before = part
        for labels in (two, one):
            least = np.full(int(labels.max()) + 1, len(one))
            np.minimum.at(least, labels, part)
            part = least[labels]
        if np.array_equal(part, before):
            return part
