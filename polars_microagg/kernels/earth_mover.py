"""Earth mover's distances between the values of groups and those of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from polars_microagg.core.partition import Labels, Vector

__all__ = ["Ladder", "ordered_distances", "variational_distances"]


SMALL = 65
"""Sizes of groups below this have their crossings in a table."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """Ordered values on a line from 0 to 1, and running sums along it.

    `below` (m,) is the share of the table up to each value, `places` (m,) is where each value lies,
    and `areas` (m,) is the area under the distribution function from the first value up to each.
    `crossings` (s, s) is the first value up to which a share of j / i of the table lies.
    """

    below: Vector
    places: Vector
    areas: Vector
    crossings: Labels

    @classmethod
    def of(cls, counts: Labels, *, by_rank: bool = False) -> Self:
        """Place values that occur so often: at equal steps, or at the middle ranks of the records.

        >>> Ladder.of(np.array([1, 2, 1]), by_rank=True).places
        array([0. , 0.5, 1. ])
        """
        total = np.cumsum(counts)
        # Twice the middle ranks are whole numbers.
        places = (2 * total - counts if by_rank else np.arange(len(counts))).astype(np.float64)
        places = (places - places[0]) / max(places[-1] - places[0], 1.0)
        below = total / max(1, int(total[-1]))
        areas = np.r_[0.0, np.cumsum(np.diff(places) * below[:-1])]
        sizes = np.maximum(np.arange(SMALL), 1)
        levels = np.minimum(np.arange(SMALL) / sizes[:, None], 1.0)
        return cls(below, places, areas, np.searchsorted(below, levels))

    def crossing(self, count: Labels, size: Labels) -> Labels:
        """Return the first value up to which a share of count / size of the table lies."""
        if int(size.max(initial=0)) < SMALL:
            return self.crossings[size, count]
        return np.searchsorted(self.below, count / size)


def ordered_distances(
    owner: Labels, code: Labels, count: Labels, sizes: Labels, ladder: Ladder
) -> Vector:
    """Return the area between the distribution functions of each group and of the table.

    `owner`, `code` and `count` are each group, each value in it, ascending, and how many members have it.

    >>> ladder = Ladder.of(np.array([1, 2, 1]))
    >>> runs = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), np.array([1, 1, 1, 1])
    >>> ordered_distances(*runs, np.array([2, 2]), ladder)
    array([0.25, 0.25])
    """
    # Ordered distance of N. Li, T. Li and S. Venkatasubramanian (2007). Between two of its values the
    # function of a group is flat and that of the table grows, so they cross at most once: running
    # sums and that place give the area between them. The time grows with the members, not with
    # groups times values.
    distances = np.zeros(len(sizes))
    last = len(ladder.below) - 1
    if last < 1 or not len(owner):
        return distances
    is_last = np.ones(len(owner), dtype=np.bool_)
    is_last[:-1] = owner[1:] != owner[:-1]
    ends, at = np.flatnonzero(is_last), np.flatnonzero(~is_last)
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1] + 1
    filled = owner[ends]
    # Before its first value the function of a group is 0, and after its last one it is 1.
    distances[filled] = ladder.areas[code[starts]]
    distances[filled] += (
        1.0 - ladder.places[code[ends]] - ladder.areas[last] + ladder.areas[code[ends]]
    )
    low, high, group = code[at], code[at + 1], owner[at]
    upto, size = np.cumsum(count)[at] - (np.cumsum(sizes) - sizes)[group], sizes[group]
    level = upto / size
    cross = np.minimum(np.maximum(ladder.crossing(upto, size), low), high)
    places, areas = ladder.places, ladder.areas
    under = level * (places[cross] - places[low]) - (areas[cross] - areas[low])
    over = (areas[high] - areas[cross]) - level * (places[high] - places[cross])
    distances += np.bincount(group, under + over, minlength=len(sizes))
    return distances


def variational_distances(
    owner: Labels, code: Labels, count: Labels, sizes: Labels, shares: Vector
) -> Vector:
    """Return half the sum of absolute differences of shares: all values are equally far apart.

    `owner`, `code` and `count` are each group, each value in it, and how many members have it.

    >>> runs = np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([2, 1, 1])
    >>> variational_distances(*runs, np.array([2, 2]), np.array([0.75, 0.25]))
    array([0.25, 0.25])
    """
    # Equal distance of N. Li, T. Li and S. Venkatasubramanian (2007). Only values that occur in a
    # group are compared; those that it lacks add their shares, which are 1 less the shares of those
    # it has.
    share = shares[code]
    there = np.bincount(owner, np.abs(count / sizes[owner] - share), len(sizes))
    distances: Vector = (there + 1.0 - np.bincount(owner, share, len(sizes))) / 2
    return np.where(sizes > 0, np.maximum(distances, 0.0), 0.0)
