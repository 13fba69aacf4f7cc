"""Groups near each record, found among neighbouring blocks of a k-d tree."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.local.halved_blocks import halved, one_block

__all__ = ["near_groups", "nearest_blocks"]

BLOCK = 80
"""A block has at most this many records, and more than half of that if there are as many."""

REACH = 24
"""A record sees the groups of this many blocks, its own among them."""

CANDIDATES = 96
"""A record sees so many of these groups, those nearest to its block."""

TOGETHER = 256
"""Blocks among which neighbours are looked for, so that time is linear in the records."""

STEPS = 65_535
"""A column has this many steps where records are put in blocks."""

NARROW = 1e-30
"""A column whose values differ by less does not count."""

CELLS = 1 << 17
"""Distances handled at a time, so that they stay in the cache."""

BEYOND = 1e9
"""A coordinate of a centre that is not there; no squared distance between others is as large."""

Single = npt.NDArray[np.float32]
Floats = npt.NDArray[np.floating]


def near_groups(x: Matrix, centres: Matrix, count: int) -> Labels:
    """Return the (n, count) groups whose centres are near each record, the nearest first.

    These are not always the nearest of all: only those of neighbouring blocks are compared, in single
    precision. The values of `x` (n, d) and `centres` (g, d) lie between -1 and 1. Where there are
    fewer groups, the nearest one stands in for others.

    >>> x = np.array([[0.0], [0.1], [0.8], [0.9]])
    >>> near_groups(x, np.array([[0.05], [0.85]]), 2)
    array([[0, 1],
           [0, 1],
           [1, 0],
           [1, 0]])
    """
    n, groups = len(x), len(centres)
    rows, home = _blocks(x, centres)
    held = np.bincount(home, minlength=len(rows))
    # The centres of each block, filled up with one that is beyond all others.
    # Where more lie in a block than it has records, most are equal, and the first ones will do.
    slots = np.full((len(rows), min(int(held.max()), BLOCK)), groups, dtype=np.intp)
    order = np.argsort(home, kind="stable")
    place = np.arange(groups) - np.repeat(np.cumsum(held) - held, held)
    order, place = order[place < BLOCK], place[place < BLOCK]
    slots[home[order], place] = order
    columns = x.T.astype(np.float32, order="C")
    middles = np.full((x.shape[1], groups + 1), BEYOND, dtype=np.float32)
    middles[:, :-1] = centres.T
    inside = columns.take(rows, axis=1)
    boxes = inside.min(axis=2), inside.max(axis=2)
    near = slots[nearest_blocks(*boxes, REACH)].reshape(len(rows), -1)
    near = _nearest_to_box(near, middles, *boxes)
    found = np.empty((n, count), dtype=np.intp)
    step = min(len(rows), max(1, CELLS // (rows.shape[1] * near.shape[1])))
    # Memory that is asked for once costs less than the arithmetic in it.
    room = np.empty((2, near.shape[1] * step * rows.shape[1]), dtype=np.float32)
    for first in range(0, len(rows), step):
        part, among = rows[first : first + step], near[first : first + step].T
        shape = len(among), *part.shape
        distances, away = (one[: prod(shape)].reshape(shape) for one in room)
        # Added up column by column, so that the bits do not depend on the machine.
        for j, (column, middle) in enumerate(zip(columns, middles, strict=True)):
            to = away if j else distances
            np.subtract(middle.take(among)[:, :, None], column.take(part), out=to)
            to *= to
            if j:
                distances += away
        found[part] = _nearest(distances, among, count)
    return found


def _nearest_to_box(near: Labels, middles: Single, low: Single, high: Single) -> Labels:
    """Return those of the groups of each row whose centres are nearest to the box of a block."""
    if near.shape[1] <= CANDIDATES:
        return near
    away = np.zeros(near.shape, dtype=np.float32)
    for middle, least, most in zip(middles, low[:, :, None], high[:, :, None], strict=True):
        centres = middle.take(near)
        apart = np.maximum(least - centres, centres - most)
        away += np.square(np.maximum(apart, np.float32(0.0)))
        # Those in the box are told apart by how far from its middle they are.
        away += np.float32(MIDDLES) * np.square(centres - (least + most) * np.float32(0.5))
    chosen = np.argpartition(away, CANDIDATES - 1, axis=1)[:, :CANDIDATES]
    # In their order, as the first of equals is the nearest.
    chosen.sort(axis=1)
    return np.take_along_axis(near, chosen, axis=1)


def _blocks(x: Matrix, centres: Matrix) -> tuple[Labels, Labels]:
    """Return the (b, w) rows of blocks of records, and the block in which each centre lies."""
    columns = np.ascontiguousarray(x.T)
    low, high = (side[:, None] for side in (columns.min(axis=1), columns.max(axis=1)))
    unit = np.where(high - low > NARROW, high - low, 1.0) / STEPS
    # The blocks only say where to look, so steps will do.
    steps = ((columns - low) / unit).astype(np.uint16)
    places = (np.clip(centres.T - low, 0.0, high - low) / unit).astype(np.uint16)
    rows, count = one_block(len(x), BLOCK)
    home = np.zeros(len(centres), dtype=np.intp)
    while len(rows) < count:
        rows, widest, border = halved(rows, columns, steps)
        home = 2 * home + (places[widest[home], np.arange(len(home))] > border[home])
    return rows, home


def nearest_blocks(low: Floats, high: Floats, reach: int) -> Labels:
    """Return up to `reach` blocks nearest to each block, itself first, by the sides (d, b) of their boxes."""
    near = []
    for first in range(0, low.shape[1], TOGETHER):
        part = slice(first, first + TOGETHER)
        gap = np.zeros((low[0, part].size,) * 2)
        for least, most in zip(low[:, part], high[:, part], strict=True):
            apart = np.maximum(least[:, None] - most, least - most[:, None])
            # Boxes that touch are told apart by how far their middles are.
            between = (least + most)[:, None] - (least + most)
            gap += np.square(np.maximum(apart, 0.0)) + MIDDLES * np.square(between)
        np.fill_diagonal(gap, -1.0)
        near.append(np.argsort(gap, axis=1, kind="stable")[:, :reach] + first)
    return np.concatenate(near)


MIDDLES = 1e-3
"""Weight of the squared distance of middles, against that of boxes."""


def _nearest(distances: Single, among: Labels, count: int) -> Labels:
    """Return those of the (c, b) candidates that are nearest to each record, by (c, b, w) distances.

    The distances are spent.
    """
    candidates, blocks, width = distances.shape
    # Positive numbers in single precision are ordered as their bits are. The last bits, which nobody
    # misses, say which candidate it is: then the least key tells where it is.
    keys = distances.view(np.uint32).reshape(candidates, -1)
    slots = np.uint32((1 << (candidates - 1).bit_length()) - 1)
    keys &= ~slots
    keys |= np.arange(candidates, dtype=np.uint32)[:, None]
    beyond = np.float32(BEYOND).view(np.uint32) & ~slots
    found = np.zeros((count, blocks * width), dtype=np.intp)
    block = np.repeat(np.arange(blocks), width)
    past = np.zeros(blocks * width, dtype=np.uint32)
    there = np.ones(blocks * width, dtype=np.bool_)
    for j in range(count):
        least = keys.min(axis=0)
        best = past + least
        # Where all have been taken, the first ones come again.
        there &= (best < beyond) & (best >= past)
        found[j] = np.where(there, among[best & slots, block], found[0])
        if j == count - 1:
            break
        # Below zero keys become the largest ones, so the next of them is the least.
        least += np.uint32(1)
        keys -= least
        past += least
    return found.T.reshape(blocks, width, count)
