"""Mean variation of the data and its moments: IL1 to IL5 and their mean."""

from __future__ import annotations

from typing import Literal

import numpy as np

from polars_microagg.core.partition import Matrix
from polars_microagg.core.registry import metric
from polars_microagg.kernels.risk.changed_moments import CHANGES, mean_of, variation
from polars_microagg.kernels.risk.moments import moments, present

__all__ = ["il", "il1", "il1_zero_cells", "il2", "il3", "il4", "il5"]

CITE = "Domingo-Ferrer and Torra (2001)"


def _changed(name: str, original: Matrix, masked: Matrix) -> float:
    before, after = (moments(table) for table in present(original, masked))
    return float(CHANGES[name](before, after) or 0.0)


@metric(cite=CITE, assessed=40)
def il1(original: Matrix, masked: Matrix, /, *, zero: Literal["scale", "skip"] = "scale") -> float:
    """Mean variation of the values: the mean over all cells of the relative difference.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.
    zero : {"scale", "skip"}, default "scale"
        What becomes of a cell whose original value is 0 and whose masked value is not: it is
        divided by the mean absolute value of its column, or left out.

    Returns
    -------
    float
        Share, at least 0; 0 keeps everything. There is no upper bound.

    Notes
    -----
    J. Domingo-Ferrer and V. Torra (2001), "A quantitative comparison of disclosure control methods
    for microdata", who leave open what happens at 0. In a column of zeros every change counts 1.
    A cell that stays 0 counts 0. `il1_zero_cells` tells how many cells the rule touches; many of
    them make this measure and `il` unsteady.

    Examples
    --------
    >>> il1(np.array([[2.0], [4.0]]), np.array([[3.0], [3.0]]))
    0.375
    """
    before, after = present(original, masked)
    sizes = np.broadcast_to(moments(before).sizes, before.shape)
    changes = variation(before, after, sizes)
    if zero == "skip":
        changes[(before == 0) & (after != 0)] = np.nan
    return mean_of(changes)


@metric(cite=CITE)
def il1_zero_cells(original: Matrix, masked: Matrix, /) -> int:
    """Number of cells that are 0 before and not after, to which the rule of `il1` applies.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after.

    Returns
    -------
    int
        How many.

    Examples
    --------
    >>> il1_zero_cells(np.array([[0.0], [0.0], [3.0]]), np.array([[0.0], [1.5], [1.5]]))
    1
    """
    emitted = ~np.isnan(masked)
    return int(np.count_nonzero((original == 0) & (masked != 0) & emitted))


@metric(cite=CITE, assessed=50)
def il2(original: Matrix, masked: Matrix, /) -> float:
    """Mean variation of the means of the columns.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.

    Returns
    -------
    float
        Share, at least 0. Microaggregation keeps means, so it is 0 but for rounding to a type.

    Notes
    -----
    Domingo-Ferrer and Torra (2001). A mean of 0 is replaced, as a divisor, by the mean absolute
    value of its column; where that is 0 too, any change counts 1.

    Examples
    --------
    >>> il2(np.array([[2.0], [4.0]]), np.array([[3.0], [4.5]]))
    0.25
    """
    return _changed("il2", original, masked)


@metric(cite=CITE, assessed=60)
def il3(original: Matrix, masked: Matrix, /) -> float:
    """Mean variation of the covariances, variances among them.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.

    Returns
    -------
    float
        Share, at least 0: the mean over the p(p + 1)/2 pairs of columns.

    Notes
    -----
    Domingo-Ferrer and Torra (2001). A covariance of 0 is replaced, as a divisor, by the product of
    the two standard deviations; where that is 0 too (a constant column), any change counts 1.

    Examples
    --------
    >>> il3(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([[1.5, 4.0], [2.5, 4.0]]))
    0.9166666666666666
    """
    return _changed("il3", original, masked)


@metric(cite=CITE, assessed=70)
def il4(original: Matrix, masked: Matrix, /) -> float:
    """Mean variation of the variances.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.

    Returns
    -------
    float
        Share, at least 0; at most 1 if variances only shrink.

    Notes
    -----
    Domingo-Ferrer and Torra (2001). For a column that is constant before, any change counts 1.

    Examples
    --------
    >>> il4(np.array([[1.0], [3.0]]), np.array([[1.5], [2.5]]))
    0.75
    """
    return _changed("il4", original, masked)


@metric(cite=CITE, assessed=80)
def il5(
    original: Matrix, masked: Matrix, /, *, change: Literal["absolute", "relative"] = "absolute"
) -> float:
    """Mean absolute error of the correlations.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.
    change : {"absolute", "relative"}, default "absolute"
        Whether differences are taken as they are, or divided by the original correlation (or by
        1 where it is 0).

    Returns
    -------
    float
        Mean over the p(p - 1)/2 pairs of columns, from 0 to 2 unless relative; 0 with one column.

    Notes
    -----
    Domingo-Ferrer and Torra (2001), as in Nin, Herranz and Torra's tables; of the papers one says
    absolute error here and variation for `il1`, another the reverse. The correlation with a
    constant column is 0.

    Examples
    --------
    >>> il5(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([[1.0, 6.0], [3.0, 2.0]]))
    2.0
    """
    if change == "absolute":
        return _changed("il5", original, masked)
    before, after = (moments(table).correlations for table in present(original, masked))
    upper = np.triu_indices(len(before), 1)
    return mean_of(variation(before, after, np.ones_like(before))[upper])


@metric(cite=CITE, assessed=90, reported=True, unit="%")
def il(
    il1: float | None,
    il2: float | None,
    il3: float | None,
    il4: float | None,
    il5: float | None,
    /,
) -> float | None:
    """Information loss IL: 100 times the mean of IL1 to IL5.

    Parameters
    ----------
    il1, il2, il3, il4, il5 : float or None
        The five parts, None where no column has numbers.

    Returns
    -------
    float or None
        Percentage, at least 0. There is no upper bound.

    Notes
    -----
    Domingo-Ferrer and Torra (2001).

    Examples
    --------
    >>> il(0.5, 0.0, 0.25, 0.25, 0.5)
    30.0
    """
    # One by one, as type checkers do not see what a tuple holds.
    if il1 is None or il2 is None or il3 is None or il4 is None or il5 is None:
        return None
    return 100.0 * (il1 + il2 + il3 + il4 + il5) / 5.0
