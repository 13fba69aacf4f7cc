"""Floors for pairs of records that are in no list."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.neighbour_blocks import random_parts

__all__ = ["least_unlisted"]

LEAF = 128
"""Most records of a leaf."""

FIRST = 4
"""So many leaves are looked at before others are excluded."""

CELLS = 1 << 22
"""Distances handled at a time."""


def least_unlisted(x: Matrix, one: Labels, other: Labels, weights: Vector) -> Vector:
    """Return the least squared distance of each record, less a weight, from those not listed with it.

    `one` and `other` are pairs of rows of (n, d) records, each pair once; the weight is that of the
    other record. Infinite where a record is listed with all others.

    >>> x = np.array([[0.0], [1.0], [3.0]])
    >>> least_unlisted(x, np.array([0]), np.array([1]), np.array([0.0, 1.0, 2.0])).tolist()
    [7.0, 2.0, 3.0]
    """
    n = len(x)
    rows, partners = np.concatenate((one, other)), np.concatenate((other, one))
    order = np.argsort(rows, kind="stable")
    partners = partners[order]
    starts = np.searchsorted(rows[order], np.arange(n + 1))
    leaves = random_parts(x, LEAF, np.random.default_rng(0))
    low = np.stack([x[leaf].min(axis=0) for leaf in leaves])
    high = np.stack([x[leaf].max(axis=0) for leaf in leaves])
    most = np.array([weights[leaf].max() for leaf in leaves])
    least: Vector = np.full(n, np.inf)
    place = np.full(n, -1)
    for i, leaf in enumerate(leaves):
        # No record of another leaf is nearer than its box, nor has a greater weight than its most.
        gap = np.maximum(np.maximum(low - high[i], low[i] - high), 0.0)
        bound = np.einsum("ij,ij->i", gap, gap) - most
        nearest = np.argsort(bound, kind="stable")
        sizes = starts[leaf + 1] - starts[leaf]
        own = np.repeat(np.arange(len(leaf)), sizes)
        cells = np.arange(len(own)) + np.repeat(starts[leaf] - (np.cumsum(sizes) - sizes), sizes)
        listed = partners[cells]
        step = max(1, CELLS // (len(leaf) * LEAF))
        done, count = 0, FIRST
        while done < len(nearest):
            part = nearest[done : done + count]
            if not bound[part[0]] < least[leaf].max():
                break
            part = part[bound[part] < least[leaf].max()]
            others = np.concatenate([leaves[j] for j in part])
            squares = np.zeros((len(leaf), len(others)))
            for column in x.T:
                squares += np.square(column[leaf][:, None] - column[others])
            squares -= weights[others]
            place[others] = np.arange(len(others))
            here = place[listed] >= 0
            squares[own[here], place[listed[here]]] = np.inf
            itself = place[leaf] >= 0
            squares[np.flatnonzero(itself), place[leaf[itself]]] = np.inf
            place[others] = -1
            least[leaf] = np.minimum(least[leaf], squares.min(axis=1))
            done, count = done + count, step
    return least
