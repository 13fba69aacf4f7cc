"""Floors of the sum of squares that no grouping of at least k records can go under."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.equal_records import distinct
from polars_microagg.kernels.risk.neighbour_floors import NeighbourFloors, listed_neighbours

__all__ = ["ROUNDING", "lagrangian_bound", "neighbour_bound"]

LISTED = 32
"""Least number of neighbours of a record whose choices are made to agree."""

PAIRS = 2_000_000
"""All others are listed if that is not more than this many pairs, else as many as that allows."""

FEWER = 200_000
"""With more records than this, no more neighbours are listed than needed."""

PATIENCE = 6
"""After this many steps without a better bound, steps become shorter."""

SHORTEST = 0.02
"""Steps shorter than this share of the usual length are not taken."""

ROUNDING = 1e-9
"""Share of a floor that rounding may have added, with room to spare."""


def neighbour_bound(x: Matrix, k: int) -> float:
    """Return a floor from the k - 1 nearest others of each of (n, d) records about zero.

    >>> round(neighbour_bound(np.array([[0.0], [1.0], [8.0], [9.0]]), 2), 6)
    1.0
    """
    # The sum of squares of a group of m records is the sum of all its squared distances d_ij, i and
    # j in either order, over 2m. The share of record i, the sum of d_ij over 2m, is least when the
    # others are the m - 1 nearest; and as each farther neighbour is at least as far as the mean of
    # the nearer ones, it grows with m. So m = k bounds it from below for every group, and the sum
    # over the records bounds every grouping.
    first, labels = distinct(x)
    if len(first) == len(x):
        floors = listed_neighbours(x, k - 1)
        # A neighbour that is missing from a list is at least `far` away, so the smaller of the two
        # is a floor of its distance.
        total = np.minimum(floors.squares, floors.far[:, None]).sum()
    else:
        total = _of_distinct(x[first], np.bincount(labels), k)
    return float(total) / (2 * k) * (1.0 - ROUNDING)


def _of_distinct(x: Matrix, counts: Labels, k: int) -> float:
    """Return the sum of squared distances to the k - 1 nearest others, by distinct record."""
    if len(x) == 1:
        return 0.0
    floors = listed_neighbours(x, k - 1)
    squares = np.minimum(floors.squares, floors.far[:, None])
    there = counts[floors.near]
    # Of the others wanted, each neighbour gives as many as it has and are still missing.
    missing = np.maximum(k - counts, 0)[:, None] - (np.cumsum(there, axis=1) - there)
    taken = np.clip(missing, 0, there)
    sums = np.einsum("ij,ij->i", np.where(taken > 0, squares, 0.0), taken)
    return float((counts * sums).sum())


def lagrangian_bound(x: Matrix, k: int, target: float, steps: int) -> float:
    """Return a higher floor of the sum of squares, by making the choices of records agree.

    `target` is the sum of squares of any grouping, which sets the length of the steps; there are at
    most `steps`.

    >>> x = np.array([[0.0], [1.0], [1.5], [9.0], [9.5]])
    >>> lagrangian_bound(x, 2, 1.3, 50) > neighbour_bound(x, 2)
    True
    """
    wanted = 2 * k - 2 if len(x) > FEWER else max(LISTED, 4 * k, PAIRS // len(x))
    # Let every record choose k - 1 others, at the cost of their squared distances over 2k. A group
    # of k is such a choice in which i chooses j whenever j chooses i. A multiplier of a pair, added
    # to the cost of one direction and taken from the other, changes no cost of a group. So for any
    # multipliers the least costs of its records add up to at most its sum of squares: weak
    # Lagrangian duality (M. Held and R. M. Karp, 1971, Mathematical Programming 1, 6-25). They are
    # prices as in `group_price_bound`, so their sum is a floor for groups of k and more.
    pairs = _Pairs(listed_neighbours(x, wanted), k)
    best, kept = -np.inf, pairs.multipliers.copy()
    length, idle = 1.0, 0
    for _ in range(steps):
        total, chosen = pairs.relaxed()
        # Every total is a floor, so the highest seen may be kept; steps only have to find good
        # multipliers.
        if total > best + ROUNDING * abs(best) or best == -np.inf:
            best, idle = total, 0
            kept[:] = pairs.multipliers
        else:
            idle += 1
        if idle == PATIENCE:
            length, idle = 0.6 * length, 0
            pairs.multipliers[:] = kept
            continue
        if length < SHORTEST or not pairs.step(chosen, length * max(target - total, 0.0)):
            break
    return best - ROUNDING * abs(best)


class _Pairs:
    """Pairs of records that list each other, and the multiplier of each."""

    def __init__(self, lists: NeighbourFloors, k: int) -> None:
        n, count = lists.near.shape
        self.k, self.squares, self.far = k, lists.squares, lists.far
        self.multipliers = np.zeros((n, count))
        key = np.repeat(np.arange(n), count) * n + lists.near.reshape(-1)
        order = np.argsort(key)
        wanted = lists.near.reshape(-1) * n + np.repeat(np.arange(n), count)
        place = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
        # Where j's list has i, for each j in i's list; -1 if it has not.
        self.back: Labels = np.where(key[order[place]] == wanted, order[place], -1)

    def relaxed(self) -> tuple[float, npt.NDArray[np.bool_]]:
        """Return the sum of the least costs of all records, and who is chosen by each."""
        others, far = self.k - 1, self.far / (2.0 * self.k)
        costs = self.squares / (2.0 * self.k) + self.multipliers
        chosen = np.zeros(costs.shape, dtype=np.bool_)
        near = np.argpartition(costs, others - 1, axis=1)[:, :others]
        least = np.take_along_axis(costs, near, axis=1)
        # Others beyond the list cost at least `far` each, and have no multiplier.
        np.put_along_axis(chosen, near, least < far[:, None], axis=1)
        return float(np.minimum(least, far[:, None]).sum()), chosen

    def step(self, chosen: npt.NDArray[np.bool_], gap: float) -> bool:
        """Make it dearer to choose who does not choose back, and cheaper the other way."""
        # The subgradient at a pair is 1 where only one of the two chooses the other, and 0 where
        # both or none do.
        flat = np.flatnonzero(chosen.reshape(-1) & (self.back >= 0))
        back = self.back[flat]
        alone = ~chosen.reshape(-1)[back]
        flat, back = flat[alone], back[alone]
        if not len(flat) or not gap:
            return False
        multipliers = self.multipliers.reshape(-1)
        multipliers[flat] += gap / len(flat)
        multipliers[back] -= gap / len(flat)
        return True
