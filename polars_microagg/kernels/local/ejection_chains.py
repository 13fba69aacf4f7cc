"""Ejection chains: each record takes the place of the next one in another group."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Vector
from polars_microagg.kernels.local.groups import Groups, disjoint
from polars_microagg.kernels.local.moves_and_swaps import (
    CELLS,
    TOLERANCE,
    nearest_groups,
    squares_of,
)

__all__ = ["EjectionCosts", "eject_records"]

TARGETS = 4
"""Neighbouring groups that a record may eject a member from."""

PUSHES = 6
"""Members of those groups whose place it may take."""

LATER = 3
"""Number of them that the records after the first one try."""

BEAM = 8
"""Chains from one record that are extended further."""

LENGTH = 8
"""Most records in a chain."""

STARTS = 1 << 12
"""Records whose chains are extended at a time; at most 2^15, as `_lowest` numbers them by int16."""


class EjectionCosts:
    """The cost of each record for taking the place of another one, or for joining a group.

    `replaced` (n, p) lists the records whose place each record takes at the least cost, and `cost`
    (n, p) the changes of the sum of squares of their groups, ascending, infinite where there is
    none; `into` (n, t) has one member of each group that it may join and `joining` (n, t) the cost
    of that.
    """

    def __init__(self, groups: Groups, near: Labels) -> None:
        n = len(groups)
        self._groups, self._near = groups, near
        targets = min(TARGETS, near.shape[1])
        self.replaced = np.zeros((n, PUSHES), dtype=np.intp)
        self.cost = np.empty((n, PUSHES))
        self.into = np.zeros((n, targets), dtype=np.intp)
        self.joining = np.empty((n, targets))
        self.renew(np.arange(n))

    def renew(self, rows: Labels) -> None:
        """Compute again the costs of records near groups that have changed."""
        groups = self._groups
        width = self.into.shape[1] * (groups.widest + self._near.shape[1])
        step = max(1, CELLS // (width * groups.x.shape[1]))
        for first in range(0, len(rows), step):
            self._renew(rows[first : first + step])

    def _renew(self, rows: Labels) -> None:
        groups = self._groups
        own = groups.labels.take(rows)[:, None]
        records = groups.x.take(rows, axis=0)
        others = nearest_groups(groups, self._near, rows, self.into.shape[1])
        absent = others == own
        for j in range(1, others.shape[1]):
            absent[:, j] |= (others[:, :j] == others[:, j : j + 1]).any(axis=1)
        sizes = groups.sizes.take(others)
        centres = groups.centres.take(others, axis=0)
        there = squares_of(records[:, None] - centres)
        joining = there * (sizes / (sizes + 1.0))
        # A group may have more than 2k - 1 records for a while, as many as its table has room for:
        # `split_groups` splits it, which never costs anything.
        joining[absent | (sizes >= groups.most)] = np.inf
        self.into[rows], self.joining[rows] = groups.members[others, 0], joining
        partners = groups.members.take(others, axis=0)[:, :, : int(sizes.max())]
        others_there = groups.x.take(partners, axis=0)
        apart = squares_of(others_there - records[:, None, None])
        others_there -= centres[:, :, None]
        away = squares_of(others_there)
        # If x takes the place of y in a group of b records with centre q, its sum of squares
        # changes by |x-q|^2 - |y-q|^2 - |x-y|^2/b, as the centre moves by (x-y)/b.
        cost = there[:, :, None] - away - apart / sizes[:, :, None]
        cost[(partners == len(groups)) | absent[:, :, None]] = np.inf
        partners, cost = partners.reshape(len(rows), -1), cost.reshape(len(rows), -1)
        index = np.arange(len(rows))
        for place in range(PUSHES):
            best = cost.argmin(axis=1)
            self.replaced[rows, place] = partners[index, best]
            self.cost[rows, place] = cost[index, best]
            cost[index, best] = np.inf
        self.replaced[rows] = np.where(
            np.isinf(self.cost[rows]), rows[:, None], self.replaced[rows]
        )


def eject_records(groups: Groups, costs: EjectionCosts, rows: Labels) -> Labels:
    """Apply the ejection chains that lower the sum of squares, the best ones first.

    No group falls below k. Chains start at `rows`; `costs` must be up to date.
    Returns the groups that changed.
    """
    # F. Glover (1996), "Ejection chains, reference structures and alternating path methods for
    # traveling salesman problems", Discrete Applied Mathematics 65, 223-253: a compound move whose
    # steps would not pay one by one.
    parts = [
        _BestChains(groups, costs, rows[i : i + STARTS]).run() for i in range(0, len(rows), STARTS)
    ]
    # Without records there are no groups that changed, either: both lists are empty.
    if not parts:
        return rows
    chains, ends = (np.concatenate(column) for column in zip(*parts, strict=True))
    # The search added up table entries; the chosen chains are computed afresh with their rounding
    # error.
    change, least = _changes(groups, chains, ends)
    better = np.flatnonzero(change < -least)
    better = better[_hold(groups, chains[better], ends[better])]
    chains, ends = chains[better], ends[better]
    touched = np.concatenate((groups.labels[chains], ends[:, None]), axis=1)
    # Only chains that touch different groups are applied together, so each has the change computed
    # for it.
    kept = disjoint(change[better], touched, len(groups.sizes))
    if not len(kept):
        return kept
    _apply(groups, chains[kept], ends[kept])
    return np.unique(touched[kept])


class _BestChains:
    """The best chain from each of several records."""

    def __init__(self, groups: Groups, costs: EjectionCosts, rows: Labels) -> None:
        self.groups, self.costs, self.rows = groups, costs, rows
        own = groups.labels[rows]
        self.own, size = own, groups.sizes[own].astype(np.float64)
        self.out = squares_of(groups.x[rows] - groups.centres[own])
        # What a group saves when its record leaves for good: 0 if it has only k, so the chain must
        # be a ring then.
        self.leaving = np.where(size > groups.k, self.out * size / np.maximum(size - 1.0, 1.0), 0.0)
        self.best = np.zeros(len(rows))
        self.chains = np.repeat(rows[:, None], LENGTH, axis=1)
        self.ends = own.copy()

    def run(self) -> tuple[Labels, Labels]:
        """Return improving chains, their last record repeated, and the groups where they end."""
        start = np.arange(len(self.rows))
        chains, sums = self.rows[:, None], np.zeros(len(start))
        for _ in range(1, LENGTH):
            start, chains, sums = self._extended(start, chains, sums)
            if not len(start):
                break
            self._close(start, chains, sums)
        improving = np.flatnonzero(self.best < 0.0)
        return self.chains[improving], self.ends[improving]

    def _extended(
        self, start: Labels, chains: Labels, sums: Vector
    ) -> tuple[Labels, Labels, Vector]:
        """Extend each chain by one record in all ways, and keep the best ones of each start."""
        labels, last = self.groups.labels, chains[:, -1]
        count = PUSHES if chains.shape[1] == 1 else LATER
        sums = sums[:, None] + self.costs.cost.take(last, axis=0)[:, :count]
        # A chain is extended only while its sum is below what the first group saves. If all records
        # are starts, as in the last pass, the bound itself loses no improving ring: a ring with a
        # negative sum has a record from which on all its partial sums are negative. It may lose
        # improving paths, which have only one start.
        open_ = np.flatnonzero(sums < self.leaving.take(start)[:, None])
        row = open_ // count
        sums = sums.take(open_)
        added = self.costs.replaced.take(last.take(row) * PUSHES + open_ % count)
        into = labels.take(added)
        # No group is visited twice. So every term is computed for a group that only this step
        # changes, and the terms add up.
        new = into != self.own.take(start.take(row))
        for column in labels.take(chains[:, 1:].T):
            new &= into != column.take(row)
        new = np.flatnonzero(new)
        row, sums = row.take(new), sums.take(new)
        start = start.take(row)
        kept = _lowest(start, sums, BEAM)
        row, added = row.take(kept), added.take(new.take(kept))
        chains = np.concatenate((chains.take(row, axis=0), added[:, None]), axis=1)
        return start.take(kept), chains, sums.take(kept)

    def _close(self, start: Labels, chains: Labels, sums: Vector) -> None:
        """End chains: the last record takes the place of the first, or joins a group."""
        groups, last, own = self.groups, chains[:, -1], self.own.take(start)
        records = groups.x.take(last, axis=0)
        apart = squares_of(records - groups.x.take(chains[:, 0], axis=0)) / groups.sizes.take(own)
        # The last record replaces the first one in its group: the same formula, with the first
        # record as y. All sizes stay the same.
        records -= groups.centres.take(own, axis=0)
        ring = sums + squares_of(records) - self.out.take(start) - apart
        self._keep_best(start, chains, ring, own)
        # Or it joins another group for good; then the first group must have more than k. This also
        # leaves out a first record exactly on its centre, which saves nothing by leaving: a path
        # that would pay may be missed, but none is wrong.
        able = np.flatnonzero(self.leaving.take(start) > 0.0)
        if not len(able):
            return
        start, sums, last = start.take(able), sums.take(able), last.take(able)
        chains = chains.take(able, axis=0)
        into = groups.labels.take(self.costs.into.take(last, axis=0))
        joining = self.costs.joining.take(last, axis=0)
        for column in groups.labels.take(chains.T):
            joining[into == column[:, None]] = np.inf
        best = joining.argmin(axis=1)
        index = np.arange(len(start))
        path = sums + joining[index, best] - self.leaving.take(start)
        self._keep_best(start, chains, path, into[index, best])

    def _keep_best(self, start: Labels, chains: Labels, total: Vector, ends: Labels) -> None:
        """Store the best chain of each start, if it is better than those before."""
        better = np.flatnonzero(total < self.best.take(start))
        better = better[_lowest(start[better], total[better], 1)]
        start, chains = start[better], chains[better]
        self.best[start] = total[better]
        self.chains[start, : chains.shape[1]] = chains
        self.chains[start, chains.shape[1] :] = chains[:, -1:]
        self.ends[start] = ends[better]


def _lowest(start: Labels, sums: Vector, count: int) -> Labels:
    """Return the positions of the `count` least sums of each start, the first of equals.

    Starts ascend.
    """
    first = np.flatnonzero(np.diff(start, prepend=-1))
    many = np.diff(first, append=len(start))
    if not len(many) or many.max() <= count:
        return np.arange(len(start))
    order = np.argsort(sums, kind="stable")
    # Starts are below `STARTS`, so they fit int16, and short integers are sorted by counting.
    order = order[np.argsort(start[order].astype(np.int16), kind="stable")]
    rank = np.arange(len(start)) - np.repeat(first, many)
    return order[rank < count]


def _changes(groups: Groups, chains: Labels, ends: Labels) -> tuple[Vector, Vector]:
    """Return the change of the sum of squares by each chain, and a bound on its rounding error."""
    x, labels = groups.x, groups.labels
    change, terms = np.zeros(len(chains)), np.zeros(len(chains))
    ring = ends == labels[chains[:, 0]]
    first, last = chains[:, 0], chains[:, -1]
    pairs = [(chains[:, i], chains[:, i + 1], None) for i in range(LENGTH - 1)]
    for pusher, pushed, only in [*pairs, (last, first, ring)]:
        of = labels[pushed]
        centre, size = groups.centres[of], groups.sizes[of]
        there, away = squares_of(x[pusher] - centre), squares_of(x[pushed] - centre)
        apart = squares_of(x[pusher] - x[pushed]) / size
        counts = pusher != pushed if only is None else only
        change += np.where(counts, there - away - apart, 0.0)
        terms += np.where(counts, there + away + apart, 0.0)
    size = groups.sizes[labels[first]]
    freed = (
        squares_of(x[first] - groups.centres[labels[first]]) * size / np.maximum(size - 1.0, 1.0)
    )
    size = groups.sizes[ends]
    added = squares_of(x[last] - groups.centres[ends]) * size / (size + 1.0)
    change += np.where(ring, 0.0, added - freed)
    terms += np.where(ring, 0.0, added + freed)
    return change, TOLERANCE * terms + groups.noise[chains].sum(axis=1)


def _hold(groups: Groups, chains: Labels, ends: Labels) -> npt.NDArray[np.bool_]:
    """Return which chains leave groups that satisfy the rule."""
    held = np.ones(len(chains), dtype=np.bool_)
    if groups.rule is None or not len(chains):
        return held
    nobody = len(groups)
    # Each record takes the place of the next one; the last record is repeated, and pushes nobody.
    pushed = np.where(chains[:, 1:] != chains[:, :-1], chains[:, 1:], nobody)
    for i in range(LENGTH - 1):
        at = np.flatnonzero(held & (pushed[:, i] != nobody))
        out = pushed[at, i]
        held[at] = groups.hold(groups.labels[out], out=out[:, None], into=chains[at, i, None])
    ring = ends == groups.labels[chains[:, 0]]
    last = np.where(ring, chains[:, -1], nobody)
    at = np.flatnonzero(held)
    first = chains[at, 0]
    held[at] = groups.hold(groups.labels[first], out=first[:, None], into=last[at, None])
    at = np.flatnonzero(held & ~ring)
    held[at] = groups.hold(ends[at], into=chains[at, -1, None])
    return held


def _apply(groups: Groups, chains: Labels, ends: Labels) -> None:
    """Swap along chains that touch different groups, and let the last records join theirs."""
    for i in range(LENGTH - 1):
        # The place of the first record is held by each one until the next is pushed out.
        pushing = chains[:, i] != chains[:, i + 1]
        groups.swap(chains[pushing, i], chains[pushing, i + 1])
    last = chains[:, -1]
    pushing = groups.labels[last] != ends
    groups.move(last[pushing], ends[pushing])
