"""Groups of records that change: who is in which, and where the centres are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["Groups", "disjoint"]

NOISE = 1e-20
"""Distances below the square root of this share of a record's norm are taken for rounding."""

SLOTS = 64
"""Members of tables up to this width are added slot by slot."""


class Groups:
    """A grouping with a table of the members of each group.

    Centres are always taken afresh from the members of a group, so no rounding builds up. No
    method checks that a group keeps k members; whoever proposes a change does.

    Parameters
    ----------
    x : array of shape (n, d)
        Records, all of one order of magnitude and about zero.
    labels : array of shape (n,)
        Groups of k to `most` records.
    k : int
        Smallest group size.

    Attributes
    ----------
    x : array of shape (n + 1, d)
        The records, and a row of zeros that stands in for absent members.
    labels : array of shape (n,)
        Group of each record.
    sizes : array of shape (g,)
        Members of each group; 0 for numbers not in use.
    members : array of shape (g, most)
        Rows of the members, filled from the left; n where there is none.
    centres : array of shape (g, d)
        Mean of each group; 0 for numbers not in use.
    noise : array of shape (n + 1,)
        Squared distance that rounding can make of nothing, with room to spare.
    most : int
        Largest size that the table can hold, 2k + 2.
    """

    def __init__(self, x: Matrix, labels: Labels, k: int) -> None:
        n = len(x)
        self.x = np.zeros((n + 1, x.shape[1]))
        self.x[:n] = x
        self.noise = NOISE * np.einsum("ij,ij->i", self.x, self.x)
        self.k, self.most = k, 2 * k + 2
        self.reset(labels)

    def reset(self, labels: Labels) -> None:
        """Take another grouping of the same records."""
        n = len(self.x) - 1
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
        self.settle(np.arange(capacity))

    def __len__(self) -> int:
        """Count the records."""
        return len(self.labels)

    @property
    def spare(self) -> int:
        """How many group numbers are not in use."""
        return len(self._free)

    def settle(self, groups: Labels) -> None:
        """Take the centres of groups afresh from their members."""
        members, sizes = self.members[groups], np.maximum(self.sizes[groups], 1)
        if self.most > SLOTS:
            total = self.x[members].sum(axis=1)
        else:
            # One after the other, so that the sum does not depend on the width of the table.
            width = int(sizes.max(initial=1))
            total = self.x.take(members[:, 0], axis=0)
            for slot in range(1, width):
                total += self.x.take(members[:, slot], axis=0)
        self.centres[groups] = total / sizes[:, None]

    def total(self) -> Vector:
        """Squared distance of each record from the centre of its group."""
        offsets = self.x[:-1] - self.centres[self.labels]
        squares: Vector = np.einsum("ij,ij->i", offsets, offsets)
        return squares

    def remove(self, rows: Labels, groups: Labels) -> None:
        """Take one record each out of different groups."""
        last = self.sizes[groups] - 1
        moved = self.members[groups, last]
        slot = self._slot[rows]
        self.members[groups, slot] = moved
        self._slot[moved] = slot
        self.members[groups, last] = len(self)
        self.sizes[groups] = last

    def add(self, rows: Labels, groups: Labels) -> None:
        """Put one record each into different groups."""
        slot = self.sizes[groups]
        self.members[groups, slot] = rows
        self._slot[rows] = slot
        self.sizes[groups] = slot + 1
        self.labels[rows] = groups

    def move(self, rows: Labels, targets: Labels) -> Labels:
        """Move records between groups, no two of which are the same; the groups changed."""
        sources = self.labels[rows]
        self.remove(rows, sources)
        self.add(rows, targets)
        return self._settled(sources, targets)

    def swap(self, rows: Labels, others: Labels) -> Labels:
        """Exchange records of groups, no two of which are the same; the groups changed."""
        a, b = self.labels[rows], self.labels[others]
        i, j = self._slot[rows], self._slot[others]
        self.members[a, i], self.members[b, j] = others, rows
        self._slot[rows], self._slot[others] = j, i
        self.labels[rows], self.labels[others] = b, a
        return self._settled(a, b)

    def dissolve(self, groups: Labels, targets: Labels) -> Labels:
        """Deal the members of groups of one size out; the groups changed.

        Parameters
        ----------
        groups : array of shape (p,)
            What to dissolve.
        targets : array of shape (p, m)
            Where each member goes; those of one row may repeat, those of different ones not.
        """
        members = self.members[groups, : targets.shape[1]].copy()
        self.members[groups] = len(self)
        self.sizes[groups] = 0
        for rows, into in zip(members.T, targets.T, strict=True):
            self.add(rows, into)
        self._free += groups[::-1].tolist()
        return self._settled(groups, np.unique(targets))

    def create(self, members: Labels) -> Labels:
        """Make a group of each row of members; the groups changed.

        The groups that the members come from may repeat in a row, not between rows. There must
        be as many spare numbers as rows.
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
        return self._settled(made, np.unique(sources))

    def _settled(self, *groups: Labels) -> Labels:
        changed = np.concatenate(groups)
        self.settle(changed)
        return changed


def disjoint(gains: Vector, touched: Labels, capacity: int) -> npt.NDArray[np.intp]:
    """Choose proposals that touch different groups, the best ones first.

    Parameters
    ----------
    gains : array of shape (p,)
        How good each proposal is, the least the best; of equal ones the first counts.
    touched : array of shape (p, w)
        Groups that each proposal changes.
    capacity : int
        Greatest group number and one.

    Returns
    -------
    array of int
        Proposals chosen. Every other one touches a group of one that is better and chosen.

    Examples
    --------
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
