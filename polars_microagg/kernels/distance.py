"""Squared Euclidean distances, added up column by column so that equal records stay equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polars_microagg.partition import Matrix, Vector

__all__ = ["centred", "rounding_slack", "squared_distances", "total"]

_EPSILON = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)


def total(columns: Matrix) -> Vector:
    """Sum of the records, added one after the other.

    Parameters
    ----------
    columns : array of shape (d, m)
        One record a column, m >= 1.

    Returns
    -------
    array of shape (d,)
        Their sum.

    Notes
    -----
    `np.sum` adds in pairs or in order depending on shape and memory layout; `np.cumsum` has to
    add in order, so the last bit depends on the records alone.
    """
    sums: Vector = np.cumsum(columns, axis=1)[:, -1]
    return sums


def centred(x: Matrix) -> tuple[Matrix, Vector]:
    """Subtract their mean from the records, and put one record a column.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, n >= 1; not modified.

    Returns
    -------
    columns : array of shape (d, n)
        The centred records.
    centre : array of shape (d,)
        The mean that was subtracted.
    """
    columns = x.T
    centre = total(columns) / columns.shape[1]
    return np.subtract(columns, centre[:, None], order="C"), centre


def squared_distances(columns: Matrix, point: Vector) -> Vector:
    """Squared distance from each record to a point.

    Every choice between records is made on these numbers. The squares are added by an explicit
    loop over the columns of the data, so the distance of a record never depends on how many
    other records are looked at, or on their layout in memory.

    Parameters
    ----------
    columns : array of shape (d, m)
        One record a column, d >= 1.
    point : array of shape (d,)
        The point.

    Returns
    -------
    array of shape (m,)
        The squared distances.
    """
    difference = columns - point[:, None]
    difference *= difference
    distances: Vector = difference[0]
    for squares in difference[1:]:
        distances += squares
    return distances


def rounding_slack(largest: float, point: Vector) -> float:
    """Bound how far rounding can put two records in the wrong order.

    Parameters
    ----------
    largest : float
        Greatest squared norm of the records.
    point : array of shape (d,)
        The point from which distances are measured.

    Returns
    -------
    float
        If ``|x|^2 - 2 x.q``, computed in any order, is smaller for x than for y by more than
        this, then `squared_distances` from q is smaller for x than for y.

    Notes
    -----
    With M the greatest squared norm and u the unit roundoff, the product of d + 1 terms is off
    by at most (3d + 2) u (M + |q|^2) and the distance itself by 2 (d + 2) u (M + |q|^2). Either
    record may be off by the sum; 8 (d + 3) eps covers twice that sum with room to spare.
    """
    scale = largest + float(point @ point)
    return 8 * (len(point) + 3) * _EPSILON * scale + _TINY
