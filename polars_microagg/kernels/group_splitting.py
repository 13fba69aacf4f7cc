"""Splitting groups that have become large."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polars_microagg.core.partition import Labels

__all__ = ["split_from"]


def split_from(labels: Labels, size: int, split: Callable[[Labels], Labels]) -> Labels:
    """Split every group of at least so many records.

    Parameters
    ----------
    labels : array of shape (n,)
        Non-negative number of the group of each record.
    size : int
        Groups of so many records or more are split.
    split : callable
        ``(rows) -> labels`` from 0 within the group.

    Returns
    -------
    array of shape (n,)
        Non-negative numbers of the groups afterwards.

    Examples
    --------
    >>> split_from(np.array([0, 1, 0, 0, 1, 0]), 4, lambda rows: np.arange(len(rows)) // 2)
    array([0, 1, 0, 2, 1, 2])
    """
    labels = labels.copy()
    counts = np.bincount(labels)
    for group in np.flatnonzero(counts >= size):
        rows = np.flatnonzero(labels == group)
        parts = split(rows)
        labels[rows] = np.where(parts == 0, group, labels.max() + parts)
    return labels
