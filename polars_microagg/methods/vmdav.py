"""Maximum distance to average vector with groups of variable size."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Partition
from polars_microagg.core.registry import Range, method
from polars_microagg.kernels.distance import squared_distances
from polars_microagg.kernels.farthest_records import FarthestFirst
from polars_microagg.kernels.group_splitting import split_large_groups
from polars_microagg.kernels.leftover_records import join_leftover
from polars_microagg.kernels.remaining_records import RemainingRecords
from polars_microagg.methods.mdav1 import mdav1

__all__ = ["vmdav"]


@method(
    cite="Solanas, Martinez-Balleste and Domingo-Ferrer (2006)",
    paper="002",
    cost="n^2",
    limit=200_000,
)
def vmdav(x: Matrix, /, *, k: int, gamma: Annotated[float, Range(0)] = 0.2) -> Partition:
    """Group round the record farthest from the mean, and extend the group while others are near.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Smallest group size, at least 2.
    gamma : float
        How readily a group takes more than k records: 0 never; 0.2 suits scattered records, 1.1
        clustered ones.

    Returns
    -------
    Partition
        Groups of k to 2k - 1 records; one group of all if n < 2k.

    Notes
    -----
    V-MDAV of A. Solanas, A. Martinez-Balleste and J. Domingo-Ferrer (2006), "V-MDAV: a
    multivariate microaggregation with variable group size", 17th COMPSTAT Symposium of the IASC,
    as described by A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    While at least k records are unassigned, the one farthest from the mean of all records and
    the k - 1 unassigned records nearest to it form a group. It is then extended up to 2k - 1
    records: with d_in the distance of the unassigned record nearest to any record of the group,
    and d_out its distance to the nearest other unassigned record, it is added if
    d_in < gamma d_out, and otherwise the group is closed. Records left over are each added to the
    group with the nearest centroid, and a group that has more than 2k - 1 records then is split
    by MDAV-1. Equal distances go to the lowest row.

    The paper's text leaves open whether distances are squared (here they are not), and whether
    the mean moves (here it stays). The last unassigned record has no d_out and is left over.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.0], [9.0], [20.0], [30.0], [31.0]])
    >>> vmdav(x, k=2).labels
    array([0, 0, 0, 1, 1, 2, 2])
    """
    if len(x) < 2 * k:
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))
    remaining = RemainingRecords(x)
    far_first = FarthestFirst(remaining, squared_distances(remaining.columns, remaining.mean()))
    groups = []
    while len(remaining) >= k:
        rows = remaining.take(far_first.row(), k)
        groups.append(_extended(remaining, rows, gamma, 2 * k - 1))
    labels = join_leftover(remaining.columns, groups)
    return Partition.from_labels(
        split_large_groups(labels, 2 * k, lambda rows: mdav1(x[rows], k=k).labels)
    )


def _extended(remaining: RemainingRecords, rows: Labels, gamma: float, most: int) -> Labels:
    """Add the nearest records to a group while they are near enough."""
    columns = remaining.columns
    nearest = np.full(most, -1)
    # V-MDAV's extension: d_in < gamma d_out, both with unsquared distances.
    while len(rows) < most and len(remaining) > 1:
        # Removals only take competitors away: only a record that is new or has lost its nearest one
        # has to search again.
        for i, row in enumerate(rows):
            if nearest[i] < 0 or nearest[i] not in remaining:
                nearest[i] = remaining.nearest_to_point(columns[:, row], 1)[0]
        near = nearest[: len(rows)]
        offsets = columns.take(near, axis=1) - columns.take(rows, axis=1)
        distances = squared_distances(offsets, np.zeros(len(offsets)))
        closest = int(near[distances == distances.min()].min())
        beside = remaining.nearest(closest, 2)
        other = int(beside[beside != closest][0])
        away = columns[:, [other]] - columns[:, [closest]]
        d_out = squared_distances(away, np.zeros(len(away)))[0] ** 0.5
        if not distances.min() ** 0.5 < gamma * d_out:
            break
        added = np.array([closest])
        remaining.remove(added)
        rows = np.append(rows, added)
    return rows
