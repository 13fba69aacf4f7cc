"""Maximum distance."""

from __future__ import annotations

from typing import Literal

import numpy as np

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.distance import squared_distances
from polars_microagg.kernels.leftover_records import join_last, join_leftover
from polars_microagg.kernels.remaining_records import RemainingRecords, greedy_group
from polars_microagg.methods._most_distant import MostDistant

__all__ = ["md"]


@method(cite="Mateo-Sanz and Domingo-Ferrer (1998)", paper="002, 003", cost="n^2", limit=50_000)
def md(
    x: Matrix,
    /,
    *,
    k: int,
    grow: Literal["centroid", "seed"] = "centroid",
    leftover: Literal["each", "together"] = "each",
) -> Partition:
    """Group round the two records that are most distant from each other.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Smallest group size, at least 2.
    grow : {"centroid", "seed"}
        Whom a group takes next: the record nearest to its mean so far, or the one nearest to the
        record it started from.
    leftover : {"each", "together"}
        Where fewer than k records go that are left over: each to the group nearest to it, or all
        to the nearer one of the two groups formed last.

    Returns
    -------
    Partition
        Groups of k records and up to k - 1 more; one group of all if n < 2k.

    Notes
    -----
    MFS with the maximum-distance criterion of J. M. Mateo-Sanz and J. Domingo-Ferrer (1998), "A
    comparative study of microaggregation methods", Questiio 22(3), 511-526, Algorithm 2; with
    ``grow="seed"`` the maximum distance method of J. Domingo-Ferrer and J. M. Mateo-Sanz (2002),
    "Practical data-oriented microaggregation for statistical disclosure control", IEEE
    Transactions on Knowledge and Data Engineering 14(1), 189-201.

    While at least 2k records remain, the two of them that are most distant are the extreme ones;
    a group of k is formed from the first and then one from the other. If at least k records
    remain then, they form a group. If fewer remain, they are added to the closest group.

    In the text of 1998 the next member is the record closest to the group, and in its table it
    is the one nearest to the mean of the group: that gives the printed losses. Which extreme one
    is first is left open there: here it is the one farther from the mean of the remaining
    records. If the first group has taken the other, the record now most distant from the first
    stands in for it. The text of 1998 adds the records left over to the two groups formed last,
    that of 2002 each to its own nearest: the losses differ in the fourth digit. Nearest is the
    group with the nearest centroid, before any is added. Equal distances go to the lowest row.

    Examples
    --------
    >>> x = np.array([[0.0], [4.0], [5.0], [6.5], [20.0], [21.0]])
    >>> md(x, k=3).labels
    array([0, 0, 0, 1, 1, 1])
    """
    if len(x) < 2 * k:
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))
    remaining = RemainingRecords(x)
    most_distant = MostDistant(remaining.columns)
    groups = []
    while len(remaining) >= 2 * k:
        # Which extreme one is first is left open by the paper: the one farther from the mean of the
        # remaining records.
        ends = most_distant.ends(remaining.rows)
        outer = squared_distances(remaining.columns.take(ends, axis=1), remaining.mean()).argmax()
        first = int(ends[outer])
        other = remaining.farthest_from(first)
        for extreme in (first, other):
            row = extreme if extreme in remaining else remaining.farthest_from(first)
            groups.append(
                greedy_group(remaining, row, k) if grow == "centroid" else remaining.take(row, k)
            )
            most_distant.remove(groups[-1])
    columns = remaining.columns
    if len(remaining) >= k:
        groups.append(remaining.rows)
    if leftover == "together":
        return Partition.from_labels(join_last(columns, groups, 2))
    return Partition.from_labels(join_leftover(columns, groups))
