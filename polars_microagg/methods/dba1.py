"""Density-based microaggregation, first stage."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.distance import centred
from polars_microagg.kernels.leftover_records import join_leftover
from polars_microagg.methods._density import densest_first

__all__ = ["dba1"]


@method(cite="Lin, Wen, Hsieh and Chang (2010)", paper="002", cost="n^2", limit=50_000)
def dba1(x: Matrix, /, *, k: int) -> Partition:
    """Group round the record in the densest place, until fewer than k records are left.

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
    DBA-1 of J.-L. Lin, T.-H. Wen, J.-C. Hsieh and P.-C. Chang (2010), "Density-based
    microaggregation for statistical disclosure control", Expert Systems with Applications 37(4),
    3256-3263, as described by A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    The k-neighbourhood of a record consists of itself and the k - 1 unassigned records nearest to
    it. A new group is built repeatedly of the k-neighbourhood of the record with the highest
    k-density among all unassigned records, until fewer than k records are unassigned. These are
    assigned to their respective nearest groups: those with the nearest centroid, before any is
    added. Equal distances and densities go to the lowest row, or to the group formed first.

    The k-density is one over the sum of squared distances of the k-neighbourhood from its mean.
    The paper's text does not define it; this definition gives all printed losses.

    Examples
    --------
    >>> x = np.array([[0.0], [2.0], [3.0], [3.5], [9.0]])
    >>> dba1(x, k=2).labels
    array([0, 0, 1, 1, 1])
    """
    if len(x) < 2 * k:
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))
    columns = centred(x)
    return Partition.from_labels(join_leftover(columns, densest_first(columns, k)))
