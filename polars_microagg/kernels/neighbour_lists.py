"""The nearest neighbours of every record within its stratum, exact and in linear memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.distance import rounding_slack, squared_distances
from polars_microagg.kernels.local.near_records import near_records, record_blocks

__all__ = ["neighbour_lists"]

DIRECT = 256
"""Up to this many records, all distances are computed directly."""

CLASS = 16
"""Small strata are laid side by side with others whose sizes differ by less than this."""

CELLS = 1 << 20
"""Distances handled at a time."""

SPARE = 4
"""Neighbours that the matrix product picks beyond those wanted."""

BLOCKED, COLUMNS = 3000, 3
"""With as many records, in up to so many columns, blocks of them are compared only with those that may be
near. In more columns most may be."""

WIDER = 1 + 1e-9
"""Squared distances are increased by this share, for their rounding."""

CROWD = 4
"""Where more than this many times those wanted may be among them, each record has an order of its own."""


def neighbour_lists(x: Matrix, sizes: Labels, count: int) -> Labels:
    """Return the (n, count) rows nearest to each record in its stratum, equally near ones by row.

    `x` (n, d) are centred records stratum by stratum. A record stands in for neighbours that its
    stratum does not have. A stratum of up to 256 records has the very same neighbours alone and
    among others.

    >>> neighbour_lists(np.array([[0.0], [3.0], [1.0], [9.0], [7.0]]), np.array([3, 2]), 2)
    array([[2, 1],
           [2, 0],
           [0, 1],
           [4, 3],
           [3, 4]])
    """
    near = np.empty((len(x), count), dtype=np.intp)
    near[:] = np.arange(len(x))[:, None]
    starts = np.cumsum(sizes) - sizes
    small = sizes <= DIRECT
    _of_small(x, starts[small], sizes[small], near)
    for start, size in zip(starts[~small].tolist(), sizes[~small].tolist(), strict=True):
        _of_large(x[start : start + size], start, near[start : start + size])
    return near


def _of_small(x: Matrix, starts: Labels, sizes: Labels, near: Labels) -> None:
    """Compare all records of small strata, strata of about the same size side by side."""
    width = -(-sizes // CLASS) * CLASS
    for slots in np.unique(width):
        chosen = np.flatnonzero(width == slots)
        step = max(1, CELLS // int(slots) ** 2)
        for first in range(0, len(chosen), step):
            part = chosen[first : first + step]
            _side_by_side(x, starts[part, None], sizes[part, None], int(slots), near)


def _side_by_side(x: Matrix, starts: Labels, sizes: Labels, slots: int, near: Labels) -> None:
    """Compare all records of strata of about one size at once."""
    filled = np.arange(slots) < sizes
    rows = np.where(filled, starts + np.arange(slots), starts)
    # Added up column by column for the same bits as `squared_distances`, however many strata are
    # side by side.
    distances = np.zeros((len(rows), slots, slots))
    for column in x.T:
        values = column[rows]
        distances += np.square(values[:, :, None] - values[:, None, :])
    distances[np.broadcast_to(~filled[:, None], distances.shape)] = np.inf
    distances[:, np.arange(slots), np.arange(slots)] = np.inf
    # One stratum has no more neighbours than records, and finite distances come first.
    width = min(near.shape[1], int(sizes.max()) - 1)
    nearest = np.argsort(distances, axis=2, kind="stable")[:, :, :width]
    there = (np.arange(width) < sizes - 1)[:, None, :] & filled[:, :, None]
    own = np.broadcast_to(rows[:, :, None], nearest.shape)
    near[rows[filled], :width] = np.where(there, nearest + starts[:, :, None], own)[filled]


def _of_large(x: Matrix, start: int, near: Labels) -> None:
    """Fill in the neighbours of one stratum."""
    n, count = near.shape
    columns = np.ascontiguousarray(x.T)
    if n >= BLOCKED and len(columns) <= COLUMNS:
        blocks, close = _close_blocks(x, count)
        if 2 * np.count_nonzero(close) <= close.size:
            there = np.zeros(n, dtype=np.bool_)
            for block, others in zip(blocks, close, strict=True):
                there[blocks[others]] = True
                rows, among = np.unique(block), np.flatnonzero(there)
                there[among] = False
                own = columns.take(among, axis=1)
                near[rows] = among[_nearest(own, np.searchsorted(among, rows), count)] + start
            return
    _by_product(columns, start, near)


def _close_blocks(x: Matrix, count: int) -> tuple[Labels, npt.NDArray[np.bool_]]:
    """Return blocks of rows, and which of them may have neighbours of the records of each.

    As many records as are wanted are known to be as near as those that a quick search finds. So blocks
    that lie farther from a block than that have no neighbour of its records.
    """
    near = near_records(x, count)
    away = np.zeros(len(x))
    for column in near.T:
        np.maximum(away, np.square(x - x.take(column, axis=0)).sum(axis=1), out=away)
    # One that stands in for itself has fewer neighbours than are wanted.
    away[(near == np.arange(len(x))[:, None]).any(axis=1)] = np.inf
    blocks = record_blocks(x)
    inside = x.T.take(blocks, axis=1)
    low, high = inside.min(axis=2), inside.max(axis=2)
    gaps = np.zeros((len(blocks), len(blocks)))
    for least, most in zip(low, high, strict=True):
        gap = np.maximum(least - most[:, None], least[:, None] - most)
        gaps += np.square(np.maximum(gap, 0.0))
    return blocks, gaps <= away.take(blocks).max(axis=1)[:, None] * WIDER


def _nearest(columns: Matrix, places: Labels, count: int) -> Labels:
    """Return the `count` places nearest to each of these among all, equally near ones in order."""
    distances = np.zeros((len(places), columns.shape[1]))
    for column in columns:
        distances += np.square(column - column.take(places)[:, None])
    distances[np.arange(len(places)), places] = np.inf
    return _choose(columns, places, distances, 0.0, count)


def _by_product(columns: Matrix, start: int, near: Labels) -> None:
    """Fill in the neighbours of one stratum: a matrix product first, then exact distances."""
    n = columns.shape[1]
    norms = squared_distances(columns, np.zeros(len(columns)))
    table = np.concatenate((columns, norms[None]))
    slack = rounding_slack(float(norms.max()), columns[:, norms.argmax()])
    step = max(1, CELLS // n)
    for first in range(0, n, step):
        rows = np.arange(first, min(first + step, n))
        weights = np.ones((len(rows), len(table)))
        np.multiply(columns[:, rows].T, -2.0, out=weights[:, :-1])
        values = weights @ table
        values[np.arange(len(rows)), rows] = np.inf
        near[rows] = _choose(columns, rows, values, slack, near.shape[1]) + start


def _choose(
    columns: Matrix, rows: Labels, values: Matrix, slack: float, count: int
) -> npt.NDArray[np.intp]:
    """Return the nearest records by exact distance among those whose values, off by the slack, are first."""
    wide = min(count + SPARE, values.shape[1] - 2)
    picked = np.argpartition(values, wide, axis=1)[:, : wide + 1]
    ranked = np.sort(np.take_along_axis(values, picked, axis=1), axis=1)
    chosen = _ranked(columns, rows, np.sort(picked, axis=1))[:, :count]
    # Where rounding may have kept out an equal of the last one, all that could be it compete.
    # Values may be off by the slack. If the first value left out is clearly larger than the
    # last one wanted, nothing was missed.
    doubtful = np.flatnonzero(ranked[:, wide] <= ranked[:, count - 1] + slack)
    if not len(doubtful):
        return chosen
    few, rivals = [], []
    for i in doubtful.tolist():
        own = np.flatnonzero(values[i] <= ranked[i, count - 1] + slack)
        # Where most are equal, or equally near beside far ones, they would be too many for a table.
        if len(own) > CROWD * count:
            chosen[i] = _first(columns, int(rows[i]), own, count)
        else:
            few.append(i)
            rivals.append(own)
    if not few:
        return chosen
    sizes = np.array([len(some) for some in rivals])
    filled = np.arange(sizes.max()) < sizes[:, None]
    picked = np.zeros(filled.shape, dtype=np.intp)
    picked[filled] = np.concatenate(rivals)
    chosen[few] = _ranked(columns, rows[few], picked, filled)[:, :count]
    return chosen


def _first(columns: Matrix, row: int, among: Labels, count: int) -> Labels:
    """Return the nearest to a record of those among many, equally near ones by row."""
    distances = np.zeros(len(among))
    for column in columns:
        distances += np.square(column.take(among) - column[row])
    last = np.partition(distances, count - 1)[count - 1]
    nearer = np.flatnonzero(distances < last)
    nearer = nearer[np.argsort(distances[nearer], kind="stable")]
    alike = np.flatnonzero(distances == last)[: count - len(nearer)]
    return among[np.concatenate((nearer, alike))]


def _ranked(
    columns: Matrix,
    rows: Labels,
    picked: Labels,
    filled: npt.NDArray[np.bool_] | None = None,
) -> Labels:
    """Sort candidate rows of several records by exact distance; equal ones stay in order.

    Of candidates only those `filled` count.
    """
    distances: Vector = np.zeros(picked.shape)
    for column in columns:
        distances += np.square(column[picked] - column[rows][:, None])
    if filled is not None:
        distances[~filled] = np.inf
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(picked, order, axis=1)
