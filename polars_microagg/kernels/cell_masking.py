"""Masked values of single cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polars_microagg.core.masked import Cells
    from polars_microagg.core.partition import Matrix, Strata, Vector
    from polars_microagg.kernels.exact_mean import Real

__all__ = ["cells", "real_cells", "whole_cells"]

EXACT = 2**53
"""Integers up to this size are exact in float64."""


def cells(
    x: Matrix,
    factors: Vector,
    whole: Sequence[bool],
    strata: Strata,
    mask: Callable[[Matrix], Matrix],
) -> Matrix:
    """Return the (n, p) values after masking those that are present, stratum by stratum.

    `x` holds values in steps of their columns, of size `factors` (p,); in a stratum a column has
    all its values or none. `mask` works on a matrix in original units. Columns marked `whole` come
    back in steps, not yet rounded, within their range in each stratum; NaN stands where there is no
    value.

    >>> from polars_microagg.core.partition import Strata
    >>> x = np.array([[5.0], [9.0]])
    >>> cells(x, np.ones(1), [True], Strata.whole(2), lambda part: part * 0 + 6).tolist()
    [[6.0], [6.0]]
    """
    values = np.full(x.shape, np.nan, order="F")
    for rows in strata.rows():
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


def real_cells(cells: Cells, dtype: Real) -> Vector:
    """Round masked values to floats of a size, clipped to the largest one; never -0.

    >>> from polars_microagg.core.masked import Cells
    >>> from polars_microagg.core.partition import Strata
    >>> real_cells(Cells(np.array([1e308, -0.0]), Strata.whole(2)), np.float32)
    array([3.40282347e+38, 0.00000000e+00])
    """
    limit = float(np.finfo(dtype).max)
    rounded: Vector = np.clip(cells.values, -limit, limit).astype(dtype).astype(np.float64)
    return rounded + 0.0


def whole_cells(cells: Cells, original: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Round masked values to whole steps, halves to even, in the range of their stratum.

    >>> from polars_microagg.core.masked import Cells
    >>> from polars_microagg.core.partition import Strata
    >>> whole_cells(Cells(np.array([1.5, 2.5]), Strata.whole(2)), np.array([0, 7]))
    array([2, 2])
    """
    rounded = np.rint(np.nan_to_num(cells.values))
    if original.dtype == np.int64 and np.abs(rounded).max(initial=0.0) <= EXACT:
        return rounded.astype(np.int64)
    # Ends of strata past 2**53 are no doubles: they are compared as Python's integers.
    steps = np.asarray(np.frompyfunc(int, 1, 1)(rounded), dtype=object)
    order, sizes = cells.strata.order, cells.strata.sizes
    ranked, starts = original[order].astype(object), np.cumsum(sizes) - sizes
    low, high = (np.repeat(f.reduceat(ranked, starts), sizes) for f in (np.minimum, np.maximum))
    steps[order] = np.minimum(np.maximum(steps[order], low), high)
    return steps.astype(original.dtype)
