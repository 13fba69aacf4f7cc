"""Maximum distance to average vector, the records left over going to the nearest groups."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.leftover_records import join_leftover
from polars_microagg.kernels.remaining_records import RemainingRecords

__all__ = ["mdav1"]


@method(cite="Lin, Wen, Hsieh and Chang (2010)", paper="002", cost="n^2/k", limit=2_000_000)
def mdav1(x: Matrix, /, *, k: int) -> Partition:
    """Group as MDAV does, and add each record left over to the group nearest to it.

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
    MDAV-1 of J.-L. Lin, T.-H. Wen, J.-C. Hsieh and P.-C. Chang (2010), "Density-based
    microaggregation for statistical disclosure control", Expert Systems with Applications 37(4),
    3256-3263, as described by A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    While at least 2k records remain, r is the remaining record farthest from their mean and s
    the one farthest from r; r and the k - 1 remaining records nearest to it form a group, then s
    and the k - 1 nearest to it. If r's group has taken s, the record now farthest from r stands
    in for it. If at least k records remain then, the one farthest from their mean and the k - 1
    nearest to it form a group. Any remaining records are added to their respective nearest
    groups. Equal distances go to the lowest row, or to the group formed first.

    The paper leaves open what is nearest: here it is the group with the nearest centroid, as the
    groups were before any record was added.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.5], [20.0], [21.0]])
    >>> mdav1(x, k=2).labels
    array([0, 0, 0, 1, 1])
    """
    if len(x) < 2 * k:
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))
    remaining = RemainingRecords(x)
    groups = []
    while len(remaining) >= 2 * k:
        r = remaining.farthest_from_mean()
        s = remaining.farthest_from(r)
        groups.append(remaining.take(r, k))
        if s not in remaining:
            s = remaining.farthest_from(r)
        groups.append(remaining.take(s, k))
    if len(remaining) >= k:
        groups.append(remaining.take(remaining.farthest_from_mean(), k))
    return Partition.from_labels(join_leftover(remaining.columns, groups))
