"""Batches of columns and of rows: one call for many of them, in the memory of one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import polars as pl

__all__ = ["batches", "even"]

T = TypeVar("T")

CELLS = 1 << 22
"""Cells of a batch, unless one column has more."""


def batches(columns: Sequence[T], rows: int) -> Iterator[Sequence[T]]:
    """Split columns of so many rows into batches.

    >>> [len(batch) for batch in batches(range(10), 2**20)]
    [4, 4, 2]
    """
    step = max(1, CELLS // max(1, rows))
    for start in range(0, len(columns), step):
        yield columns[start : start + step]


def even(
    frames: Iterable[pl.DataFrame], rows: Callable[[pl.DataFrame], int]
) -> Iterator[pl.DataFrame]:
    """Part a table anew, into frames of so many rows; the last has fewer, and there is at least one.

    >>> frame = pl.DataFrame({"age": range(5)})
    >>> [part.height for part in even([frame[:1], frame[1:]], lambda _: 2)]
    [2, 2, 1]
    """
    waiting: list[pl.DataFrame] = []
    height, none = 0, True
    for frame in frames:
        waiting.append(frame)
        height += frame.height
        if height > (step := rows(frame)):
            whole = pl.concat(waiting)
            full = (height - 1) // step * step
            yield from whole.head(full).iter_slices(step)
            waiting, height, none = [whole.slice(full)], height - full, False
    if height or none:
        yield pl.concat(waiting)
