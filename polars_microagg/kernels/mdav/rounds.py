"""MDAV, two groups a round, by whichever way of searching is quickest on the data."""

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

__all__ = ["Whole", "mdav_groups"]

REPEATS = 4096
"""From so many records on, it is found out whether most of them are equal to others."""

MANY = 1 << 15
"""From so many records on, ways of searching are tried against each other; from c^2 times as many
if there are 5c columns or more, as the front then has more neighbours."""

TRIAL = 16
"""Rounds on the whole that show how long one takes."""

STRETCH = 6
"""Rounds at the front are tried until they have taken as long as so many trials on the whole."""

MOST_TRIED = 512
"""Most rounds at the front that are tried."""

SHARE = 0.55
"""They are tried again when no more than this share of the records is left."""


class Whole:
    """Rounds of MDAV that search all records that are left.

    Parameters
    ----------
    left : Survivors
        The records, at least 3k of them left.
    k : int
        Group size.
    """

    def __init__(self, left: RemainingMean, k: int) -> None:
        self._remaining, self._k = RemainingRecords(left), k

    def round(self) -> tuple[Labels, Labels]:
        """Remove the group of the outermost record and that of the one opposite; their rows."""
        remaining, k = self._remaining, self._k
        r = remaining.farthest_from_mean()
        s = remaining.farthest_from(r)
        first = remaining.take(r, k)
        if s not in remaining:
            s = remaining.farthest_from(r)
        return first, remaining.take(s, k)


def mdav_groups(
    x: Matrix, k: int, *, search: type[Frontier | Whole] | None = None
) -> Iterator[Labels]:
    """Find the groups of MDAV, all but the last.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances, n >= 2k; not modified.
    k : int
        Group size.
    search : {None, Front, Whole}
        The only way of searching to be used; None for whichever is quickest.

    Yields
    ------
    array of shape (k,)
        Rows of a group, ascending; k to 2k - 1 records are in none.

    Notes
    -----
    All ways of searching find the same groups, to the last tie, and hand over to each other
    between rounds. How long they take decides nothing but which is used.
    """
    left = RemainingMean(x)
    if search is None and len(left) >= max(REPEATS, 3 * k):
        places = DistinctRecords.of(left, k)
        if places:
            yield from _stretch(places, left, 3 * k)
        many = MANY * max(1, x.shape[1] // 5) ** 2
        while len(left) >= max(many, 3 * k):
            yield from _race(left, k)
    while len(left) >= 3 * k:
        rounds = (search or Whole)(left, k)
        yield from _stretch(rounds, left, max(3 * k, int(SHARE * len(left))))
    if len(left) >= 2 * k:
        last = RemainingRecords(left)
        yield last.take(last.farthest_from_mean(), k)


def _stretch(
    rounds: Frontier | Whole | DistinctRecords, left: RemainingMean, fewest: int
) -> Iterator[Labels]:
    while len(left) >= fewest:
        yield from rounds.round()


def _race(left: RemainingMean, k: int) -> Iterator[Labels]:
    """Try both ways on the next rounds, then use the quicker one until much has changed."""
    on_whole = yield from _timed(Whole(left, k), left, k, TRIAL, float("inf"))
    front = Frontier(left, k)
    at_front = yield from _timed(front, left, k, MOST_TRIED, TRIAL * STRETCH * on_whole)
    rounds = front if at_front < on_whole else Whole(left, k)
    yield from _stretch(rounds, left, max(3 * k, int(SHARE * len(left))))


def _timed(
    rounds: Frontier | Whole, left: RemainingMean, k: int, most: int, limit: float
) -> Generator[Labels, None, float]:
    """Go through some rounds; returns the seconds that one takes."""
    spent, done = 0.0, 0
    while done < most and spent < limit and len(left) >= 3 * k:
        start = time.thread_time()
        groups = rounds.round()
        spent += time.thread_time() - start
        done += 1
        yield from groups
    return spent / max(done, 1)
