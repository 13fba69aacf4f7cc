"""Microaggregation of records projected on the sum of their z-scores."""

from __future__ import annotations

from typing import Literal

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.order.projection import projected_partition, sum_of_z
from polars_microagg.kernels.order.runs import stable_order

__all__ = ["zscores"]


@method(cite="Nin, Herranz and Torra (2008)", paper="000, 001")
def zscores(
    x: Matrix, /, *, k: int, cost: Literal["multivariate", "projected"] = "multivariate"
) -> Partition:
    """Sort the records by the sum of their z-scores and cut them optimally.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Smallest group size, at least 2.
    cost : {"multivariate", "projected"}
        Whether a group costs the sum of squared errors of its records or of their projections.

    Returns
    -------
    Partition
        Groups of k to 2k - 1 records; one group of all if n < 2k.

    Notes
    -----
    Zscores microaggregation of J. Nin, J. Herranz and V. Torra (2008), "On the disclosure risk of
    multivariate microaggregation", Data and Knowledge Engineering 67(3), 399-412.

    A projection algorithm is applied to the attributes, which results in a vector z with one
    component for each record: the sum over its attributes of (x - mean) / standard deviation. The
    components are sorted in increasing order, and the optimal univariate method is applied, the
    cost of an edge being the within-group sum of squared errors of the original records between
    its ends. Give blocks of columns to project each on its own.

    The papers disagree about the cost: Algorithm 1 of "One dimension microaggregation" takes that
    of the records, hence the default, and "Modeling projections in microaggregation" that of the
    projections. The latter calls the divisor a variance; a z-score divides by the standard
    deviation, and so does this. Equal projections are sorted by row.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 9.0], [5.0, 9.0], [6.0, 9.0]])
    >>> zscores(x, k=2).labels
    array([0, 0, 1, 1, 1])
    """
    key = sum_of_z(x)
    return projected_partition(x, key, stable_order(key), k, cost)
