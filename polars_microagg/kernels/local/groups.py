"""A grouping that changes: the members and the centre of each group."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import GroupRule, Labels, Matrix, Members, Vector

__all__ = ["Groups", "disjoint", "largest_searched"]

NOISE = 1e-20
"""Distances below the square root of this share of a record's norm are taken for rounding."""

CELLS = 1 << 20
"""Members handled at a time, so that memory stays small."""

SLOTS = 64
"""Tables up to this width are added slot by slot."""


def largest_searched(k: int) -> int:
    """Return the most records of a group that is searched under a rule; larger ones stay as they are."""
    return max(16 * k, 64) + 2


class Groups:
    """A grouping with a table of the members of each group.

    Built from (n, d) records of one order of magnitude about zero, and groups of k to `most`
    records. No method checks that a group keeps k members, or the `rule` of the groups if there is
    one; whoever proposes a change does. `x` (n + 1, d) ends with a row of zeros that stands for
    absent members; `sizes` (g,) is 0 for numbers not in use; `members` (g, most) is filled from the
    left, n where there is none; `centres` (g, d) are 0 for numbers not in use; `noise` (n + 1,) is
    the squared distance that rounding can make of nothing, with room to spare.
    """

    def __init__(self, x: Matrix, labels: Labels, k: int, rule: GroupRule | None = None) -> None:
        n = len(x)
        self.x = np.zeros((n + 1, x.shape[1]))
        self.x[:n] = x
        self.noise = NOISE * np.einsum("ij,ij->i", self.x, self.x)
        self.k, self.rule = k, rule
        # The same for all tables, as a stratum must not depend on the groups of others.
        self.most = 2 * k + 2 if rule is None else largest_searched(k)
        self.reset(labels)

    def reset(self, labels: Labels) -> None:
        """Replace the grouping by another one of the same records."""
        n = len(self.x) - 1
        # No grouping into groups of k or more has more than n / k groups.
        capacity = max(n // self.k, int(labels.max()) + 1)
        self.labels = labels.astype(np.intp)
        self.sizes = np.bincount(labels, minlength=capacity)
        order = np.argsort(labels, kind="stable")
        starts = np.cumsum(self.sizes) - self.sizes
        self._slot = np.empty(n, dtype=np.intp)
        self._slot[order] = np.arange(n) - starts[labels[order]]
        self.members = np.full((capacity, self.most), n, dtype=np.intp)
        self.members[labels, self._slot] = np.arange(n)
        self.centres = np.zeros((capacity, self.x.shape[1]))
        self._free = np.flatnonzero(self.sizes == 0)[::-1].tolist()
        self.update_centres(np.arange(capacity))

    def __len__(self) -> int:
        """Count the records."""
        return len(self.labels)

    @property
    def widest(self) -> int:
        """Records that room is needed for in each group that is compared."""
        return self.most if self.rule is None else int(self.sizes.max())

    @property
    def spare(self) -> int:
        """Count of group numbers that are not in use."""
        return len(self._free)

    def update_centres(self, groups: Labels) -> None:
        """Compute the centres of groups afresh from their members."""
        # Always afresh from the members, not updated: so no rounding builds up, in however many
        # exchanges.
        members, sizes = self.members[groups], np.maximum(self.sizes[groups], 1)
        if self.most > SLOTS and self.rule is None:
            total = self.x[members].sum(axis=1)
        else:
            # One after the other, so that the sum does not depend on the width of the table.
            width = int(sizes.max(initial=1))
            total = self.x.take(members[:, 0], axis=0)
            for slot in range(1, width):
                total += self.x.take(members[:, slot], axis=0)
        self.centres[groups] = total / sizes[:, None]

    def squares(self) -> Vector:
        """Return the squared distance of each record from the centre of its group."""
        offsets = self.x[:-1] - self.centres.take(self.labels, axis=0)
        squares: Vector = np.einsum("ij,ij->i", offsets, offsets)
        return squares

    def remove(self, rows: Labels, groups: Labels) -> None:
        """Remove one record from each of several groups."""
        # The last member fills the gap, so rows stay filled from the left.
        last = self.sizes[groups] - 1
        moved = self.members[groups, last]
        slot = self._slot[rows]
        self.members[groups, slot] = moved
        self._slot[moved] = slot
        self.members[groups, last] = len(self)
        self.sizes[groups] = last

    def add(self, rows: Labels, groups: Labels) -> None:
        """Add one record each to different groups."""
        slot = self.sizes[groups]
        self.members[groups, slot] = rows
        self._slot[rows] = slot
        self.sizes[groups] = slot + 1
        self.labels[rows] = groups

    def move(self, rows: Labels, targets: Labels) -> Labels:
        """Move records between groups, no two of which are the same.

        Return the groups that changed.
        """
        sources = self.labels[rows]
        self.remove(rows, sources)
        self.add(rows, targets)
        return self._updated(sources, targets)

    def swap(self, rows: Labels, others: Labels) -> Labels:
        """Swap records of groups, no two of which are the same; return the groups that changed."""
        a, b = self.labels[rows], self.labels[others]
        i, j = self._slot[rows], self._slot[others]
        self.members[a, i], self.members[b, j] = others, rows
        self._slot[rows], self._slot[others] = j, i
        self.labels[rows], self.labels[others] = b, a
        return self._updated(a, b)

    def dissolve(self, groups: Labels, targets: Labels) -> Labels:
        """Distribute the members of groups of one size; return the groups that changed.

        `targets` (p, m) says where each member goes; groups may repeat in a row, not between rows.
        """
        members = self.members[groups, : targets.shape[1]].copy()
        self.members[groups] = len(self)
        self.sizes[groups] = 0
        # Column by column: within a column all groups differ, so one vectorised step adds them.
        for rows, into in zip(members.T, targets.T, strict=True):
            self.add(rows, into)
        self._free += groups[::-1].tolist()
        return self._updated(groups, np.unique(targets))

    def create(self, members: Labels) -> Labels:
        """Make a group of each row of members; return the groups that changed.

        The groups that the members come from may repeat in a row, not between rows. There must be
        as many spare numbers as rows.
        """
        sources = self.labels[members]
        for rows, groups in zip(members.T, sources.T, strict=True):
            self.remove(rows, groups)
        made = np.array([self._free.pop() for _ in range(len(members))], dtype=np.intp)
        width = members.shape[1]
        self.members[made, :width] = members
        self._slot[members] = np.arange(width)
        self.labels[members] = made[:, None]
        self.sizes[made] = width
        return self._updated(made, np.unique(sources))

    def replace(self, groups: Labels, rows: Labels, sizes: Labels) -> None:
        """Give the records of some groups to the same groups anew: to each the next ones of `rows`."""
        at = np.repeat(groups, sizes)
        slot = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.members[groups] = len(self)
        self.members[at, slot] = rows
        self._slot[rows] = slot
        self.labels[rows] = at
        self.sizes[groups] = sizes
        self.update_centres(groups)

    def hold(
        self, groups: Labels, *, out: Labels | None = None, into: Labels | None = None
    ) -> npt.NDArray[np.bool_]:
        """Return which groups would satisfy the rule after some records left and others came.

        `out` and `into` (p, m) list the records for each of the p groups, n for none.
        """
        held = np.ones(len(groups), dtype=np.bool_)
        if self.rule is None or not len(groups):
            return held
        width = int(self.sizes[groups].max())
        step = max(1, CELLS // (width + 1))
        for first in range(0, len(groups), step):
            part = slice(first, first + step)
            members = self.members[groups[part], :width]
            for gone in () if out is None else out[part].T:
                members = np.where(members == gone[:, None], len(self), members)
            if into is not None:
                members = np.concatenate((members, into[part]), axis=1)
            there = members < len(self)
            sizes = there.sum(axis=1)
            held[part][sizes > 0] = ~self.rule.failing(Members(members[there], sizes[sizes > 0]))
        return held

    def _updated(self, *groups: Labels) -> Labels:
        changed = np.concatenate(groups)
        self.update_centres(changed)
        return changed


def disjoint(gains: Vector, touched: Labels, capacity: int) -> npt.NDArray[np.intp]:
    """Choose proposals that touch different groups, the least gain (the best) first.

    `touched` (p, w) lists the groups that each proposal changes. A proposal that is not chosen
    shares a group with a better one that is.

    >>> disjoint(np.array([-1.0, -3.0, -2.0]), np.array([[0, 1], [1, 2], [3, 4]]), 5)
    array([1, 2])
    """
    left = np.argsort(gains, kind="stable")
    owner = np.empty(capacity, dtype=np.intp)
    used = np.zeros(capacity, dtype=np.bool_)
    chosen = []
    while len(left):
        groups = touched[left]
        ranks = np.arange(len(left))
        # The last assignment wins, so walking backwards leaves the best claim on each group. In one
        # dimension, as the order of assignment is not certain in two.
        owner[groups[::-1].ravel()] = np.repeat(ranks[::-1], groups.shape[1])
        first = (owner[groups] == ranks[:, None]).all(axis=1)
        chosen.append(left[first])
        used[groups[first]] = True
        left = left[~first & ~used[groups].any(axis=1)]
    return np.concatenate(chosen) if chosen else left
