"""The records of a table in single precision that were farthest from the mean a while ago."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Vector
    from polars_microagg.kernels.mdav.single_table import Singles, SingleTable

__all__ = ["OuterQueue"]


class OuterQueue:
    """Those of the `size` largest values measured from a mean, and a bound on all other values.

    `weights` is what `SingleTable.weigh` gave for the mean and `values` what was measured from it.
    """

    __slots__ = ("_columns", "_far", "_last", "_slot", "_values", "_weights", "positions")

    def __init__(self, table: SingleTable, weights: Vector, values: Singles, size: int) -> None:
        m = len(values)
        last = np.partition(values, m - size)[m - size]
        self.positions: Labels = (values >= last).nonzero()[0]
        size = len(self.positions)
        norms = table.table[-1].copy()
        norms[self.positions] = 0.0
        self._weights, self._last = weights, float(last)
        self._far = float(norms.max()) ** 0.5 * (1 + 1e-6)
        # A last column, at the origin, stands for every record that is not queued.
        self._columns: Singles = np.zeros((len(table.table), size + 1), dtype=np.float32)
        self._columns[:, :size] = table.table.take(self.positions, axis=1)
        self._values: Singles = np.empty(size + 1, dtype=np.float32)
        self._slot = np.full(m, size)
        self._slot[self.positions] = np.arange(size)

    def remove(self, positions: Labels) -> None:
        """Move these records to the origin."""
        self._columns[:, self._slot.take(positions)] = 0.0

    def measure(self, single: Singles, weights: Vector) -> tuple[Singles, float]:
        """Return the values of the queue from a mean, and a limit that no other value exceeds.

        But for the slack of the table.
        """
        # |x|^2 - 2 x.q changes by no more than |x| |2 q' - 2 q| when the mean q moves to q'.
        step = weights - self._weights
        limit = self._last + self._far * float(step.dot(step)) ** 0.5
        return np.dot(single, self._columns, out=self._values), limit
