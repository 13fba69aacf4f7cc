"""Blocks of records that are halved by rank where they spread most."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix

__all__ = ["halved", "one_block"]

SAMPLE = 32
"""About twice as many records of a block decide along which column it is cut."""


def one_block(n: int, most: int) -> tuple[Labels, int]:
    """Return the rows (1, w) of a block of n records, and into how many it is to be halved.

    Then each has at most `most`, and half of that or more if there are as many. A record may be twice in
    it, so that all have as many.

    >>> one_block(5, 3)
    (array([[0, 0, 1, 2, 3, 4]]), 2)
    """
    count = 1 << max(0, (-(-n // most) - 1).bit_length())
    width = count * -(-n // count)
    return (np.arange(width) * n // width)[None], count


def halved(
    rows: Labels, columns: Matrix, keys: npt.NDArray[np.uint16]
) -> tuple[Labels, Labels, npt.NDArray[np.uint16]]:
    """Return the (2 b, w / 2) halves of the (b, w) blocks, the columns of the cuts and the last key below.

    The `keys` (d, n) put the values of `columns` (d, n) in order: small whole numbers are sorted digit by
    digit, much faster than others.

    >>> x = np.array([[3.0, 0.0, 9.0, 1.0]])
    >>> halved(np.arange(4)[None], x, x.astype(np.uint16))
    (array([[1, 3],
           [0, 2]]), array([0]), array([1], dtype=uint16))
    """
    half = rows.shape[1] // 2
    some = columns.take(rows[:, :: max(1, half // SAMPLE)], axis=1)
    widest = (some.max(axis=2) - some.min(axis=2)).argmax(axis=0)
    own = keys.reshape(-1).take(rows + keys.shape[1] * widest[:, None])
    order = np.argsort(own, axis=1, kind="stable")
    border = np.take_along_axis(own, order[:, half - 1 : half], axis=1)[:, 0]
    return np.take_along_axis(rows, order, axis=1).reshape(2 * len(rows), half), widest, border
