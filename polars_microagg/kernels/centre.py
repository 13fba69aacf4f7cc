"""Centres of groups, kept as an anchor record and a difference from it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polars_microagg.partition import Labels, Matrix, Vector

__all__ = ["CENTRES", "centres", "fill_empty", "rint_half_even"]

HUGE = 2.0**960
"""Sums of differences of values up to this size do not overflow."""


def _mean(values: Vector, labels: Labels, groups: int) -> Vector:
    sizes = np.bincount(labels, minlength=groups)
    means: Vector = np.bincount(labels, values, groups) / np.maximum(sizes, 1)
    return means


def _median(values: Vector, labels: Labels, groups: int) -> Vector:
    order = np.lexsort((values, labels))
    sizes = np.bincount(labels, minlength=groups)
    start = np.cumsum(sizes) - sizes
    ranked = np.append(values[order], 0.0)
    low = ranked[start + np.maximum(sizes - 1, 0) // 2]
    medians: Vector = low + (ranked[start + sizes // 2] - low) / 2
    return medians


CENTRES: dict[str, Callable[[Vector, Labels, int], Vector]] = {"mean": _mean, "median": _median}


def centres(x: Matrix, labels: Labels, groups: int, how: str) -> tuple[Labels, Matrix]:
    """Find the centre of each group, column by column.

    A centre is the value of its anchor, the first record of the group with a value in that
    column, plus a difference. Differences are exact where the values themselves would lose
    digits (large offsets, 64-bit integers), and a constant group keeps its value to the bit.

    Parameters
    ----------
    x : array of shape (n, p)
        Values in original units, NaN where absent.
    labels : array of shape (n,)
        Group of each record, 0 to groups-1.
    groups : int
        Number of groups.
    how : {"mean", "median"}
        Which centre.

    Returns
    -------
    anchors : array of shape (groups, p)
        Row of the anchor, -1 where the group has no value in the column.
    differences : array of shape (groups, p)
        Centre minus anchor.

    Examples
    --------
    >>> centres(np.array([[5.0], [6.0], [8.0]]), np.array([0, 0, 1]), 2, "mean")
    (array([[0],
           [2]]), array([[0.5],
           [0. ]]))
    """
    n, p = x.shape
    anchors = np.full((groups, p), -1, dtype=np.intp, order="F")
    differences = np.zeros((groups, p), order="F")
    for j in range(p):
        rows = np.arange(n)
        if np.isnan(x[:, j]).any():
            rows = np.flatnonzero(~np.isnan(x[:, j]))
        here, values = labels[rows], x[rows, j]
        # The last assignment wins, so walking backwards leaves the first row of each group.
        anchors[here[::-1], j] = rows[::-1]
        anchor = x[np.maximum(anchors[:, j], 0), j]
        if np.abs(values).max(initial=0.0) > HUGE:
            anchors[:, j], differences[:, j] = _huge(x[:, j], rows, here, anchors[:, j], how)
        else:
            differences[:, j] = CENTRES[how](values - anchor[here], here, groups)
    return anchors, differences


def _huge(
    column: Vector, rows: Labels, labels: Labels, anchors: Labels, how: str
) -> tuple[Labels, Vector]:
    """Anchors and differences of groups whose values are too large to be subtracted as they are."""
    values, groups = column[rows], len(anchors)
    top = np.zeros(groups)
    np.maximum.at(top, labels, np.abs(values))
    unit = np.where(top > HUGE, 2.0**-64, 1.0)

    def difference(anchors: Labels) -> Vector:
        anchor = column[np.maximum(anchors, 0)] * unit
        return values * unit[labels] - anchor[labels]

    centre = CENTRES[how](difference(anchors), labels, groups)
    # From one end of the range of doubles to the other a difference overflows; from the value
    # nearest to the centre it does not.
    gap = np.where(top > HUGE, 1.0, 0.0)[labels] * np.abs(difference(anchors) - centre[labels])
    nearest = np.argsort(gap, kind="stable")[::-1]
    anchors = anchors.copy()
    anchors[labels[nearest]] = rows[nearest]
    return anchors, CENTRES[how](difference(anchors), labels, groups) / unit


def fill_empty(
    anchors: Labels,
    differences: Matrix,
    labels: Labels,
    stratum: Labels,
    wide: tuple[Labels, Matrix],
) -> None:
    """Give a group without any value in a column the centre of its stratum there, in place.

    Parameters
    ----------
    anchors, differences : array of shape (groups, p)
        Centres of the groups.
    labels : array of shape (n,)
        Group of each record; -1 if it has none.
    stratum : array of shape (n,)
        Stratum of each record.
    wide : tuple of array of shape (strata, p)
        Centres of the strata.
    """
    of = np.empty(len(anchors), dtype=np.intp)
    of[labels[labels >= 0]] = stratum[labels >= 0]
    empty = anchors < 0
    anchors[empty], differences[empty] = wide[0][of][empty], wide[1][of][empty]


def rint_half_even(
    anchor_is_odd: np.ndarray[tuple[int], np.dtype[np.bool_]], difference: Vector
) -> Vector:
    """Round anchor + difference to the nearest integer, halves to even, as a difference.

    Parameters
    ----------
    anchor_is_odd : array of shape (g,)
        Whether the integer that the difference is added to is odd.
    difference : array of shape (g,)
        Differences from it.

    Returns
    -------
    array of shape (g,)
        Whole differences.

    Examples
    --------
    >>> rint_half_even(np.array([False, True, True]), np.array([0.5, 0.5, -0.5]))
    array([ 0.,  1., -1.])
    """
    whole = np.floor(difference)
    half = difference - whole == 0.5
    odd = np.mod(whole, 2) != 0
    return np.where(half, whole + (odd != anchor_is_odd), np.rint(difference))
