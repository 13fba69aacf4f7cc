"""Splitting groups that are large, once or again and again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polars_microagg.core.partition import Labels

__all__ = ["divide_large_groups", "split_large_groups"]


def divide_large_groups(n: int, size: int, divide: Callable[[Labels], Labels]) -> Labels:
    """Return (n,) labels after dividing all records, and every group of `size` or more again.

    `divide` takes rows, ascending, and returns at least two different labels.

    >>> divide_large_groups(7, 3, lambda rows: np.arange(len(rows)) // 2 % 2)
    array([0, 0, 2, 2, 1, 1, 3])
    """
    labels = np.empty(n, dtype=np.intp)
    waiting, made = [np.arange(n)], 0
    while waiting:
        rows = waiting.pop()
        if len(rows) < size:
            labels[rows] = made
            made += 1
            continue
        parts = divide(rows)
        order = np.argsort(parts, kind="stable")
        ends = np.flatnonzero(np.diff(parts[order])) + 1
        waiting += reversed(np.split(rows[order], ends))
    return labels


def split_large_groups(labels: Labels, size: int, split: Callable[[Labels], Labels]) -> Labels:
    """Return (n,) labels after splitting every group of `size` records or more.

    `split` takes the rows of a group and returns labels from 0 within it.

    >>> split_large_groups(np.array([0, 1, 0, 0, 1, 0]), 4, lambda rows: np.arange(len(rows)) // 2)
    array([0, 1, 0, 2, 1, 2])
    """
    labels = labels.copy()
    counts = np.bincount(labels)
    for group in np.flatnonzero(counts >= size):
        rows = np.flatnonzero(labels == group)
        parts = split(rows)
        labels[rows] = np.where(parts == 0, group, labels.max() + parts)
    return labels
