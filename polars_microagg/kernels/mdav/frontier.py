"""Rounds of MDAV on many records: the queries of several rounds at once, near the front only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import coordinates, squared_distances
from polars_microagg.kernels.mdav.box_index import BoxIndex
from polars_microagg.kernels.mdav.outer_shell import OuterShell

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Vector
    from polars_microagg.kernels.remaining_mean import RemainingMean

__all__ = ["Frontier"]

AHEAD = 32
"""Rounds whose queries are answered together."""

FILL = 8
"""Rounds that are looked at again when the answer to a query is missing."""

SHELL = 96
"""The shell begins with one record in so many."""

SMALLEST = 4096
"""Fewest records in a shell."""

DEARER = 2
"""To look at a record outside the shell costs so many times what it costs inside."""

PATIENCE = 4
"""The shell is made anew when so many times all records were looked at outside it, then twice
as many."""


class Frontier:
    """The records that are left, as MDAV works its way in from the outside.

    The outermost records are known, and so are those that rounds to come will probably start
    from. Their neighbours are searched together, in boxes near them, and a few more neighbours
    are kept than a group has, so that an answer outlives the groups made in the meantime. What
    was guessed only decides what is computed when: every answer is exact when it is used.

    Parameters
    ----------
    left : Survivors
        The records, at least 3k of them left.
    k : int
        Group size.
    """

    def __init__(self, left: RemainingMean, k: int) -> None:
        self._left, self._k = left, k
        self._boxes = BoxIndex(left.records, left.rows)
        self._size = max(SMALLEST, len(left) // SHELL)
        self._count = min(4 * k, 2 * k + 64)
        self._pending: list[Labels] = []
        self._lists: dict[int, tuple[Labels, Vector, Labels]] = {}
        self._patience = PATIENCE * len(left)
        self._hot = np.empty(0, dtype=np.intp)
        self._shell = OuterShell(left, self._boxes, self._size, self._hot)

    def round(self) -> tuple[Labels, Labels]:
        """Remove the group of the outermost record and that of the one opposite; their rows."""
        r = self._outermost()
        s = self._opposite(r)
        first = self._take(r)
        if self._left.taken[s]:
            s = self._opposite(r)
        return first, self._take(s)

    def _outermost(self) -> int:
        shell = self._shell
        row = -1
        if shell.scanned <= max(self._patience, shell.asked * len(shell) // DEARER):
            row = shell.outermost()
        if row < 0:
            self._renew()
            row = self._shell.outermost()
        return row if row >= 0 else self._farthest_from_mean()

    def _farthest_from_mean(self) -> int:
        """Search all records: so many are equally far that no shell can tell them apart."""
        mean = self._left.mean()
        values = self._boxes.measure(coordinates(mean))
        rows = np.sort(self._boxes.rows[values >= values.max() - self._boxes.slack])
        distances = squared_distances(self._left.columns.take(rows, axis=1), mean)
        return int(rows[distances.argmax()])

    def _renew(self) -> None:
        """Make a new shell, larger or smaller as the work outside and inside the last one was."""
        outside, inside = DEARER * self._shell.scanned, self._shell.asked * len(self._shell)
        self._hot = np.union1d(self._hot, self._shell.hot())
        if outside > inside:
            self._size = min(2 * self._size, max(SMALLEST, len(self._left) // 4))
            self._patience *= 2
        elif outside < inside // 16:
            self._size = max(self._size // 2, SMALLEST)
        self._settle()
        self._lists.clear()
        self._shell = OuterShell(self._left, self._boxes, self._size, self._hot)

    def _settle(self) -> None:
        if self._pending:
            self._boxes.remove(np.concatenate(self._pending))
            self._pending = []

    def _opposite(self, row: int) -> int:
        if not self._shell.aims_from(row):
            rows = self._shell.next(AHEAD)
            if row not in rows:
                rows = np.append(rows, row)
            self._shell.aim(rows)
            self._look(np.concatenate((rows, self._shell.opposites(rows))))
        return self._shell.opposite(row)

    def _take(self, row: int) -> Labels:
        """Remove a record and the k - 1 nearest to it; their rows, ascending."""
        taken = self._left.taken
        if row not in self._lists:
            self._look_again(row)
        rows, sums, near = self._lists[row]
        if not taken.take(rows).any():
            return self._remove(rows, sums)
        near = near[~taken.take(near)][: self._k]
        if len(near) == self._k:
            return self._remove(np.sort(near))
        self._look_again(row)
        rows, sums, _ = self._lists[row]
        return self._remove(rows, sums)

    def _remove(self, rows: Labels, sums: Vector | None = None) -> Labels:
        self._left.remove(rows, sums)
        self._shell.remove(rows)
        self._pending.append(rows)
        return rows

    def _look_again(self, row: int) -> None:
        """Find the neighbours of a record, and of others that will probably be asked for soon."""
        self._lists.pop(row, None)
        ahead = self._shell.next(FILL)
        self._look(np.concatenate(([row], ahead, self._shell.opposites(ahead))))

    def _look(self, rows: Labels) -> None:
        """Find the neighbours of some records together, unless they are known."""
        self._settle()
        rows = np.unique(rows)
        known = self._lists
        rows = np.array([r for r in rows[~self._left.taken[rows]].tolist() if r not in known])
        if not len(rows):
            return
        near = self._boxes.near(rows, self._count)
        groups = np.sort(near.rows[near.starts[:, None] + np.arange(self._k)], axis=1)
        # Added up in row order, as `total` does.
        sums = np.cumsum(self._left.columns[:, groups], axis=2)[:, :, -1].T
        ends = zip(near.starts.tolist(), near.certain.tolist(), strict=True)
        for row, group, sum_, (start, end) in zip(rows.tolist(), groups, sums, ends, strict=True):
            known[row] = group, sum_, near.rows[start:end]
