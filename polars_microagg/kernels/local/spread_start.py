"""Groups spread over the values of a confidential column, as a start for a search under a rule."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.neighbour_blocks import SAMPLE, mdav_in_blocks

__all__ = ["spread_groups"]

BLOCK = 512
"""Least number of records in a block."""


def spread_groups(x: Matrix, codes: Labels, k: int, layers: int) -> Labels:
    """Return labels of groups that take as many records of each layer of equal codes, about k in all.

    The (n, d) records in order of their codes are cut into layers of equal size. Groups are numbered
    from 0; -1 are records that are left over, fewer than layers or, of many records, blocks times
    layers.

    >>> x = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> spread_groups(x, np.array([0, 1, 0, 1]), 2, 2)
    array([0, 0, 1, 1])
    """
    # J. Soria-Comas, J. Domingo-Ferrer, D. Sanchez and S. Martinez (2015), t-closeness through
    # microaggregation, IEEE TKDE 27(11): one record of each of k subsets of the confidential values.
    # Fewer layers, with several records of each, are enough for a looser bound.
    n = len(x)
    each = -(-k // layers)
    count = 1
    while n // (2 * count) >= max(BLOCK, 4 * layers * each):
        count *= 2
    width = n // (count * layers)
    # The records nearest to the mean are left over, which a group may take in at the least cost.
    norms = np.einsum("ij,ij->i", x, x)
    kept = np.sort(np.argsort(-norms, kind="stable")[: count * layers * width])
    by_code = kept[np.argsort(codes[kept], kind="stable")]
    blocks = _aligned(x, by_code.reshape(layers, -1), count)
    own = np.arange(blocks.size).reshape(blocks.shape)
    labels = np.full(n, -1, dtype=np.intp)
    labels[blocks.ravel()] = mdav_in_blocks(x[blocks.ravel()], own, layers * each, layers)
    return labels


def _aligned(x: Matrix, layers: Labels, count: int) -> Labels:
    """Return blocks of as many records of each layer: those at the same place in each, about.

    `layers` (l, m) has the rows of each, and the number of blocks is a power of 2 that divides m.
    """
    # Every layer is halved along the same column at its own middle, again and again: what lies low in
    # one layer goes with what lies low in the others, also where the column depends on the code.
    blocks = layers[None]
    while len(blocks) < count:
        width = blocks.shape[2]
        halves = np.empty((2 * len(blocks), len(layers), width // 2), dtype=np.intp)
        for number, block in enumerate(blocks):
            sample = x[block[:, :: max(1, width // SAMPLE)]]
            widest = int(sample.var(axis=1).sum(axis=0).argmax())
            order = np.argpartition(x[block, widest], width // 2, axis=1)
            cut = np.take_along_axis(block, order, axis=1)
            halves[2 * number], halves[2 * number + 1] = cut[:, : width // 2], cut[:, width // 2 :]
        blocks = halves
    return blocks.reshape(len(blocks), -1)
