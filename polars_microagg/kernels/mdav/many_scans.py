"""Rounds of MDAV on strata of some thousand records, made by all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polars_microagg.kernels.mdav.full_scan import FullScan
from polars_microagg.kernels.smallest import STRIPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polars_microagg.core.partition import Labels, Matrix, Vector
    from polars_microagg.kernels.mdav.single_table import Singles

__all__ = ["FEWEST", "rounds_of_many"]

FEWEST = 8
"""Fewer strata than this are each quicker alone: a round of all has about so many times the calls of one."""

SHARE, MORE = 4, 128
"""All tables are written anew when this share of the records of one is gone, and this many more."""

WANTED, DAMPING, GROW = 3, 0.25, 1.2
"""A search is to look at this many times k records; what it missed that by changes its reach, damped."""

MOST = 12
"""More than this many times k records near one are left to the scan of its stratum."""

LARGEST = np.finfo(np.float32).max


def rounds_of_many(scans: Sequence[FullScan], k: int) -> Iterator[tuple[int, Labels]]:
    """Yield the position of a scan and the rows (g, k) of its next groups, as the scan itself would.

    It ends when fewer than 3k records are left in each.
    """
    going = list(range(len(scans)))
    while going:
        ready = [i for i in going if scans[i].single]
        # Those with most rounds to go come first, so that those that are done are the last ones.
        ready.sort(key=lambda i: -len(scans[i].left))
        if len(ready) >= FEWEST:
            together = _Rounds([scans[i] for i in ready], k)
            for position, groups in together.run():
                yield ready[position], groups
        # What ties or outliers keep from single precision, and the last few strata.
        alone = set(going).difference(ready) if len(ready) >= FEWEST else going
        for i in alone:
            while len(scans[i].left) >= 3 * k:
                yield i, scans[i].groups()
        going = [i for i in going if len(scans[i].left) >= 3 * k]
        for i in going:
            scans[i].begin()


class _Rounds:
    """Rounds of several scans until one of their tables is to be written anew.

    A stratum is a row of each array. What single precision leaves open in it is answered by its scan.
    """

    def __init__(self, scans: Sequence[FullScan], k: int) -> None:
        self.scans, self.k = scans, k
        tables = [scan.table for scan in scans]
        self.widths = [len(scan.rows) for scan in scans]
        count, high, wide = len(scans), len(tables[0].table), max(self.widths)
        # The columns behind the last record lie at the origin, as those of records that are gone.
        self.table: Singles = np.zeros((count, high, wide), dtype=np.float32)
        for one, scan, width in zip(self.table, scans, self.widths, strict=True):
            one[:, :width] = scan.table.table
            # The scan is to see what goes.
            scan.table.table = one[:, :width]
        self.bounds = np.arange(count + 1) * wide
        self.first = self.bounds[:-1]
        self.scale = np.array([table.scale for table in tables])
        self.offset: Matrix = np.array([table.offset for table in tables])
        self.largest = np.array([table.largest for table in tables])
        self.slack = np.array([table.slack for table in tables])
        self.reach = np.array([scan.reach for scan in scans]).T.copy()
        self.sums = np.zeros((count, high - 1))
        self.size = np.array([len(scan.left) for scan in scans])
        # Rounds to the end of each stratum, and to the end of the shortest table.
        self.ends = 1 + (self.size - 3 * k) // (2 * k)
        until = min(1 + (width // SHARE + MORE) // (2 * k) for width in self.widths)
        self.count = min(until, int(self.ends[0]))
        self.made = np.zeros((count, 2 * self.count, k), dtype=np.intp)
        self.reported = [0] * count
        self.passed = [0] * count
        self.weights: Singles = np.ones((count, 1, high), dtype=np.float32)
        self.values: Singles = np.empty((2, count, 1, wide), dtype=np.float32)
        self.near = np.empty((count, wide), dtype=np.bool_)
        # The remaining records, in double precision.
        starts = np.cumsum([0, *self.widths[:-1]])
        self.columns: Matrix = np.concatenate(
            [scan.left.columns.take(scan.rows, axis=1) for scan in scans], axis=1
        )
        self.starts = starts[:, None]

    def run(self) -> Iterator[tuple[int, Labels]]:
        """Yield the position of a stratum and the rows of its groups, in any order of strata."""
        fresh = [0] * len(self.scans)
        for done in range(self.count):
            active = int(np.count_nonzero(self.ends > done))
            if active < FEWEST:
                break
            if min(fresh) <= done:
                for i in range(active):
                    if fresh[i] <= done:
                        yield from self._report(i, done)
                        left = self.scans[i].left
                        left.mean()
                        self.sums[i] = left.sum
                        fresh[i] = done + 1 + left.before_fresh // (2 * self.k)
            self._round(active, done)
        for i, scan in enumerate(self.scans):
            last = min(done + (active >= FEWEST), int(self.ends[i]))
            yield from self._report(i, last)
            scan.searches += 3 * last
            scan.reach = self.reach[:, i].tolist()

    def _report(self, i: int, done: int) -> Iterator[tuple[int, Labels]]:
        """Yield the groups of a stratum that its scan does not know of yet."""
        groups = self.made[i, 2 * self.reported[i] : 2 * done]
        self.reported[i] = done
        if len(groups):
            scan = self.scans[i]
            rows = scan.rows.take(groups)
            scan.left.removed(rows, self.sums[i].copy())
            yield i, rows

    def _round(self, active: int, done: int) -> None:
        """Make two groups in each of the first strata."""
        k, table = self.k, self.table[:active]
        each, first = np.arange(active), self.first[:active]
        size, sums, weights = self.size[:active], self.sums[:active], self.weights[:active]
        made = self.made[:active, 2 * done : 2 * done + 2]

        # The mean, as `SingleTable.weigh` has it.
        from_mean = sums * (self.scale[:active] / size)[:, None]
        from_mean -= self.offset[:active]
        weights[:, 0, :-1] = from_mean
        within = np.einsum("bd,bd->b", from_mean, from_mean) <= 4.004 * self.largest[:active]
        values = self._measure(active, 0)
        r, limits, clear = self._farthest(values)
        for i in (~(clear & within)).nonzero()[0].tolist():
            scan = self._told(i, 2 * done)
            limit = float(limits[i]) if within[i] else 0.0
            mean = scan.mean(sums[i], int(size[i]))
            r[i] = scan.farthest_of(values[i, : self.widths[i]], limit, mean)

        norms = self._weigh(table[each, :, r], weights)
        values = self._measure(active, 0)
        s, limits, clear = self._farthest(values)
        for i in (~clear).nonzero()[0].tolist():
            s[i] = self._farthest_from(i, values, float(limits[i]), int(r[i]), 2 * done)
        made[:, 0] = group = self._nearest(values, r, norms, 0, 2 * done)
        swallowed = (group == s[:, None]).any(axis=1)
        for i in swallowed.nonzero()[0].tolist():
            values[i, group[i]] = 0.0
            # With a limit of 0 all are compared by exact distance.
            s[i] = self._farthest_from(i, values, 0.0, int(r[i]), 2 * done + 1)

        norms = self._weigh(table[each, :, s], weights)
        values = self._measure(active, 1)
        values.reshape(-1)[group + first[:, None]] = 0.0
        made[:, 1] = self._nearest(values, s, norms, 1, 2 * done + 1)

        pair = made.reshape(active, 2 * k)
        table[each[:, None], :, pair] = 0.0
        gone = self.columns.take(pair + self.starts[:active], axis=1).reshape(-1, active, 2, k)
        # As `total` of one group, then of the other: added in row order.
        added = gone[..., 0].copy()
        for j in range(1, k):
            added += gone[..., j]
        sums -= added[..., 0].T
        sums -= added[..., 1].T
        size -= 2 * k

    def _weigh(self, records: Singles, weights: Singles) -> Singles:
        """Write the weights by which values are measured from records; return their squared norms."""
        np.multiply(records[:, :-1], np.float32(-2.0), out=weights[:, 0, :-1])
        return records[:, -1]

    def _measure(self, active: int, buffer: int) -> Singles:
        """Return the values (active, m) of all records from the points that the weights are of."""
        out = self.values[buffer, :active]
        values: Singles = np.matmul(self.weights[:active], self.table[:active], out=out)[:, 0]
        return values

    def _farthest(self, values: Singles) -> tuple[Labels, Vector, npt.NDArray[np.bool_]]:
        """Return the position of each largest value, its limit, and whether no other may be as far."""
        active, flat = len(values), values.reshape(-1)
        best = values.argmax(axis=1)
        at = best + self.first[:active]
        top = flat.take(at)
        limits = top - self.slack[:active]
        flat[at] = -np.inf
        second = values.max(axis=1)
        flat[at] = top
        return best, limits, limits > np.maximum(second, 0.0)

    def _nearest(
        self, values: Singles, positions: Labels, norms: Singles, side: int, groups: int
    ) -> Labels:
        """Return the positions (active, k), ascending, of the records nearest to one of each stratum."""
        k, active = self.k, len(values)
        slack, reach = self.slack[:active], self.reach[side, :active]
        limits = np.minimum(reach - norms, -slack)
        chosen, clear, counts = self._within(values, limits, slack)
        # It only decides what is looked at first.
        reach *= (WANTED * k / np.maximum(counts, 1)) ** DAMPING
        usual = (counts > k) & (counts <= MOST * k)
        if not usual.all():
            again = (~usual).nonzero()[0]
            part, offs, slacks = values[again], norms[again], slack[again]
            bounds = _at_least_kth(part, k) + 2 * slacks
            limits = np.minimum(bounds, -slacks)
            chosen[again], clear[again], _ = self._within(part, limits, slacks)
            reach[again] = GROW * (bounds + offs)
        for i in (~clear).nonzero()[0].tolist():
            scan = self._told(i, groups)
            scan.reach[side] = float(reach[i])
            chosen[i] = scan.nearest(values[i, : self.widths[i]], int(positions[i]), side)
        return chosen

    def _within(
        self, values: Singles, limits: Vector, slack: Vector
    ) -> tuple[Labels, npt.NDArray[np.bool_], Labels]:
        """Return the positions of the k smallest values, whether that is clear, and how many values count.

        Those up to the limit count. Where they are too few or too many, or differ too little, it is
        not clear, and the positions are of no use.
        """
        k, active = self.k, len(values)
        first, flat = self.first[:active], values.reshape(-1)
        near = np.less_equal(values, limits.astype(np.float32)[:, None], out=self.near[:active])
        close = near.reshape(-1).nonzero()[0]
        bounds = close.searchsorted(self.bounds[: active + 1])
        starts, counts = bounds[:-1], bounds[1:] - bounds[:-1]
        usual = (counts >= k) & (counts <= MOST * k)
        chosen = np.zeros((active, k), dtype=np.intp)
        if not usual.any():
            return chosen, usual, counts
        slots = np.arange(max(int(counts[usual].max()), k + 1))
        members = close.take(starts[:, None] + slots, mode="clip")
        ranked = flat.take(members)
        ranked[slots >= counts[:, None]] = LARGEST
        ends = np.partition(ranked, (k - 1, k), axis=1)[:, k - 1 : k + 1].astype(np.float64)
        # What is beyond the limit is not among them, and farther.
        clear = usual & (np.minimum(ends[:, 1], limits) - ends[:, 0] > slack)
        # Positions ascend with slots, and k of them are clearly nearer than all others.
        within = ranked <= ends[:, :1]
        within &= clear[:, None]
        members -= first[:, None]
        chosen[clear] = members[within].reshape(-1, k)
        return chosen, clear, counts

    def _farthest_from(
        self, i: int, values: Singles, limit: float, position: int, groups: int
    ) -> int:
        """Return the position of the record of a stratum that is farthest from another by exact distance."""
        scan = self._told(i, groups)
        return scan.farthest_of(values[i, : self.widths[i]], limit, scan.point(position))

    def _told(self, i: int, groups: int) -> FullScan:
        """Return the scan of a stratum when it knows which records went in the first groups."""
        scan = self.scans[i]
        if groups > self.passed[i]:
            scan.pass_over(self.made[i, self.passed[i] : groups].reshape(-1))
            self.passed[i] = groups
        return scan


def _at_least_kth(values: Singles, k: int) -> Vector:
    """Return for each row a bound that at least k of its values do not exceed, as `at_least_kth` does."""
    stripes = values.shape[1] // STRIPE
    if stripes >= 4 * k:
        parts = values[:, : stripes * STRIPE].reshape(len(values), STRIPE, stripes)
        values = np.minimum.reduce(parts, axis=1)
    return np.partition(values, k - 1, axis=1)[:, k - 1].astype(np.float64)
