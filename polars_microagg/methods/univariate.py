"""Optimal univariate microaggregation."""

from __future__ import annotations

from typing import Literal

import numpy as np

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.order.runs import optimal_runs, sorted_rows

__all__ = ["univariate"]


@method(
    cite="Hansen and Mukherjee (2003)",
    paper="000",
    sizes="k..2k-1",
    unit="value",
    columnwise=True,
)
def univariate(
    x: Matrix, /, *, k: int, cost: Literal["sse", "sae", "maxdist"] = "sse"
) -> Partition:
    """Sort the values and cut them where the groups cost least.

    Parameters
    ----------
    x : array of shape (n, 1)
        One column, finite.
    k : int
        Smallest group size, at least 2.
    cost : {"sse", "sae", "maxdist"}
        Cost of a group: the sum of squared errors about its mean, the sum of absolute errors about
        its median, or the distance from its smallest to its largest value.

    Returns
    -------
    Partition
        Groups of k to 2k - 1 values, of the least total cost; one group if n < 2k.

    Notes
    -----
    S. L. Hansen and S. Mukherjee (2003), "A polynomial algorithm for optimal univariate
    microaggregation", IEEE Transactions on Knowledge and Data Engineering 15(4), 1043-1044.

    When the values are sorted, the clusters of an optimal partition are contiguous and contain
    between k and 2k - 1 elements. Let g_0 ... g_n be nodes and (g_i, g_j) an edge for all j such
    that i + k <= j < i + 2k, its cost the within-group sum of squared error of the values
    i + 1 ... j. The optimal partition is the shortest path from g_0 to g_n.

    The other costs are those of F. I. Stamm and M. T. Schaub (2024), "Faster optimal univariate
    microaggregation", Transactions on Machine Learning Research: an optimal partition has groups of
    k to 2k - 1 contiguous elements under each of them, and the same programme finds it. Which
    centre is emitted does not depend on the cost: ``center="median"`` goes with "sae".

    Equal values are sorted by row. Of several shortest paths it is the one whose last group is
    smallest, then the group before it, and so on.

    Examples
    --------
    >>> x = np.array([[31.0], [9.0], [1.0], [10.0], [30.0], [2.0], [11.0]])
    >>> univariate(x, k=2).labels
    array([0, 1, 2, 1, 0, 2, 1])
    """
    order, ranked = sorted_rows(np.ascontiguousarray(x[:, 0]))
    return Partition.along(order, optimal_runs(ranked, k, cost))
