"""Recombination: a grouping of groups that were seen in many groupings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.local.groups import Groups, disjoint

__all__ = ["Pool", "repaired"]

FIRST = 600
"""Most steps of the prices before any group is chosen."""

LATER = 60
"""Most steps after each choice."""

MEMORY = 0.9
"""Share of the last direction in the next one."""

PATIENCE = 30
"""After this many steps without a higher bound they get shorter."""

SHORTER = 0.6
"""By this factor."""

SHORTEST = 1e-3
"""Shorter steps than this share of the first are not taken."""

ROOM = 8
"""Groups that are remembered, for each record."""

SURE = 0.8
"""Groups in this share of the last relaxed groupings are chosen."""


class Pool:
    """The different groups that a search has seen, and what each costs.

    `members` (m, most) lists the records of each group, ascending, n where there is none; `cost`
    (m,) is its sum of squares.
    """

    def __init__(self, x: Matrix, most: int) -> None:
        self.x = np.concatenate((x, np.zeros((1, x.shape[1]))))
        self.members = np.empty((0, most), dtype=np.intp)
        self.cost = np.empty(0)
        self.price = np.zeros(len(x))
        self.room = ROOM * len(x)

    def __len__(self) -> int:
        """Count the groups."""
        return len(self.cost)

    def add(self, groupings: list[Labels]) -> None:
        """Add the groups of groupings, each of no more than `most` records."""
        n, width = len(self.x) - 1, self.members.shape[1]
        tables = [self.members]
        for labels in groupings:
            order = np.argsort(labels, kind="stable")
            sizes = np.bincount(labels)
            slot = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            table = np.full((len(sizes), width), n, dtype=np.intp)
            table[labels[order], slot] = order
            tables.append(table[sizes > 0])
        every = np.concatenate(tables)
        _, first = np.unique(every, axis=0, return_index=True)
        self.members = every[np.sort(first)]
        fresh = self.members[len(self.cost) :]
        there = fresh < n
        mean = self.x[fresh].sum(axis=1) / there.sum(axis=1)[:, None]
        away = self.x[fresh] - mean[:, None]
        cost = (np.einsum("ijk,ijk->ij", away, away) * there).sum(axis=1)
        self.cost = np.concatenate((self.cost, cost))

    def recombined(self, target: float) -> Labels:
        """Return a grouping of groups of the pool that costs about as little as any; -1 are left over.

        `target` is the sum of squares of any grouping, which sets the length of the steps.
        """
        # Set partitioning: each record in exactly one of the chosen groups, at the least sum. Prices
        # of the records relax it (M. Held, P. Wolfe and H. P. Crowder, 1974, Mathematical Programming
        # 6, 62-88); groups that the relaxed groupings agree about are chosen, and the rest is priced
        # again, until no group is left (diving).
        n = len(self.x) - 1
        labels = np.full(n, -1, dtype=np.intp)
        free = np.arange(n + 1) < n
        self._forget()
        members, cost, made = self.members, self.cost, 0
        price, share = _priced(members, cost, self.price, free, target, FIRST)
        self.price = price
        while len(cost):
            able = np.flatnonzero(share >= min(SURE, share.max()))
            able = able[disjoint(-share[able], _own(members[able], n), n)]
            taken = members[able]
            sizes = (taken < n).sum(axis=1)
            labels[taken[taken < n]] = np.repeat(np.arange(made, made + len(able)), sizes)
            made += len(able)
            target -= cost[able].sum()
            free[taken] = False
            left = (free[members] | (members == n)).all(axis=1)
            members, cost = members[left], cost[left]
            # A record that is in no group any more is left over, and has no price.
            free[:] = False
            free[members] = True
            free[n] = False
            price, share = _priced(members, cost, price, free, target, LATER)
        return labels

    def _forget(self) -> None:
        """Leave out the groups that cost most beyond the prices of their records, if there are many."""
        if len(self) > self.room:
            beyond = self.cost - np.append(self.price, 0.0)[self.members].sum(axis=1)
            kept = np.sort(np.argsort(beyond, kind="stable")[: self.room])
            self.members, self.cost = self.members[kept], self.cost[kept]


def _own(members: Labels, n: int) -> Labels:
    """Return the members of each group, its first one where there is none."""
    return np.where(members == n, members[:, :1], members)


def _priced(
    members: Labels,
    cost: Vector,
    price: Vector,
    free: npt.NDArray[np.bool_],
    target: float,
    steps: int,
) -> tuple[Vector, Vector]:
    """Return prices of the records at which the cheapest groups cover each about once.

    Also returns how large a share of the last relaxed groupings each group is in, the later ones
    counting more.
    """
    n = len(price)
    prices = np.where(free, np.append(price, 0.0), 0.0)
    best, bound, length, idle = prices, -np.inf, 1.0, 0
    share = np.zeros(len(cost))
    direction = np.zeros(n + 1)
    by_slot = np.ascontiguousarray(members.T)
    for _ in range(steps):
        cheap = cost - prices.take(by_slot).sum(axis=0)
        chosen = np.flatnonzero(cheap < 0)
        total = float(prices.sum() + cheap[chosen].sum())
        share *= MEMORY
        share[chosen] += 1.0 - MEMORY
        if total > bound + 1e-7 * abs(target):
            best, bound, idle = prices, total, 0
        else:
            idle += 1
        if idle == PATIENCE:
            prices, idle, length = best, 0, SHORTER * length
            direction[:] = 0.0
            if length < SHORTEST:
                break
            continue
        uncovered: Vector = free - np.bincount(
            members.take(chosen, axis=0).ravel(), minlength=n + 1
        ).astype(np.float64)
        uncovered[n] = 0.0
        direction = uncovered + MEMORY * direction
        size = float(direction @ direction)
        if size == 0.0:
            break
        prices = prices + length * max(target - total, 0.0) / size * direction
    return best[:n], share


def repaired(groups: Groups, near: Labels, labels: Labels) -> Labels:
    """Return labels in which records without a group (-1) are in that of a neighbour with room.

    -1 stays where there is no such neighbour.
    """
    labels = labels.copy()
    sizes = np.bincount(labels[labels >= 0], minlength=1)
    left = np.flatnonzero(labels < 0)
    while len(left):
        around = labels[near[left]]
        able = (around >= 0) & (sizes[around] < groups.most)
        some = np.flatnonzero(able.any(axis=1))
        if not len(some):
            break
        # One record for each group at a time, the first that wants it.
        into, first = np.unique(around[some, able[some].argmax(axis=1)], return_index=True)
        labels[left[some[first]]] = into
        sizes[into] += 1
        left = np.flatnonzero(labels < 0)
    return labels
