"""Shares of original values that lie close to their masked values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.core.registry import Range, metric
from polars_microagg.kernels.equal_records import grouped
from polars_microagg.kernels.risk.moments import present
from polars_microagg.kernels.risk.record_linkage import as_codes
from polars_microagg.kernels.scale import standardised

__all__ = ["drisk", "il1s", "interval_disclosure"]

SLACK = 1e-9
"""Widths are taken so much wider, so that a value on the edge is inside whatever the rounding."""


def _by_rank(values: Vector, sizes: Labels, widths: Vector) -> tuple[Matrix, Matrix]:
    """Ends of the intervals of ranks around each masked value, one row a width."""
    # A value stands for all `sizes` records that share it, so ranks are counted by running sums.
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    ends = np.cumsum(sizes[order])
    n = ends[-1]
    new = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    last = np.r_[new[1:], len(ranked)] - 1
    starts = np.r_[0, ends[last][:-1]]
    # Equal masked values share the mean of their ranks, counted from 0.
    middle = np.empty(len(values))
    middle[order] = np.repeat((starts + ends[last] - 1) / 2, last - new + 1)
    half = (widths * (1 + SLACK) / 200 * n)[:, None]
    low = np.maximum(np.ceil(middle - half), 0).astype(np.intp)
    high = np.minimum(np.floor(middle + half), n - 1).astype(np.intp)
    at = np.repeat(ranked, sizes[order])
    # Of values between two ranks the interval holds at least the masked value itself.
    return np.minimum(at[low], values), np.maximum(at[high], values)


@metric(cite="Domingo-Ferrer and Torra (2001)", assessed=120, reported=True, unit="%")
def interval_disclosure(
    original: Matrix,
    masked: Matrix,
    joint: Labels | None = None,
    /,
    *,
    by: Literal["rank", "value", "sd"] = "rank",
    widths: Annotated[float | Sequence[float], Range(0, 100)] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
) -> float | None:
    """Share of original values inside an interval around their masked value, per cent.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.
    joint : array of shape (p,), optional
        The column that each is a coordinate of. A category is inside if it is the masked one.
    by : {"rank", "value", "sd"}, default "rank"
        What a width of w per cent means. "rank": from w/2 % of the records below to w/2 % above
        in the order of the masked column; equal values share their mean rank. "value": w % of
        the masked value to either side. "sd": w % of the standard deviation of the original
        column to either side.
    widths : float or sequence of float, default 1 to 10
        Widths in per cent; the result is the average over them.

    Returns
    -------
    float or None
        From 0 to 100; None if there is no value. All columns count alike.

    Notes
    -----
    J. Domingo-Ferrer and V. Torra (2001), who average over widths of 1 to 10 per cent of ranks.
    They say the interval's width is p per cent of the ranks, so half lies on each side. The ends
    belong to the interval. In a constant column of masked values the interval is that value.

    Each value is compared with its own masked value and with no other record, so an attacker who knows the
    strata finds no more. Ranks are those of the whole table: ranks within strata would give narrower
    intervals, and a lower risk.

    Examples
    --------
    >>> x, y = np.array([[10.0], [20.0], [30.0]]), np.array([[10.5], [25.0], [25.0]])
    >>> round(interval_disclosure(x, y, by="value", widths=10), 3)
    33.333
    """
    original, masked, coded = as_codes(original, masked, joint)
    before, after = present(original, masked)
    shares = np.atleast_1d(np.asarray(widths, dtype=np.float64))
    order, starts = grouped(after)
    if not len(order):
        return None
    first, sizes = order[starts], np.diff(starts, append=len(order))
    column_shares = []
    for j in range(before.shape[1]):
        values, column = after[first, j], before[order, j]
        defined = ~np.isnan(values)
        if not defined.any():
            continue
        if not defined.all():
            column, sizes_j = column[np.repeat(defined, sizes)], sizes[defined]
            values = values[defined]
        else:
            sizes_j = sizes
        if coded[j]:
            column_shares.append(float(np.mean(column == np.repeat(values, sizes_j))))
            continue
        if by == "rank":
            lows, highs = _by_rank(values, sizes_j, shares)
        else:
            spread = np.abs(values) if by == "value" else np.full(len(values), column.std())
            half = (shares * (1 + SLACK) / 100)[:, None] * spread
            lows, highs = values - half, values + half
        inside = 0
        for low, high in zip(lows, highs, strict=True):
            within = column >= np.repeat(low, sizes_j)
            within &= column <= np.repeat(high, sizes_j)
            inside += int(np.count_nonzero(within))
        column_shares.append(inside / (len(column) * len(shares)))
    return 100.0 * float(np.mean(column_shares)) if column_shares else None


@metric(cite="Templ, Kowarik and Meindl (2015)")
def drisk(
    original: Matrix, masked: Matrix, /, *, width: Annotated[float, Range(0)] = 0.05
) -> float | None:
    """Share of records all of whose values lie close to their masked values.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; a cell that is NaN in either is not close.
    width : float, default 0.05
        How close, to either side, in standard deviations (ddof 1) of the masked column.

    Returns
    -------
    float or None
        From 0 to 1, as in sdcMicro; None for an empty table.

    Notes
    -----
    ``dRisk`` of the R package sdcMicro with its default k = 0.05. The ends belong to the interval.

    Examples
    --------
    >>> drisk(np.array([[1.0], [9.0], [20.0]]), np.array([[1.0], [8.0], [20.0]]))
    0.6666666666666666
    """
    if not original.size:
        return None
    before, after = present(original, masked)
    close = np.ones(len(before), dtype=np.bool_)
    for x, y in zip(before.T, after.T, strict=True):
        values = y[~np.isnan(y)]
        sd = values.std(ddof=1) if len(values) > 1 else 0.0
        close &= np.abs(x - y) <= width * sd * (1 + SLACK)
    return float(close.mean())


@metric(cite="Yancey, Winkler and Creecy (2002)")
def il1s(original: Matrix, masked: Matrix, /, *, total: bool = False) -> float:
    """Distance of the masked values in standard deviations: the mean over cells, or the sum.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after; cells that are NaN in either are passed over.
    total : bool, default False
        Whether to take the sum, as ``IL1s`` of sdcMicro does, which grows with the table.

    Returns
    -------
    float
        Mean or sum of ``|x - x'| / (sqrt(2) sd)``, sd with ddof 1; columns that are constant before
        are left out.

    Notes
    -----
    W. E. Yancey, W. E. Winkler and R. H. Creecy (2002), "Disclosure risk assessment in perturbative
    microdata protection", who average; ``dUtility`` of the R package sdcMicro sums.

    Examples
    --------
    >>> round(il1s(np.array([[1.0], [3.0]]), np.array([[2.0], [2.0]]), total=True), 9)
    1.0
    """
    before, after = standardised(original, masked)
    count = np.maximum((~np.isnan(before)).sum(axis=0), 2)
    distances = np.abs(before - after) * np.sqrt((count - 1) / count / 2)
    defined = ~np.isnan(distances)
    summed = float(distances[defined].sum())
    return summed if total else summed / max(int(np.count_nonzero(defined)), 1)
