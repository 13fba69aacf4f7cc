"""Groups that grow one record at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels
    from polars_microagg.kernels.remaining_records import RemainingRecords

__all__ = ["grow"]


def grow(remaining: RemainingRecords, row: int, count: int, spared: int = -1) -> Labels:
    """Remove a record, and `count` - 1 times the one nearest to the mean of those removed.

    Parameters
    ----------
    remaining : Remaining
        The records that are left, at least `count`, and one more if one is spared.
    row : int
        The record to start from.
    count : int
        Size of the group.
    spared : int, optional
        A record that is left that the group does not take.

    Returns
    -------
    array of shape (count,)
        Rows of the group, in the order in which they joined it.

    Examples
    --------
    >>> from polars_microagg.kernels.remaining_records import Remaining
    >>> grow(Remaining(np.array([[0.0], [4.0], [5.0], [8.5], [2.0]])), 1, 4)
    array([1, 2, 4, 0])
    """
    rows = np.array([row], dtype=np.intp)
    while True:
        remaining.remove(rows[-1:])
        if len(rows) == count:
            return rows
        mean = remaining.mean_of(rows)
        nearest = remaining.nearest_to_point(mean, 1)
        if nearest[0] == spared:
            nearest = remaining.nearest_to_point(mean, 2)
            nearest = nearest[nearest != spared]
        rows = np.append(rows, nearest)
