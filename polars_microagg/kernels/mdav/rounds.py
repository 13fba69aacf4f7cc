"""The rounds of MDAV, two groups each, by the search that is fastest on the data."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from polars_microagg.kernels.mdav.duplicates import DistinctRecords
from polars_microagg.kernels.mdav.frontier import Frontier
from polars_microagg.kernels.remaining_mean import RemainingMean
from polars_microagg.kernels.remaining_records import RemainingRecords

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Matrix

__all__ = ["FullScan", "mdav_groups"]

FEWEST_FOR_DUPLICATES = 4096
"""Least number of records at which duplicates are looked for."""

MANY = 1 << 15
"""Least number of records at which the two searches race; c^2 times as many if there are 5c columns
or more, as records on the frontier then have more neighbours."""

TRIAL = 16
"""Rounds of the full scan that are timed."""

STRETCH = 6
"""The frontier is timed until it has taken as long as this many trials of the full scan."""

MOST_TRIED = 512
"""Most rounds of the frontier that are timed."""

SHARE = 0.55
"""A search goes on until no more than this share of its records is left. Then the searches race
again; with too few records for a race, the search in use is only built anew."""


class FullScan:
    """Scan all remaining records; at least 3k must be left at each round."""

    def __init__(self, left: RemainingMean, k: int) -> None:
        self._remaining, self._k = RemainingRecords(left), k

    def round(self) -> tuple[Labels, Labels]:
        """Remove the groups of the outermost record r and of s opposite; return their rows."""
        remaining, k = self._remaining, self._k
        r = remaining.farthest_from_mean()
        s = remaining.farthest_from(r)
        first = remaining.take(r, k)
        # If the group of r took s, the seed of the second group is the remaining record farthest
        # from r, which is what s means after the removal.
        if s not in remaining:
            s = remaining.farthest_from(r)
        return first, remaining.take(s, k)


def mdav_groups(
    x: Matrix, k: int, *, search: type[Frontier | FullScan] | None = None
) -> Iterator[Labels]:
    """Yield the rows, ascending, of each group of k that MDAV makes from the (n, d) matrix `x`.

    The last k to 2k - 1 records are left to the caller. `search` fixes one search; with None the
    fastest is measured.
    """
    # All searches find the same groups, to the last tie, and share one `RemainingMean`, so they can
    # take over from each other between rounds. Timing decides which one runs, never what it
    # returns.
    left = RemainingMean(x)
    if search is None and len(left) >= max(FEWEST_FOR_DUPLICATES, 3 * k):
        duplicates = DistinctRecords.of(left, k)
        if duplicates:
            yield from _stretch(duplicates, left, 3 * k)
        many = MANY * max(1, x.shape[1] // 5) ** 2
        while len(left) >= max(many, 3 * k):
            yield from _race(left, k)
    # MDAV-generic of J. Domingo-Ferrer and V. Torra (2005): two groups a round. While 3k records or
    # more remain, k or more are left after it.
    while len(left) >= 3 * k:
        rounds = (search or FullScan)(left, k)
        yield from _stretch(rounds, left, max(3 * k, int(SHARE * len(left))))
    # With 2k to 3k - 1 records, one more group leaves k to 2k - 1, which are the last group.
    if len(left) >= 2 * k:
        last = RemainingRecords(left)
        yield last.take(last.farthest_from_mean(), k)


def _stretch(
    rounds: Frontier | FullScan | DistinctRecords, left: RemainingMean, fewest: int
) -> Iterator[Labels]:
    """Run rounds while at least `fewest` records are left."""
    while len(left) >= fewest:
        yield from rounds.round()


def _race(left: RemainingMean, k: int) -> Iterator[Labels]:
    """Time both searches on the next rounds, then use the faster one until few records are left."""
    scan_time = yield from _timed(FullScan(left, k), left, k, TRIAL, float("inf"))
    # What building it takes is not counted: it is spent, whichever search goes on from here.
    frontier = Frontier(left, k)
    frontier_time = yield from _timed(frontier, left, k, MOST_TRIED, TRIAL * STRETCH * scan_time)
    rounds = frontier if frontier_time < scan_time else FullScan(left, k)
    yield from _stretch(rounds, left, max(3 * k, int(SHARE * len(left))))


def _timed(
    rounds: Frontier | FullScan, left: RemainingMean, k: int, most: int, limit: float
) -> Generator[Labels, None, float]:
    """Run some rounds and return the seconds that one takes."""
    spent, done = 0.0, 0
    while done < most and spent < limit and len(left) >= 3 * k:
        # The time of this thread alone: other load on the machine does not change the choice much.
        # It leaves out the other threads of BLAS. In their products this thread computes a share,
        # too, so its time stands for what a round takes, in either search.
        start = time.thread_time()
        groups = rounds.round()
        spent += time.thread_time() - start
        done += 1
        yield from groups
    return spent / max(done, 1)
