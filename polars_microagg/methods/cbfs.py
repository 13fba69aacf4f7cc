"""Centroid-based fixed size."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.leftover_records import join_leftover
from polars_microagg.kernels.remaining_records import RemainingRecords

__all__ = ["cbfs"]


@method(cite="Laszlo and Mukherjee (2005)", paper="002", cost="n^2/k", limit=2_000_000)
def cbfs(x: Matrix, /, *, k: int) -> Partition:
    """Group round the record farthest from the mean of the remaining ones, one group a round.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Smallest group size, at least 2.

    Returns
    -------
    Partition
        Groups of k records and up to k - 1 more; one group of all if n < 2k.

    Notes
    -----
    Centroid-based fixed-size microaggregation of M. Laszlo and S. Mukherjee (2005), "Minimum
    spanning tree partitioning algorithm for microaggregation", IEEE Transactions on Knowledge
    and Data Engineering 17(7), 902-911, as described by A. N. Mahmood, M. E.
    Kabir and A. K. Mustafa (2012), section 4.

    The record r that is farthest from the mean of the remaining records forms a group with the
    k - 1 remaining records nearest to it. This is repeated until fewer than k records remain,
    and each of these is added to its nearest group: the one with the nearest centroid, before
    any is added. Equal distances go to the lowest row, or to the group formed first.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.5], [20.0], [21.0]])
    >>> cbfs(x, k=2).labels
    array([0, 0, 0, 1, 1])
    """
    if len(x) < 2 * k:
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))
    remaining = RemainingRecords(x)
    groups = []
    while len(remaining) >= k:
        groups.append(remaining.take(remaining.farthest_from_mean(), k))
    return Partition.from_labels(join_leftover(remaining.columns, groups))
