"""Rounds of MDAV on many records: the searches of several rounds are answered together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import coordinates, squared_distances
from polars_microagg.kernels.mdav.box_index import BoxIndex
from polars_microagg.kernels.mdav.outer_shell import SMALLEST, OuterShell

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Vector
    from polars_microagg.kernels.remaining_mean import RemainingMean

__all__ = ["Frontier"]

AHEAD = 32
"""Rounds whose searches are answered together."""

FILL = 8
"""Rounds that are prepared again when an answer is missing."""

SHELL = 96
"""The first shell holds one record in this many."""

PATIENCE = 64
"""A shell is rebuilt when its searches have looked at more values outside it than this many times
the records left when it was built."""

FRESH = 8
"""It is also rebuilt when one in this many of these records has gone."""


class Frontier:
    """The frontier of the remaining records, as MDAV works its way in from the outside.

    The outermost records are known, and so are those that later rounds will probably start from.
    Their neighbours are searched together in the boxes near them, and a few more neighbours are
    kept than a group needs, so that an answer survives the groups made in the meantime. A guess
    only decides what is computed when: every answer is exact when used. At least 3k records must be
    left.
    """

    def __init__(self, left: RemainingMean, k: int) -> None:
        self._left, self._k = left, k
        self._boxes = BoxIndex(left.records, left.rows)
        # More neighbours than a group of k: when groups of other records take some of them, k
        # certain ones may still be left.
        self._count = min(4 * k, 2 * k + 64)
        self._pending: list[Labels] = []
        self._lists: dict[int, tuple[Labels, Vector, Labels]] = {}
        self._shell = OuterShell(left, self._boxes, max(SMALLEST, len(left) // SHELL))

    def groups(self) -> Labels:
        """Remove the groups of the outermost record r and of s opposite; return their rows (2, k)."""
        r = self._outermost()
        s = self._opposite(r)
        first = self._take(r)
        if self._left.taken[s]:
            s = self._opposite(r)
        return np.array((first, self._take(s)))

    def _outermost(self) -> int:
        shell, left = self._shell, len(self._left)
        # As records go, the mean moves and bounds about the old one get worse.
        if shell.scanned > PATIENCE * shell.built or left < shell.built - shell.built // FRESH:
            shell = self._rebuild_shell()
        row = shell.outermost()
        # -1 means that a record outside the shell may be farther. If even a new shell cannot tell,
        # all records are searched: the fall-back is exact.
        if row < 0 and left < shell.built:
            row = self._rebuild_shell().outermost()
        return row if row >= 0 else self._farthest_from_mean()

    def _rebuild_shell(self) -> OuterShell:
        """Build a new shell of the size that the last one had in the end."""
        self._flush()
        # The lists would still be right, but those of records that are gone leave nowhere else.
        self._lists.clear()
        self._shell = OuterShell(self._left, self._boxes, self._shell.size)
        return self._shell

    def _farthest_from_mean(self) -> int:
        """Search all records: too many are equally far for a shell to tell them apart."""
        self._flush()
        mean = self._left.mean()
        values = self._boxes.measure(coordinates(mean))
        # A record whose value is lower by more than the slack is truly nearer to the mean, so the
        # farthest one is among these; exact distances decide, and argmax takes the lowest of
        # equally far rows.
        rows = np.sort(self._boxes.rows[values >= values.max() - self._boxes.slack])
        distances = squared_distances(self._left.columns.take(rows, axis=1), mean)
        return int(rows[distances.argmax()])

    def _flush(self) -> None:
        # The boxes learn of removals late, in one step. That is safe: removed records are filtered
        # by `taken` wherever an answer is used.
        if self._pending:
            self._boxes.remove(np.concatenate(self._pending))
            self._pending = []

    def _opposite(self, row: int) -> int:
        if not self._shell.measured_from(row):
            # One matrix product measures the shell from this seed and from those of the rounds to
            # come; a wrong guess costs time only.
            rows = self._shell.likely_outermost(AHEAD)
            if row not in rows:
                rows = np.append(rows, row)
            self._shell.measure_from(rows)
            self._search(np.concatenate((rows, self._shell.opposites(rows))))
        self._flush()
        return self._shell.opposite(row)

    def _take(self, row: int) -> Labels:
        """Remove a record and the k - 1 nearest to it; their rows, ascending."""
        taken = self._left.taken
        if row not in self._lists:
            self._search_again(row)
        rows, sums, near = self._lists.pop(row)
        # Removal only takes competitors away. If all k nearest are still there, they are still the
        # k nearest.
        if not taken.take(rows).any():
            return self._remove(rows, sums)
        # Every record left out of `near` is at least as far as its last one and loses ties to it,
        # also after removals. So the first k survivors of the list are the k nearest of all
        # survivors.
        near = near[~taken.take(near)][: self._k]
        if len(near) == self._k:
            return self._remove(np.sort(near))
        self._search_again(row)
        rows, sums, _ = self._lists.pop(row)
        return self._remove(rows, sums)

    def _remove(self, rows: Labels, sums: Vector | None = None) -> Labels:
        self._left.remove(rows, sums)
        self._shell.remove(rows)
        self._pending.append(rows)
        return rows

    def _search_again(self, row: int) -> None:
        """Find the neighbours of a record, and of those that the next rounds will probably need."""
        ahead = self._shell.likely_outermost(FILL)
        self._search(np.concatenate(([row], ahead, self._shell.opposites(ahead))))

    def _search(self, rows: Labels) -> None:
        """Find the neighbours of several records together, except those already known."""
        self._flush()
        rows = np.unique(rows)
        lists = self._lists
        rows = np.array([r for r in rows[~self._left.taken[rows]].tolist() if r not in lists])
        if not len(rows):
            return
        near = self._boxes.near(rows, self._count)
        # At least 2k records are left, and `count` is more than k. So k or more listed records are
        # truly nearer than any missing one, and the first k of the list are the k nearest, even
        # where `certain` ends earlier. It matters only after removals.
        groups = np.sort(near.rows[near.starts[:, None] + np.arange(self._k)], axis=1)
        # Added up in row order, as `total` does.
        sums = np.cumsum(self._left.columns[:, groups], axis=2)[:, :, -1].T
        ends = zip(near.starts.tolist(), near.certain.tolist(), strict=True)
        for row, group, sum_, (start, end) in zip(rows.tolist(), groups, sums, ends, strict=True):
            lists[row] = group, sum_, near.rows[start:end]
