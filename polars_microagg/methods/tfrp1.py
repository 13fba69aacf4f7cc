"""Two fixed reference points, first phase."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.distance import squared_distances
from polars_microagg.kernels.farthest_records import FarthestFirst
from polars_microagg.kernels.leftover_records import join_leftover
from polars_microagg.kernels.remaining_records import RemainingRecords

__all__ = ["tfrp1"]


@method(
    cite="Chang, Li and Huang (2007)",
    paper="002",
    cost="n^2/k",
    limit=2_000_000,
    absolute=True,
)
def tfrp1(x: Matrix, /, *, k: int) -> Partition:
    """Group round the records farthest from two fixed points, in turns.

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
    The first phase of C.-C. Chang, Y.-C. Li and W.-H. Huang (2007), "TFRP: An efficient
    microaggregation algorithm for statistical disclosure control", Journal of Systems and
    Software 80(11), 1866-1878, as described by A. N. Mahmood, M. E. Kabir and A. K.
    Mustafa (2012), section 4.

    Let N_min and N_max be the minimum and maximum values over all attributes. The reference
    point G1 has N_min as its value for all attributes, and G2 has N_max. A group is formed of
    the remaining record farthest from G1 and the k - 1 nearest to it, then one of the remaining
    record farthest from G2 and the k - 1 nearest to it. These two steps are repeated until fewer
    than k records remain, which are added to their respective nearest groups: those with the
    nearest centroid, before any is added. Equal distances go to the lowest row, or to the group
    formed first.

    N_min and N_max are two numbers, taken over all attributes on the scale of the distances; a
    minimum for each attribute does not give the printed losses. With ``scale="none"`` they are the
    least and the greatest of the values as they are.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.5], [20.0], [21.0]])
    >>> tfrp1(x, k=2).labels
    array([0, 0, 0, 1, 1])
    """
    if len(x) < 2 * k:
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))
    remaining = RemainingRecords(x)
    points = [np.full(x.shape[1], extreme) for extreme in (x.min(), x.max())]
    references = [FarthestFirst(remaining, squared_distances(x.T, point)) for point in points]
    groups: list[Labels] = []
    while len(remaining) >= k:
        reference = references[len(groups) % 2]
        groups.append(remaining.take(reference.row(), k))
    return Partition.from_labels(join_leftover(remaining.columns, groups))
