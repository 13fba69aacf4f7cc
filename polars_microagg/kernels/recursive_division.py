"""Dividing records again and again until every group is small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from polars_microagg.core.partition import Labels

__all__ = ["divided"]


def divided(n: int, size: int, divide: Callable[[Labels], Labels]) -> Labels:
    """Divide records into groups, and every group that is still large again.

    Parameters
    ----------
    n : int
        Number of records.
    size : int
        Groups of so many records or more are divided.
    divide : callable
        ``(rows) -> labels``: non-negative numbers, at least two different ones, of the groups
        into which these rows, ascending, are divided.

    Returns
    -------
    array of shape (n,)
        Number of the group of each record.

    Examples
    --------
    >>> divided(7, 3, lambda rows: np.arange(len(rows)) // 2 % 2)
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
        found = divide(rows)
        order = np.argsort(found, kind="stable")
        ends = np.flatnonzero(np.diff(found[order])) + 1
        waiting += reversed(np.split(rows[order], ends))
    return labels
