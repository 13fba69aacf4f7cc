"""Individual ranking: each column sorted and grouped on its own."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.order.runs import fixed_runs, stable_order

__all__ = ["individual_ranking"]


@method(
    cite="Defays and Nanopoulos (1993)",
    paper="000, 003",
    sizes="k..2k-1",
    unit="value",
    columnwise=True,
)
def individual_ranking(x: Matrix, /, *, k: int) -> Partition:
    """Sort the values and group k successive ones; no k records are made alike.

    Parameters
    ----------
    x : array of shape (n, 1)
        One column, finite.
    k : int
        Group size, at least 2.

    Returns
    -------
    Partition
        Groups of k values; the last one has k to 2k - 1, or all n if n < 2k.

    Notes
    -----
    D. Defays and P. Nanopoulos (1993), "Panels of enterprises and confidentiality: the small
    aggregates method", Proceedings of the 1992 Symposium on Design and Analysis of Longitudinal
    Surveys, Statistics Canada, 195-204.

    Each variable is considered independently: the values are sorted and groups of k successive
    values are formed. If n is not a multiple of k, the last group contains more than k. Equal
    values are sorted by row.

    Every variable has its own partition, so k counts values of one column, not records. A
    masked value lies between the means of its neighbouring groups, often a narrow interval.

    Examples
    --------
    >>> individual_ranking(np.array([[5.0], [1.0], [4.0], [2.0], [9.0]]), k=2).labels
    array([0, 1, 0, 1, 0])
    """
    order = stable_order(np.ascontiguousarray(x[:, 0]))
    return Partition.along(order, fixed_runs(len(x), k))
