"""The number of distinct values of a column of any length, from the least of their hashes."""

from __future__ import annotations

import numpy as np
import polars as pl

__all__ = ["DistinctValues"]

LEAST = 4096
"""Hashes that are kept; the count is off by about one part in the root of it."""


class DistinctValues:
    """Counts the distinct values of what is added batch by batch, null among them.

    Up to `LEAST` values are counted exactly. Of more the `LEAST` lowest of their hashes are kept: the
    denser these lie, the more values there are (Bar-Yossef et al., 2002, Counting distinct elements in a
    data stream).

    >>> values = DistinctValues()
    >>> values.add(pl.Series(["a", "b", "a", None]))
    >>> values.count
    3
    """

    def __init__(self) -> None:
        self.hashes = np.empty(0, dtype=np.uint64)

    def add(self, column: pl.Series) -> None:
        """Add the values of a batch."""
        # The codes behind categories depend on what was read before.
        texts = column.cast(pl.String) if isinstance(column.dtype, pl.Categorical) else column
        hashes = texts.alias("").hash(0).to_numpy()
        if self._full:
            hashes = hashes[hashes < self.hashes[-1]]
        if len(hashes):
            self.hashes = np.unique(np.concatenate([self.hashes, hashes]))[:LEAST]

    @property
    def _full(self) -> bool:
        return len(self.hashes) == LEAST

    @property
    def count(self) -> int:
        """The number of distinct values, exact if there are fewer than `LEAST`."""
        if not self._full:
            return len(self.hashes)
        return round((LEAST - 1) * 2.0**64 / float(self.hashes[-1]))
