"""Batches of columns: one call for many columns, in the memory of one batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

__all__ = ["batches"]

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
