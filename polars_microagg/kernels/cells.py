"""Masked values of single cells, told as differences from original ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from polars_microagg.partition import Labels, Matrix, Vector

__all__ = ["anchored", "cells"]


def anchored(original: Vector, masked: Vector, *, inside: bool = False) -> tuple[Labels, Vector]:
    """Find the nearest original value of each masked one, and the difference from it.

    Parameters
    ----------
    original : array of shape (n,)
        Values of a column, n >= 1.
    masked : array of shape (n,)
        Masked values.
    inside : bool
        Whether what lies beyond the range of the column is brought back to its ends.

    Returns
    -------
    anchors : array of shape (n,)
        Positions of the nearest original values, of equally near ones the smaller.
    differences : array of shape (n,)
        Masked value less original one.

    Examples
    --------
    >>> anchored(np.array([5.0, 1.0, 9.0]), np.array([2.0, 8.5, 11.0]))
    (array([1, 2, 2]), array([ 1. , -0.5,  2. ]))
    """
    order = np.argsort(original, kind="stable")
    ranked = original[order]
    if inside:
        masked = np.clip(masked, ranked[0], ranked[-1])
    above = np.minimum(ranked.searchsorted(masked), len(ranked) - 1)
    # The first of its equals, so that equal masked values are the same in every respect.
    below = ranked.searchsorted(ranked[np.maximum(above - 1, 0)])
    # Halves do not overflow.
    nearer = masked / 2 - ranked[below] / 2 <= np.abs(ranked[above] / 2 - masked / 2)
    anchors = order[np.where(nearer, below, above)]
    return anchors, masked - original[anchors]


def cells(
    x: Matrix,
    factors: Vector,
    whole: Sequence[bool],
    strata: Iterable[Labels],
    mask: Callable[[Matrix], Matrix],
) -> tuple[Labels, Matrix]:
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
    anchors : array of shape (n, p)
        Row with the nearest original value of the same column and stratum; -1 where there is none.
    differences : array of shape (n, p)
        Masked value less that one, in steps.

    Examples
    --------
    >>> x = np.array([[5.0], [9.0]])
    >>> cells(x, np.ones(1), [True], [np.array([0, 1])], lambda part: part * 0 + 6)[1].tolist()
    [[1.0], [1.0]]
    """
    anchors = np.full(x.shape, -1, dtype=np.intp, order="F")
    differences = np.zeros(x.shape, order="F")
    for rows in strata:
        present = np.flatnonzero(~np.isnan(x[rows[0]]))
        part = x[np.ix_(rows, present)]
        masked = mask(part * factors[present]) / factors[present]
        for column, j in enumerate(present):
            inside = bool(whole) and whole[int(j)]
            found = anchored(part[:, column], masked[:, column], inside=inside)
            anchors[rows, j], differences[rows, j] = rows[found[0]], found[1]
    return anchors, differences
