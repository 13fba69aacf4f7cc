"""Completion of a scaled matrix for distances, where values are absent."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["completed"]

DONORS = 65_536
"""Most records that are searched for a donor."""
BLOCK = 1 << 22
"""Distances handled at a time."""


def _nearest(targets: Matrix, donors: Matrix) -> Labels:
    """Return the index of the nearest donor of each target."""
    norms = (donors * donors).sum(axis=1)
    best = np.empty(len(targets), dtype=np.intp)
    step = max(1, BLOCK // len(donors))
    for start in range(0, len(targets), step):
        part = targets[start : start + step]
        best[start : start + step] = (norms - 2.0 * part @ donors.T).argmin(axis=1)
    return best


def completed(x: Matrix) -> Matrix:
    """Return the (n, p) matrix with each absent value taken from the nearest record that has it.

    Records with the same pattern of absent values are completed together. Nearest is by squared
    distance over the values present in the record to complete, among the records that have all
    values of those columns and at least one that it lacks (at most 65,536 of them, evenly spaced by
    row). Where nothing can be compared the column's mean stands in.

    >>> completed(np.array([[0.0, 9.0], [5.0, 1.0], [4.0, np.nan]]))
    array([[0., 9.],
           [5., 1.],
           [4., 1.]])
    """
    absent = np.isnan(x)
    out = np.array(x, order="F")
    if not absent.any():
        return out
    means = np.zeros(x.shape[1])
    observed = ~absent.all(axis=0)
    means[observed] = np.nanmean(x[:, observed], axis=0)
    patterns, which = np.unique(absent, axis=0, return_inverse=True)
    which = which.ravel()
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(which == number)
        for j in np.flatnonzero(pattern):
            out[rows, j] = _donated(x, absent, rows, ~pattern, int(j), float(means[j]))
    return out


def _donated(
    x: Matrix,
    absent: npt.NDArray[np.bool_],
    rows: Labels,
    present: npt.NDArray[np.bool_],
    j: int,
    mean: float,
) -> Vector:
    """Return values of column `j` for records that share a pattern."""
    donors = np.flatnonzero(~absent[:, present].any(axis=1) & ~absent[:, j])
    if not present.any() or not len(donors):
        return np.full(len(rows), mean)
    donors = donors[:: -(-len(donors) // DONORS)]
    pick = np.flatnonzero(present)
    targets, pool = (np.ascontiguousarray(x[np.ix_(r, pick)]) for r in (rows, donors))
    donated: Vector = x[donors[_nearest(targets, pool)], j]
    return donated
