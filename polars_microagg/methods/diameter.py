"""Fixed size by diameter."""

from __future__ import annotations

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.methods.md import md

__all__ = ["diameter"]


@method(cite="Laszlo and Mukherjee (2005)", paper="002", cost="n^2", limit=50_000)
def diameter(x: Matrix, /, *, k: int) -> Partition:
    """Group round the two most distant records; each one left over joins the nearest group.

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
    Diameter-based fixed-size microaggregation of M. Laszlo and S. Mukherjee (2005), "Minimum
    spanning tree partitioning algorithm for microaggregation", IEEE Transactions on Knowledge
    and Data Engineering 17(7), 902-911, as described by A. N. Mahmood, M. E.
    Kabir and A. K. Mustafa (2012), section 4.

    The two most distant remaining records form groups with their respective k - 1 nearest
    records, while at least 2k remain. If at least k remain then, they form a group; if fewer,
    each remaining record is added to its own nearest group, the one with the nearest centroid
    before any is added. More than one group can therefore have more than k records.

    It differs from the maximum distance method in the last step alone, as the paper describes
    that one: it is `md` with ``grow="seed"`` and ``leftover="each"``.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    >>> diameter(x, k=2).labels
    array([0, 0, 0, 1, 1])
    """
    return md(x, k=k, grow="seed", leftover="each")
