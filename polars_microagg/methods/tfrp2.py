"""Two fixed reference points, both phases."""

from __future__ import annotations

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.distance import centred
from polars_microagg.kernels.group_dissolving import decompose
from polars_microagg.kernels.group_splitting import split_large_groups
from polars_microagg.kernels.sum_of_squares import worst_first
from polars_microagg.methods.tfrp1 import tfrp1

__all__ = ["tfrp2"]


@method(
    cite="Chang, Li and Huang (2007)",
    paper="002",
    cost="n^2/k",
    limit=2_000_000,
    absolute=True,
)
def tfrp2(x: Matrix, /, *, k: int) -> Partition:
    """Group as TFRP-1 does, and dissolve groups whose records fit better into others.

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
    Both phases of C.-C. Chang, Y.-C. Li and W.-H. Huang (2007), "TFRP: An efficient
    microaggregation algorithm for statistical disclosure control", Journal of Systems and
    Software 80(11), 1866-1878, as described by A. N. Mahmood, M. E. Kabir and A. K.
    Mustafa (2012), section 4.

    When all groups of TFRP-1 are generated, an enhancement step determines, from the greatest
    sum of squares to the least, whether a group should be retained, or decomposed and added to
    other groups: each of its records is tentatively added to the group with the nearest other
    centroid, and if the sums of squares of these groups grow by less than that of the group
    itself, it stays so. No record is merged into a group of more than 4k - 1 records.

    What becomes of groups with more than 2k - 1 records is not said: here TFRP-1 is applied to
    each of them, which gives all twelve printed losses.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [5.0], [14.0], [19.0], [20.0]])
    >>> tfrp1(x, k=2).labels
    array([0, 0, 1, 1, 2, 2])
    >>> tfrp2(x, k=2).labels
    array([0, 0, 0, 1, 1, 1])
    """
    labels = tfrp1(x, k=k).labels
    columns = centred(x)
    labels = decompose(columns, labels, worst_first(columns, labels), most=4 * k - 1)
    return Partition.from_labels(
        split_large_groups(labels, 2 * k, lambda rows: tfrp1(x[rows], k=k).labels)
    )
