"""Masked values of single cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from polars_microagg.kernels.exact_mean import Real
    from polars_microagg.partition import Labels, Matrix, Vector

__all__ = ["cells", "real_cells", "whole_cells"]

EXACT = 2**53
"""Integers up to this size are exact in float64."""


def cells(
    x: Matrix,
    factors: Vector,
    whole: Sequence[bool],
    strata: Iterable[Labels],
    mask: Callable[[Matrix], Matrix],
) -> Matrix:
    """Mask the values that are present, stratum by stratum.

    Parameters
    ----------
    x : array of shape (n, p)
        Values in steps of their columns; in a stratum a column has all its values or none.
    factors : array of shape (p,)
        Size of one step of each column.
    whole : sequence of bool
        Columns that hold whole steps only, and stay within their range in each stratum; none
        by default.
    strata : iterable of array of int
        Rows of each stratum.
    mask : callable
        Masks a matrix of values in original units.

    Returns
    -------
    array of shape (n, p)
        Masked values, NaN where there is none: in steps where `whole`, not yet rounded, else in
        original units.

    Examples
    --------
    >>> x = np.array([[5.0], [9.0]])
    >>> cells(x, np.ones(1), [True], [np.array([0, 1])], lambda part: part * 0 + 6).tolist()
    [[6.0], [6.0]]
    """
    values = np.full(x.shape, np.nan, order="F")
    for rows in strata:
        present = np.flatnonzero(~np.isnan(x[rows[0]]))
        part = x[np.ix_(rows, present)]
        masked = mask(part * factors[present])
        steps = np.array([bool(whole) and whole[int(j)] for j in present], dtype=np.bool_)
        # A value of another column may be more steps than there are numbers.
        with np.errstate(over="ignore"):
            counted = masked[:, steps] / factors[present[steps]]
        masked[:, steps] = np.clip(counted, part[:, steps].min(axis=0), part[:, steps].max(axis=0))
        values[np.ix_(rows, present)] = masked
    return values


def real_cells(values: Vector, dtype: Real) -> Vector:
    """Round masked values to floats of a size, the largest of which is the limit; never -0.

    Examples
    --------
    >>> real_cells(np.array([1e308, -0.0]), np.float32)
    array([3.40282347e+38, 0.00000000e+00])
    """
    limit = float(np.finfo(dtype).max)
    rounded: Vector = np.clip(values, -limit, limit).astype(dtype).astype(np.float64)
    return rounded + 0.0


def whole_cells(values: Vector, low: int, high: int) -> npt.NDArray[Any]:
    """Round masked values to whole steps from `low` to `high`, halves to even; anything for NaN.

    Examples
    --------
    >>> whole_cells(np.array([1.5, 2.5, 9.0]), 0, 7)
    array([2, 2, 7])
    """
    rounded = np.rint(np.where(np.isnan(values), low, values))
    if low >= -EXACT and high <= EXACT:
        return np.clip(rounded, low, high).astype(np.int64)
    # The ends of wide types are no doubles, so they are compared as Python's integers.
    whole = np.frompyfunc(int, 1, 1)(rounded)
    return np.asarray(np.minimum(np.maximum(whole, low), high), dtype=object)
