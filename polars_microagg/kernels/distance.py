"""Squared Euclidean distances, added up column by column so that equal records stay equal."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from polars_microagg.core.partition import Matrix, Vector
from polars_microagg.kernels.whole_numbers import step_of

__all__ = [
    "Mean",
    "Point",
    "centred",
    "coordinates",
    "mean_of",
    "rounding_slack",
    "squared_distances",
    "total",
]

_EPSILON = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)


class Mean(NamedTuple):
    """The mean of whole records as their sum and their number, so that no digit is lost."""

    total: Vector
    records: int


Point: TypeAlias = Vector | Mean
"""The point that distances are measured from: the mean of whole records, or any coordinates."""


def mean_of(sums: Vector, count: int, *, whole: bool) -> Point:
    """Return the mean of `count` records with these sums."""
    if whole:
        return Mean(sums, count)
    mean: Vector = sums / count
    return mean


def coordinates(point: Point) -> Vector:
    """Return the coordinates of a point, rounded."""
    return point.total / point.records if isinstance(point, Mean) else point


def total(columns: Matrix) -> Vector:
    """Return the (d,) sum of the (d, m) columns, added in record order, m >= 1."""
    # `np.sum` adds in pairs or in order depending on shape and layout. `np.cumsum` has to add in
    # order, so the last bit depends on the records alone.
    sums: Vector = columns.cumsum(axis=1)[:, -1]
    return sums


def centred(x: Matrix) -> Matrix:
    """Return the (d, n) columns of the (n, d) records less their mean.

    Whole numbers stay whole, and so exact: their mean is rounded to a whole number first.
    """
    columns = x.T
    if step := step_of(columns):
        columns = columns - columns.min(axis=1, keepdims=True)
        centre = np.rint(total(columns) / columns.shape[1] / step) * step
    else:
        centre = total(columns) / columns.shape[1]
    centred: Matrix = np.subtract(columns, centre[:, None], order="C")
    return centred


def squared_distances(columns: Matrix, point: Point) -> Vector:
    """Return the squared distance of each record of the (d, m) columns from a point, d >= 1.

    Every choice between records is made on these numbers.
    """
    if isinstance(point, Mean):
        # With s the sum of n records, n |x - s/n| = |n x - s| is made of whole numbers alone.
        scaled = squared_distances(point.records * columns, point.total)
        scaled /= float(point.records) ** 2
        return scaled
    difference = columns - point[:, None]
    difference *= difference
    distances: Vector = difference[0]
    # An explicit loop over the columns: the bits of a distance never depend on how many other
    # records are measured or on their layout in memory.
    for squares in difference[1:]:
        distances += squares
    return distances


def rounding_slack(largest: float, point: Vector) -> float:
    """Return a bound on how far rounding can put two records in the wrong order.

    If ``|x|^2 - 2 x.q``, computed in any order, is smaller for x than for y by more than this, then
    `squared_distances` from q is smaller for x than for y. `largest` is the greatest squared norm
    of the records.
    """
    # With M the greatest squared norm and u the unit roundoff, the product of d + 1 terms is off by
    # at most (3d + 2) u (M + |q|^2) and the distance itself by 2 (d + 2) u (M + |q|^2). Either
    # record may be off by the sum; 8 (d + 3) eps covers twice that sum with room to spare.
    scale = largest + float(point @ point)
    return 8 * (len(point) + 3) * _EPSILON * scale + _TINY
