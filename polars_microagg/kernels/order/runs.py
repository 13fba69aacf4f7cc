"""Runs along an order: the optimal ones, blocks of k, and labels from them."""

from __future__ import annotations

from math import isqrt

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.order.dynamic_programme import Lanes

__all__ = ["blocks", "cut", "labels_along", "stable_order"]


def cut(y: Vector | Matrix, k: int, cost: str = "sse") -> Labels:
    """Cut an ordered sequence into runs of k to 2k-1 with the least cost in all.

    Of several such partitions it is the one whose last run is shortest, then the run before it,
    and so on; costs within 1e-13 of each other, relatively, count as equal.

    Parameters
    ----------
    y : array of shape (n,) or (n, d)
        Items in their order, finite: sorted numbers, or records along any path.
    k : int
        Smallest length of a run, at least 1.
    cost : {"sse", "sae", "maxdist"}
        Cost of a run: the sum of squares about its mean; for sorted numbers also the sum of
        absolute differences from its median, or its range.

    Returns
    -------
    array of int
        Lengths of the runs; one run of n if n < 2k.

    Examples
    --------
    >>> cut(np.array([1.0, 2.0, 9.0, 10.0, 11.0, 30.0, 31.0]), 2)
    array([2, 3, 2])
    """
    n = len(y)
    if n < 2 * k:
        return np.array([n], dtype=np.intp)
    columns = [np.ascontiguousarray(column) for column in np.atleast_2d(_moderate(y).T)]
    return Lanes(columns, k, length=_lane_length(n, k), cost=cost).runs()


def _moderate(y: Vector | Matrix) -> Vector | Matrix:
    """Bring numbers whose squares would leave the range of doubles to the order of 1."""
    exponent = int(np.frexp(max(-y.min(), y.max()))[1])
    return np.ldexp(y, -exponent) if abs(exponent) > 256 else y


def _lane_length(n: int, k: int) -> int | None:
    """Choose the length of the lanes, None for a single one.

    Sweeping a matrix is 2k-1 times the work of sweeping a state. It pays while the work of one
    block is less than the time it takes to start it.
    """
    return isqrt(2 * n) if k <= 12 and n >= 50 * k * k else None


def blocks(n: int, k: int) -> Labels:
    """Lengths of consecutive runs of k; the remainder joins the last.

    Parameters
    ----------
    n : int
        Number of items.
    k : int
        Length of a run.

    Returns
    -------
    array of int
        Lengths of the runs, the last one k to 2k-1; one run of n if n < 2k.

    Examples
    --------
    >>> blocks(8, 3)
    array([3, 5])
    """
    lengths = np.full(max(1, n // k), k, dtype=np.intp)
    lengths[-1] += n - lengths.sum()
    return lengths


def labels_along(order: Labels, lengths: Labels) -> Labels:
    """Label records by the run they fall into.

    Parameters
    ----------
    order : array of shape (n,)
        Row of the first, second, ... record in the order.
    lengths : array of int
        Lengths of the runs; they sum to n.

    Returns
    -------
    array of shape (n,)
        Number of the run of each row.

    Examples
    --------
    >>> labels_along(np.array([3, 0, 2, 1]), np.array([2, 2]))
    array([0, 1, 1, 0])
    """
    labels = np.empty(len(order), dtype=np.intp)
    labels[order] = np.repeat(np.arange(len(lengths), dtype=np.intp), lengths)
    return labels


def stable_order(values: Vector) -> Labels:
    """Rows in ascending order of value, equal values by row.

    The same as a stable argsort, in a fraction of the time: numpy sorts fastest when it need not
    be stable, and the rows of equal values can be sorted afterwards.

    Parameters
    ----------
    values : array of shape (n,)
        Finite numbers.

    Returns
    -------
    array of shape (n,)
        The rows in order.

    Examples
    --------
    >>> stable_order(np.array([2.0, 1.0, 2.0, 0.0]))
    array([3, 1, 0, 2])
    """
    order = np.argsort(values)
    ranked = values[order]
    rises = ranked[1:] != ranked[:-1]
    if rises.all():
        return order
    n = len(order)
    # Below 2**63 while n is below 3e9.
    base = np.zeros(n, dtype=np.intp)
    np.cumsum(rises, out=base[1:])
    base *= n
    order += base
    order.sort()
    order -= base
    return order
