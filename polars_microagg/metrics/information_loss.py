"""Differences of masked and original values, in sums of squares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.core.registry import metric
from polars_microagg.kernels.scale import standardised

__all__ = ["cells", "changed", "loss", "sse", "sst"]


@metric(cite="this library")
def cells(original: Matrix, masked: Matrix, joint: Labels | None = None) -> int:
    """Number of cells that are compared: those with a value before and after.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after.
    joint : array of shape (p,), optional
        The column that each is a coordinate of: categories have several.

    Returns
    -------
    int
        Cells that are NaN in neither.

    Examples
    --------
    >>> cells(np.array([[1.0], [3.0]]), np.array([[1.0], [np.nan]]))
    1
    """
    there = ~(np.isnan(original) | np.isnan(masked))
    if joint is not None:
        there = there[:, np.unique(joint, return_index=True)[1]]
    return int(np.count_nonzero(there))


@metric(cite="this library", unit="%")
def changed(original: Matrix, masked: Matrix, joint: Labels | None = None) -> float | None:
    """Share of cells whose value is another one, or gone, after masking.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after.
    joint : array of shape (p,), optional
        The column that each is a coordinate of: categories have several.

    Returns
    -------
    float or None
        Per cent; None for an empty table. Of one column of categories, with ``by_column``, it is the share
        of records whose category changed.

    Examples
    --------
    >>> changed(np.array([[1.0], [3.0], [3.0], [np.nan]]), np.array([[1.0], [2.0], [3.0], [np.nan]]))
    25.0
    """
    if not original.size:
        return None
    same = (original == masked) | (np.isnan(original) & np.isnan(masked))
    joint = np.arange(original.shape[1]) if joint is None else joint
    kept = [same[:, joint == number].all(axis=1).mean() for number in np.unique(joint)]
    return float(100.0 * (1.0 - np.mean(kept)))


@metric(cite="Domingo-Ferrer and Mateo-Sanz (2002)", assessed=10)
def sse(
    original: Matrix,
    masked: Matrix,
    joint: Labels | None = None,
    numeric: npt.NDArray[np.bool_] | None = None,
) -> float:
    """Sum of squared differences on standardised columns.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.
    joint : array of shape (p,), optional
        The column that each is a coordinate of: categories have several.
    numeric : array of shape (p,), optional
        Which columns are of numbers; by default all.

    Returns
    -------
    float
        Sum over all cells of the squared difference in standard deviations (ddof 0) of the
        original column. Constant columns are left out.

    Examples
    --------
    >>> sse(np.array([[1.0], [3.0]]), np.array([[2.0], [2.0]]))
    2.0
    """
    if numeric is not None and not numeric.all():
        masked = _with_means(original, masked, ~numeric)
    before, after = standardised(original, masked, joint)
    return float(np.nansum((before - after) ** 2))


def _with_means(original: Matrix, masked: Matrix, chosen: npt.NDArray[np.bool_]) -> Matrix:
    """Insert the means of the original where some columns have lost a value."""
    filled = masked.copy(order="F")
    for j in np.flatnonzero(chosen):
        lost = np.isnan(masked[:, j]) & ~np.isnan(original[:, j])
        if lost.any():
            filled[lost, j] = np.nanmean(original[:, j])
    return filled


@metric(cite="Domingo-Ferrer and Mateo-Sanz (2002)", assessed=20)
def sst(original: Matrix, joint: Labels | None = None) -> float:
    """Sum of squared differences from the mean on standardised columns.

    Parameters
    ----------
    original : array of shape (n, p)
        The data before.
    joint : array of shape (p,), optional
        The column that each is a coordinate of: categories have several.

    Returns
    -------
    float
        The number of cells with a value in columns that vary, up to rounding.

    Examples
    --------
    >>> sst(np.array([[1.0], [3.0]]))
    2.0
    """
    return float(np.nansum(standardised(original, original, joint)[0] ** 2))


@metric(cite="Domingo-Ferrer and Mateo-Sanz (2002)", assessed=30, reported=True, unit="%")
def loss(
    original: Matrix,
    masked: Matrix,
    joint: Labels | None = None,
    numeric: npt.NDArray[np.bool_] | None = None,
) -> float:
    """Information loss 100 SSE/SST: 0 keeps everything, 100 leaves only the means.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after.
    joint : array of shape (p,), optional
        The column that each is a coordinate of: categories have several.
    numeric : array of shape (p,), optional
        Which columns are of numbers; by default all.

    Returns
    -------
    float
        Percentage; 0 where no column varies.

    Notes
    -----
    Domingo-Ferrer and Mateo-Sanz (2002), as used in all tables of the comparative study.

    A column of categories counts like one of numbers, by coordinates: SSE is the sum of the squared
    distances of each value from the one that replaced it, SST that from the mean of the coordinates,
    which is that of the table as one group, and both are divided by the total variance, so that SST is
    the number of records in every column. Squared distances are 1 between nominal categories, the
    squared difference of mean ranks between ordinal ones, and the length of the path in a taxonomy. The
    commonest category is not the mean, so one column of categories can lose more than 100. The share of
    records whose category changed is `changed`. A category that is gone, since fewer than k records have
    it or its stratum was emptied, tells nothing and counts as the mean; numbers that are gone are
    passed over.

    Examples
    --------
    >>> loss(np.array([[1.0], [3.0], [5.0]]), np.array([[2.0], [2.0], [5.0]]))
    25.0
    """
    total = sst(original, joint)
    return 100.0 * sse(original, masked, joint, numeric) / total if total else 0.0
