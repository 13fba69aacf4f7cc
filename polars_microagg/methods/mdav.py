"""Maximum distance to average vector."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.mdav.many_strata import SMALL, mdav_of_strata
from polars_microagg.kernels.mdav.rounds import mdav_groups
from polars_microagg.progress import ticker

__all__ = ["mdav"]


def _of_strata(x: Matrix, sizes: Labels, /, *, k: int) -> tuple[Labels, int]:
    """Group strata side by side."""
    return mdav_of_strata(x, sizes, k=k, tick=ticker("mdav", int(sizes[sizes > SMALL].sum())))


@method(
    cite="Domingo-Ferrer and Torra (2005)",
    paper="000, 002, 004",
    cost="n^2/k",
    lockstep=_of_strata,
    # Boxes and filters leave little of the square: 18 s at a million records of five columns.
    seconds=(5e-6, 8e-11),
)
def mdav(x: Matrix, /, *, k: int) -> Partition:
    """Group round the record farthest from the mean, then round the one farthest from it.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Smallest group size, at least 2.

    Returns
    -------
    Partition
        Groups of k records; the last one has k to 2k - 1, or all n if n < 2k.

    Notes
    -----
    MDAV-generic of J. Domingo-Ferrer and V. Torra (2005), "Ordinal, continuous and heterogeneous
    k-anonymity through microaggregation", Data Mining and Knowledge Discovery 11(2), 195-212.

    While at least 3k records remain, r is the remaining record farthest from their mean and s
    the one farthest from r; r and the k - 1 remaining records nearest to it form a group, then s
    and the k - 1 nearest to it. If r's group has taken s, the record now farthest from r stands
    in for it. If at least 2k remain then, the record farthest from their mean and the k - 1
    nearest to it form a group. The rest is the last group. Equal distances go to the lowest row.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [4.0], [5.0], [6.0], [20.0], [21.0]])
    >>> mdav(x, k=2).labels
    array([0, 0, 1, 1, 1, 2, 2])
    """
    # Many strata of up to some thousand records do not come here: `lockstep` groups them side by
    # side, in kernels/mdav/many_strata.py, into the same groups.
    n = len(x)
    labels = np.zeros(n, dtype=np.intp)
    if n < 2 * k:
        return Partition.from_labels(labels)
    tick = ticker("mdav", n)
    made = 0
    for groups in mdav_groups(x, k):
        labels[groups] = np.arange(made + 1, made + len(groups) + 1)[:, None]
        made += len(groups)
        tick(made * k)
    tick(n)
    return Partition.from_labels(labels)
