"""Records near each record, found among neighbouring blocks of a k-d tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.local.halved_blocks import halved, one_block
from polars_microagg.kernels.local.near_groups import nearest_blocks

__all__ = ["near_records", "record_blocks"]

BLOCK = 80
"""A block has at most this many records, and half of that or more if there are as many."""

LEAST, EACH, MOST = 32, 8, 128
"""Blocks among which the neighbours of a record are looked for, its own among them: at least, for each
column, and at most. With more columns a block has more neighbours."""

CELLS = 1 << 17
"""Distances handled at a time, so that they stay in the cache."""

Single = npt.NDArray[np.float32]


def near_records(x: Matrix, count: int) -> Labels:
    """Return the (n, count) rows of records near each of the (n, d) records, the nearest first.

    These are not always the nearest of all: only those of neighbouring blocks are compared, in single
    precision. A record stands in for neighbours that it does not have.

    >>> near_records(np.array([[0.0], [3.0], [1.0], [9.0]]), 4)
    array([[2, 1, 3, 0],
           [2, 0, 3, 1],
           [0, 1, 3, 2],
           [1, 2, 0, 3]])
    """
    n = len(x)
    # Below 1, whatever the units, so that no square is beyond single precision.
    x = np.ldexp(x, -np.frexp(np.abs(x).max(initial=0.0))[1])
    rows = record_blocks(x)
    near = np.empty((n, count), dtype=np.intp)
    near[:] = np.arange(n)[:, None]
    inside = np.ascontiguousarray(x.T).take(rows, axis=1)
    reach = min(max(LEAST, EACH * x.shape[1]), MOST)
    blocks = nearest_blocks(inside.min(axis=2), inside.max(axis=2), reach)
    among = _once(rows, n)[blocks].reshape(len(rows), -1)
    step = max(1, CELLS // (rows.shape[1] * among.shape[1]))
    room = np.empty((2, min(step, len(rows)), rows.shape[1], among.shape[1]), dtype=np.float32)
    columns = np.concatenate((x.T, np.zeros((x.shape[1], 1))), axis=1)
    for first in range(0, len(rows), step):
        own, others = rows[first : first + step], among[first : first + step]
        distances, away = room[:, : len(own)]
        distances[:] = 0.0
        # Added up column by column, so that the bits do not depend on the machine.
        for column in columns:
            # About a record of the block, so that single precision tells those near it apart.
            middle = column.take(own[:, :1])
            here = (column.take(own) - middle).astype(np.float32)
            there = (column.take(others) - middle).astype(np.float32)
            np.subtract(here[:, :, None], there[:, None, :], out=away)
            away *= away
            distances += away
        distances[np.broadcast_to((others == n)[:, None], distances.shape)] = np.inf
        distances[own[:, :, None] == others[:, None]] = np.inf
        _fill(near, own, others, distances)
    return near


def record_blocks(x: Matrix) -> Labels:
    """Return the (b, w) rows of blocks of records."""
    columns = np.ascontiguousarray(x.T)
    # Ranks of values, so that a few that are far off do not make all others equal.
    ranks = np.empty(columns.shape, dtype=np.uint16)
    places = (np.arange(len(x)) * 65_536 // len(x)).astype(np.uint16)
    for rank, order in zip(ranks, np.argsort(columns, axis=1, kind="stable"), strict=True):
        rank[order] = places
    rows, count = one_block(len(x), BLOCK)
    while len(rows) < count:
        rows = halved(rows, columns, ranks)[0]
    return rows


def _once(rows: Labels, n: int) -> Labels:
    """Return the rows with n in place of those that were in an earlier place already."""
    first = np.full(n, rows.size, dtype=np.intp)
    place = np.arange(rows.size)
    np.minimum.at(first, rows.ravel(), place)
    return np.where(first[rows] == place.reshape(rows.shape), rows, n)


def _fill(near: Labels, own: Labels, others: Labels, distances: Single) -> None:
    """Write the nearest candidates of each record of some blocks."""
    block = np.arange(len(own))[:, None]
    slot = np.arange(own.shape[1])
    for j in range(near.shape[1]):
        # The least one again and again is faster than to sort, or to select.
        best = distances.argmin(axis=2)
        there = distances[block, slot, best] < np.inf
        near[own, j] = np.where(there, others[block, best], own)
        distances[block, slot, best] = np.inf
