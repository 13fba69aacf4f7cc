"""Univariate fixed-size microaggregation: records sorted along a single axis."""

from __future__ import annotations

from typing import Literal

import numpy as np

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import Axis, method
from polars_microagg.kernels.order.projection import first_component, sum_of_z
from polars_microagg.kernels.order.runs import fixed_runs, stable_order

__all__ = ["fixed_size"]


@method(cite="Mateo-Sanz and Domingo-Ferrer (1998)", paper="003", sizes="k..2k-1")
def fixed_size(
    x: Matrix, /, *, k: int, sort: Literal["sz", "fpc"] | Axis = "sz", descending: bool = False
) -> Partition:
    """Sort the records by one axis and group k successive ones.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, on any scale.
    k : int
        Group size, at least 2.
    sort : {"sz", "fpc"} or column
        What to sort by: the sum of z-scores, the first principal component, or one variable.
    descending : bool
        Whether to start from the largest.

    Returns
    -------
    Partition
        Groups of k records; the last one has k to 2k - 1, or all n if n < 2k.

    Notes
    -----
    UFS of J. M. Mateo-Sanz and J. Domingo-Ferrer (1998), "A comparative study of microaggregation
    methods", after the single-axis sorting of D. Defays and P. Nanopoulos (1993).

    Data vectors are sorted in ascending or descending order by a particular variable, by the sum
    of z-scores, or by the first principal component, here of the correlation matrix with loadings
    that sum to more than 0. Then groups of k successive vectors are formed. If n is not a
    multiple of k, the last group contains more than k. Ties are sorted by row, in both directions.

    Examples
    --------
    >>> x = np.array([[1.0, 9.0], [2.0, 7.0], [8.0, 1.0], [9.0, 2.0], [5.0, 5.0]])
    >>> fixed_size(x, k=2, sort=0).labels
    array([0, 0, 1, 1, 1])
    >>> fixed_size(x, k=2, sort=1, descending=True).labels
    array([0, 0, 1, 1, 1])
    """
    if sort == "sz":
        key = sum_of_z(x)
    elif sort == "fpc":
        key = first_component(x)
    else:
        key = np.ascontiguousarray(x[:, sort])
    order = stable_order(-key if descending else key)
    return Partition.along(order, fixed_runs(len(x), k))
