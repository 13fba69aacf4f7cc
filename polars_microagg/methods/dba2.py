"""Density-based microaggregation, both stages."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.distance import centred
from polars_microagg.kernels.group_dissolving import decompose
from polars_microagg.kernels.group_splitting import split_large_groups
from polars_microagg.kernels.leftover_records import join_leftover
from polars_microagg.methods._density import densest_first
from polars_microagg.methods.mdav1 import mdav1

__all__ = ["dba2"]


@method(cite="Lin, Wen, Hsieh and Chang (2010)", paper="002", cost="n^2", limit=50_000)
def dba2(x: Matrix, /, *, k: int) -> Partition:
    """Group as DBA-1 does, and dissolve groups whose records fit better into others.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Smallest group size, at least 2.

    Returns
    -------
    Partition
        Groups of k to 2k - 1 records; one group of all if n < 2k.

    Notes
    -----
    DBA-2 of J.-L. Lin, T.-H. Wen, J.-C. Hsieh and P.-C. Chang (2010), "Density-based
    microaggregation for statistical disclosure control", Expert Systems with Applications 37(4),
    3256-3263, as described by A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    The groups of DBA-1 are fine-tuned by checking whether to decompose a group and merge its
    content with other groups, in the reverse of the order in which they were added: each record
    of a group is tentatively added to the group with the nearest other centroid, and if the sums
    of squares of these groups grow by less than that of the group itself, it stays so. At the
    end MDAV-1 is applied to each group with more than 2k - 1 records.

    Centroids are those at the beginning of a group's turn. The paper's text does not say so; this
    gives all printed losses.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [5.0], [14.0], [19.0], [20.0]])
    >>> dba2(x, k=2).labels
    array([0, 0, 0, 1, 1, 1])
    """
    if len(x) < 2 * k:
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))
    columns = centred(x)
    groups = densest_first(columns, k)
    labels = decompose(columns, join_leftover(columns, groups), reversed(range(len(groups))))
    return Partition.from_labels(
        split_large_groups(labels, 2 * k, lambda rows: mdav1(x[rows], k=k).labels)
    )
