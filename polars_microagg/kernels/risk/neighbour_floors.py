"""Neighbours of every record with their distances, and a floor for the distance of all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.neighbour_blocks import random_parts
from polars_microagg.kernels.neighbour_lists import neighbour_lists

__all__ = ["NeighbourFloors", "listed_neighbours"]

WHOLE = 20_000
"""Up to this many records, all pairs are compared."""

LEAF = 256
"""Least number of records in a leaf."""

LEAVES = 8000
"""Number of leaves, at most about twice."""

LOOKED = 24
"""Other leaves whose records are compared with those of a leaf."""


@dataclass(frozen=True, eq=False)
class NeighbourFloors:
    """Lists of neighbours, and a floor for the distance of every record that is not listed.

    `near` (n, c) are rows, `squares` (n, c) their squared distances, ascending, infinite where
    there is none; no unlisted record is nearer than `far` (n,), infinite if all are listed.
    """

    near: Labels
    squares: Matrix
    far: Vector


def listed_neighbours(x: Matrix, count: int) -> NeighbourFloors:
    """Return the `count` nearest of each of (n, d) records about zero, and a floor for all others.

    With more than 20,000 records some of the nearest may be missing, but not from `far`; time and
    memory then are near-linear.

    >>> floors = listed_neighbours(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> floors.near.tolist(), floors.far.tolist()
    ([[1], [0], [1]], [1.0, 1.0, 4.0])
    """
    n = len(x)
    count = min(count, n - 1)
    if n > WHOLE:
        return _by_leaves(x, count)
    near = neighbour_lists(x, np.array([n]), count)
    squares = _squares(x, np.arange(n), near)
    return NeighbourFloors(near, squares, squares[:, -1] if count < n - 1 else np.full(n, np.inf))


def _squares(x: Matrix, rows: Labels, near: Labels) -> Matrix:
    """Return the squared distances of rows from their neighbours, column by column."""
    squares = np.zeros(near.shape)
    for column in x.T:
        squares += np.square(column[near] - column[rows][:, None])
    return squares


def _by_leaves(x: Matrix, count: int) -> NeighbourFloors:
    """Compare the records of a leaf with those of the leaves round it."""
    n = len(x)
    # A part may have two fifths of that, which are to be enough neighbours of a record.
    size = max(LEAF, n // LEAVES, -(-5 * (count + 1) // 2))
    parts = random_parts(x, size, np.random.default_rng(0))
    low = np.stack([x[rows].min(axis=0) for rows in parts])
    high = np.stack([x[rows].max(axis=0) for rows in parts])
    floors = NeighbourFloors(
        np.empty((n, count), np.intp), np.full((n, count), np.inf), np.full(n, np.inf)
    )
    for i, rows in enumerate(parts):
        own = _pairs(x, rows, rows)
        radius = float(np.partition(own, count - 1, axis=1)[:, count - 1].max())
        gap = np.maximum(np.maximum(low - high[i], low[i] - high), 0.0)
        apart = np.einsum("ij,ij->i", gap, gap)
        apart[i] = np.inf
        # All others are farther from every record of the leaf than its nearest in the leaf.
        # Every record of the leaf has `count` others within `radius`. So a leaf whose box is
        # farther than that holds none of its `count` nearest.
        close = np.flatnonzero(apart <= radius)
        reach = _reach(x[rows], low[close], high[close])
        order = np.argsort(reach.min(axis=0, initial=np.inf), kind="stable")
        # Only the nearest of these leaves are searched, to bound the time.
        looked = close[order[:LOOKED]]
        others = np.concatenate([rows, *(parts[j] for j in looked)])
        pairs = np.concatenate((own, _pairs(x, rows, others[len(rows) :])), axis=1)
        chosen = np.argpartition(pairs, count - 1, axis=1)[:, :count]
        near = others[chosen]
        squares = _squares(x, rows, near)
        rank = np.argsort(squares, axis=1, kind="stable")
        floors.near[rows] = np.take_along_axis(near, rank, axis=1)
        floors.squares[rows] = np.take_along_axis(squares, rank, axis=1)
        # An unlisted record is in a leaf that was searched or beyond `radius`, and no nearer than
        # the last one listed; or it is in a close leaf that was not searched, and no nearer than
        # its box. The smaller of the two is a floor.
        unseen = reach[:, order[LOOKED:]].min(axis=1, initial=np.inf)
        floors.far[rows] = np.minimum(floors.squares[rows, -1], unseen)
    return floors


def _pairs(x: Matrix, rows: Labels, others: Labels) -> Matrix:
    """Return the squared distances of two sets of records, infinite from a record to itself."""
    a, b = x[rows], x[others]
    centre = a.mean(axis=0)
    a, b = a - centre, b - centre
    pairs: Matrix = -2.0 * a @ b.T
    pairs += np.einsum("ij,ij->i", a, a)[:, None]
    pairs += np.einsum("ij,ij->i", b, b)
    pairs[rows[:, None] == others] = np.inf
    return pairs


def _reach(x: Matrix, low: Matrix, high: Matrix) -> Matrix:
    """Return the squared distances of records from boxes."""
    reach = np.zeros((len(x), len(low)))
    for j, column in enumerate(x.T):
        gap = np.maximum(low[:, j] - column[:, None], column[:, None] - high[:, j])
        reach += np.square(np.maximum(gap, 0.0, out=gap))
    return reach
