"""Microaggregation of records projected by the Sugeno integral."""

from __future__ import annotations

from typing import Literal

import numpy as np

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.order.projection import projected_partition, sugeno_integral

__all__ = ["sugeno"]


@method(cite="Nin and Torra (2008)", paper="001")
def sugeno(
    x: Matrix, /, *, k: int, cost: Literal["multivariate", "projected"] = "multivariate"
) -> Partition:
    """Sort the records by the Sugeno integral of their values and cut them optimally.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Smallest group size, at least 2.
    cost : {"multivariate", "projected"}
        Whether a group costs the sum of squared errors of its records or of their integrals.

    Returns
    -------
    Partition
        Groups of k to 2k - 1 records; one group of all if n < 2k.

    Notes
    -----
    J. Nin and V. Torra (2008), "Modeling projections in microaggregation", IPMU'08, section 3.

    An aggregation function of the variables results in one summarised value a record: the Sugeno
    integral with respect to the measure ``Q(|A| / N)``,

        SI_Q(a_1, ..., a_N) = max over i of min(Q(i / N), a_s(i)),

    where s is a permutation such that a_s(i) >= a_s(i+1), with the quantifier Q(x) = x. The values
    are sorted in increasing order, and the optimal univariate method is applied. Give blocks of
    columns to summarise each on its own.

    The integral needs values in [0, 1] and the paper does not say how they come there: here each
    column is brought to [0, 1] by its least and greatest value. Many integrals are equal, to some
    i / N: equal ones are sorted by the sum of the values, then by row. With "projected" the cost
    is that of the paper; the default is that of `pcp` and `zscores`.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [4.0, 9.0], [10.0, 10.0], [1.0, 2.0], [9.0, 5.0]])
    >>> sugeno(x, k=2).labels
    array([0, 1, 1, 0, 1])
    """
    integrals, sums = sugeno_integral(x)
    order = np.lexsort((sums, integrals))
    return projected_partition(x, integrals, order, k, cost)
