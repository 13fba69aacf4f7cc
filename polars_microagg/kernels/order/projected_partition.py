"""The optimal partition of records along their projections on one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from polars_microagg.kernels.order.runs import cut, labels_along

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["cut_projected"]


def cut_projected(
    x: Matrix, key: Vector, order: Labels, k: int, cost: Literal["multivariate", "projected"]
) -> Labels:
    """Cut records in the order of their projections where the sum of squares is least.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row.
    key : array of shape (n,)
        Their projections.
    order : array of shape (n,)
        Rows in ascending order of projection.
    k : int
        Smallest group size.
    cost : {"multivariate", "projected"}
        Whether the squares are of the records or of their projections.

    Returns
    -------
    array of shape (n,)
        Group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 9.0], [5.0, 9.0], [6.0, 9.0]])
    >>> cut_projected(x, x[:, 0], np.arange(5), 2, "multivariate")
    array([0, 0, 1, 1, 1])
    >>> cut_projected(x, x[:, 0], np.arange(5), 2, "projected")
    array([0, 0, 0, 1, 1])
    """
    ordered = x[order] if cost == "multivariate" else key[order]
    return labels_along(order, cut(ordered, k))
