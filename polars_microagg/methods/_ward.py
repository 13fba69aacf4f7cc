"""Ward's joining of groups, until each has k records."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.distance import rounding_slack, squared_distances
from polars_microagg.kernels.neighbours import Neighbours
from polars_microagg.kernels.point_search import DIRECT, with_norms
from polars_microagg.kernels.sum_of_squares import Centroids
from polars_microagg.kernels.whole_numbers import step_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["ward", "ward_on_a_line"]

SHARE = 4
"""The table of groups is rewritten once one in this many has gone from it."""


def ward(columns: Matrix, labels: Labels, k: int) -> Labels:
    """Return (n,) labels after joining, until each group has k, the two whose union costs least.

    At least one of the two has fewer than k records, and their union raises the sum of squares less
    than that of any other such two. Of equal ones it is the first group of fewer than k that joins,
    and of its equals the one with the fewest records, then the first. Groups are numbered by their
    first records.

    >>> ward(np.array([[0.0, 7.0, 1.0, 6.0, 3.0, 9.0]]), np.array([0, 1, 0, 2, 3, 1]), 2)
    array([0, 1, 0, 1, 0, 1])
    """
    sizes = np.bincount(labels)
    groups = _Groups(Centroids(columns, labels, len(sizes)), k)
    into = np.arange(len(sizes))
    while (pair := groups.cheapest()) is not None:
        kept, joined = groups.join(*pair)
        into[joined] = kept
    while not np.array_equal(into, into[into]):
        into = into[into]
    return into[labels]


class _Groups:
    """Groups with their centroids, in order.

    Each of fewer than k records has its cheapest partner.
    """

    def __init__(self, centroids: Centroids, k: int) -> None:
        self.k = k
        self.sizes = centroids.counts.astype(np.float64)
        self.number = np.arange(len(self.sizes))
        self.sums = centroids.points if centroids.whole else None
        means = centroids.means
        self.table = with_norms(means)
        self.slack = rounding_slack(
            float(self.table[-1].max()), means[:, int(self.table[-1].argmax())]
        )
        self.alive = np.ones(len(self.sizes), dtype=np.bool_)
        self.partner = np.full(len(self.sizes), -1)
        self.cost = np.full(len(self.sizes), np.inf)
        self.stale = np.zeros(len(self.sizes), dtype=np.bool_)
        self._pair_up()

    def cheapest(self) -> tuple[int, int] | None:
        """Return the two groups to join next, or None when all have k records."""
        while True:
            group = int(self.cost.argmin())
            if self.cost[group] == np.inf:
                return None
            # A union is never cheaper to join than the groups it is of (Ward's criterion is
            # reducible), so a stale cost is a lower bound. If the least cost is not stale it is the
            # true least; else it is computed anew and the search goes on.
            if not self.stale[group]:
                return group, int(self.partner[group])
            self._choose(group, *self._measure(group))

    def join(self, one: int, other: int) -> tuple[int, int]:
        """Join two groups.

        Return the numbers of the one that is kept, the first, and of the other.
        """
        kept, gone = sorted((one, other))
        total = self.sizes[kept] + self.sizes[gone]
        mean, added = self.table[:-1, kept], self.table[:-1, gone]
        mean = mean + (added - mean) * (self.sizes[gone] / total)
        if self.sums is not None:
            self.sums[:, kept] += self.sums[:, gone]
            mean = self.sums[:, kept] / total
        self.table[:, kept] = with_norms(mean[:, None])[:, 0]
        self.sizes[kept] = total
        self.alive[gone] = False
        self.cost[gone] = np.inf
        self.stale |= (self.partner == kept) | (self.partner == gone)
        values, margin = self._measure(kept)
        self._offer(kept, values, margin)
        if total < self.k:
            self._choose(kept, values, margin)
        else:
            self.cost[kept] = np.inf
        numbers = int(self.number[kept]), int(self.number[gone])
        if SHARE * np.count_nonzero(self.alive) <= (SHARE - 1) * len(self.alive):
            self._rewrite()
        return numbers

    def _pair_up(self) -> None:
        """Find the partners of all groups, those of single records together."""
        single = np.flatnonzero(self.sizes == 1)
        if len(single) > 1:
            records = self.table[:-1].take(single, axis=1)
            nearest = Neighbours(records, 1).near[0]
            offsets = records - records.take(nearest, axis=1)
            self.partner[single] = single[nearest]
            self.cost[single] = 0.5 * squared_distances(offsets, np.zeros(len(records)))
        for group in np.flatnonzero((self.sizes > 1) | (len(single) == 1)):
            values, margin = self._measure(int(group))
            self._offer(int(group), values, margin)
            if self.sizes[group] < self.k:
                self._choose(int(group), values, margin)

    def _measure(self, group: int) -> tuple[Vector, float]:
        """Return the cost of joining each other group, inf where gone, and its margin."""
        own = float(self.sizes[group])
        if len(self.sizes) <= DIRECT:
            values, margin = self._costs(group, np.arange(len(self.sizes))), 0.0
        else:
            point = self.table[:-1, group]
            values, margin = np.append(-2.0 * point, 1.0) @ self.table, own * self.slack
            values += point @ point
            values *= own * self.sizes / (own + self.sizes)
        values[~self.alive] = values[group] = np.inf
        return values, margin

    def _costs(self, group: int, others: Labels) -> Vector:
        """Return the growth of the sum of squares when a group joins each of these others."""
        own, sizes = self.sizes[group], self.sizes.take(others)
        if self.sums is not None:
            # Whole but for one division: equal costs are equal.
            offsets = own * self.sums.take(others, axis=1) - sizes * self.sums[:, [group]]
            costs = squared_distances(offsets, np.zeros(len(offsets)))
            costs /= own * sizes * (own + sizes)
            return costs
        table = self.table[:-1]
        # Ward: the sum of squares grows by ab/(a+b) times the squared distance of the centroids (J.
        # H. Ward, 1963, Journal of the American Statistical Association 58, 236-244).
        costs = squared_distances(table.take(others, axis=1), table[:, group])
        costs *= own * sizes / (own + sizes)
        return costs

    def _choose(self, group: int, values: Vector, margin: float) -> None:
        """Find the partner of a group."""
        # Both values may be off by the margin, so twice that keeps the true cheapest.
        others = np.flatnonzero(values <= values.min() + 2 * margin)
        costs = self._costs(group, others)
        best = np.lexsort((self.sizes.take(others), costs))[0]
        self.partner[group], self.cost[group] = others[best], costs[best]
        self.stale[group] = False

    def _offer(self, group: int, values: Vector, margin: float) -> None:
        """Make a group the partner of those to which it is cheaper than their own."""
        others = np.flatnonzero((self.cost < np.inf) & (values <= self.cost + margin))
        # The new group may be cheaper for others than their partners are; they would not find out
        # otherwise.
        costs, known = self._costs(group, others), self.cost.take(others)
        partner = self.partner.take(others)
        size, theirs = self.sizes[group], self.sizes.take(partner)
        first = (size < theirs) | ((size == theirs) & (group < partner))
        better = costs < known
        equal = (costs == known) & first & ~self.stale.take(others)
        chosen: npt.NDArray[np.bool_] = better | equal
        self.partner[others[chosen]], self.cost[others[chosen]] = group, costs[chosen]
        self.stale[others[better]] = False

    def _rewrite(self) -> None:
        """Drop the groups that are gone."""
        self.stale |= ~self.alive.take(self.partner)
        self.partner = (np.cumsum(self.alive) - 1).take(self.partner)[self.alive]
        self.number, self.sizes = self.number[self.alive], self.sizes[self.alive]
        self.cost, self.stale = self.cost[self.alive], self.stale[self.alive]
        self.table = np.ascontiguousarray(self.table[:, self.alive])
        if self.sums is not None:
            self.sums = self.sums[:, self.alive]
        self.alive = np.ones(len(self.sizes), dtype=np.bool_)


def ward_on_a_line(values: Vector, sizes: Labels, k: int) -> Labels:
    """Return the lengths of runs of sorted values after joining neighbours until each has k.

    At least one of the two has fewer than k values, and their union raises the sum of squares less
    than that of any other such neighbours. Of equal ones it is the first run of fewer than k that
    joins, and of its equals the one with the fewest values, then the first.

    >>> ward_on_a_line(np.array([0.0, 1.0, 3.0, 6.0, 7.0, 9.0]), np.array([2, 1, 1, 2]), 2)
    array([3, 3])
    """
    starts = np.cumsum(sizes) - sizes
    first = values[starts]
    mean = (first + np.add.reduceat(values - np.repeat(first, sizes), starts) / sizes).tolist()
    size, end = sizes.tolist(), len(sizes)
    step = step_of(values[None])
    # Python's whole numbers have all digits.
    counted = ((values - values[0]) / step).astype(np.int64) if step else values
    sums = np.add.reduceat(counted, starts).tolist()
    before, after = list(range(-1, end - 1)), list(range(1, end + 1))

    def union(i: int) -> tuple[float, int, int, int, int, int]:
        """Return the cost of joining a run and the next, the tie-breakers, and which run it is."""
        j = after[i]
        small, other = (i, j) if size[i] < k else (j, i)
        product, together = size[i] * size[j], size[i] + size[j]
        if step:
            cost = (size[i] * sums[j] - size[j] * sums[i]) ** 2 / (product * together)
        else:
            cost = product / together * (mean[j] - mean[i]) ** 2
        return cost, small, size[other], other, i, together

    # Only neighbours on the line can join, so one entry a run is enough.
    heap = [union(i) for i in range(end - 1) if min(size[i], size[i + 1]) < k]
    heapify(heap)
    while heap:
        *_, i, total = heappop(heap)
        j = after[i]
        # Runs only grow, so the number of values tells whether the entry is of these two.
        if not size[i] or j == end or size[i] + size[j] != total:
            continue
        mean[i] += (mean[j] - mean[i]) * (size[j] / total)
        sums[i] += sums[j]
        size[i], size[j], after[i] = total, 0, after[j]
        if after[i] < end:
            before[after[i]] = i
        for left in (before[i], i):
            if left >= 0 and after[left] < end and min(size[left], size[after[left]]) < k:
                heappush(heap, union(left))
    return np.array([length for length in size if length], dtype=np.intp)
