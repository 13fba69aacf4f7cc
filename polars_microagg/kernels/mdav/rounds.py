"""The rounds of MDAV, two groups each, by the search that suits the number of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from polars_microagg.kernels.mdav.duplicates import DistinctRecords
from polars_microagg.kernels.mdav.frontier import Frontier
from polars_microagg.kernels.mdav.full_scan import FullScan
from polars_microagg.kernels.mdav.many_scans import rounds_of_many
from polars_microagg.kernels.remaining_mean import RemainingMean
from polars_microagg.kernels.remaining_records import RemainingRecords

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Matrix

__all__ = ["fewest_for_frontier", "groups_of_many", "mdav_groups"]

FEWEST_FOR_DUPLICATES = 4096
"""Least number of records at which duplicates are looked for."""

MANY = 1 << 17
"""Least number of records for the frontier, with up to `COLUMNS` columns and groups of `SIZE`."""

COLUMNS, SIZE = 5, 5

SHARE = 0.55
"""A frontier goes on until no more than this share of its records is left; then it is built anew."""


def fewest_for_frontier(d: int, k: int) -> int:
    """Return the least number of records at which the frontier is faster than the full scan.

    A scan takes time in proportion to n d. In more columns the frontier has more neighbours to tell
    apart, and for larger groups it looks for more of them.

    >>> fewest_for_frontier(3, 5), fewest_for_frontier(10, 5), fewest_for_frontier(2, 20)
    (131072, 524288, 262144)
    """
    return int(MANY * max(1.0, d / COLUMNS) ** 2 * max(1.0, k / SIZE) ** 0.5)


def mdav_groups(
    x: Matrix, k: int, *, search: type[Frontier | FullScan] | None = None
) -> Iterator[Labels]:
    """Yield the (g, k) rows, ascending, of the next groups that MDAV makes from the matrix `x` (n, d).

    The last k to 2k - 1 records are left to the caller. `search` fixes one search; with None the
    one that is faster for so many records is taken.
    """
    # All searches find the same groups, to the last tie, and share one `RemainingMean`, so they can
    # take over from each other between rounds.
    left = RemainingMean(x)
    if search is None:
        yield from _groups_of_duplicates(left, k)
    many = fewest_for_frontier(x.shape[1], k)
    # MDAV-generic of J. Domingo-Ferrer and V. Torra (2005): two groups a round. While 3k records or
    # more remain, k or more are left after it.
    while len(left) >= 3 * k:
        if search is Frontier or (search is None and len(left) >= many):
            yield from _stretch(Frontier(left, k), left, max(3 * k, int(SHARE * len(left))))
        else:
            yield from _stretch(FullScan(left, k), left, 3 * k)
    yield from _group_before_last(left, k)


def groups_of_many(strata: Sequence[Matrix], k: int) -> Iterator[tuple[int, Labels]]:
    """Yield the position of a stratum and the rows (g, k) of its next groups, as `mdav_groups` does.

    The strata are matrices with as many columns each and some thousand rows.
    """
    lefts = [RemainingMean(x) for x in strata]
    for i, left in enumerate(lefts):
        for groups in _groups_of_duplicates(left, k):
            yield i, groups
    going = [i for i, left in enumerate(lefts) if len(left) >= 3 * k]
    for position, groups in rounds_of_many([FullScan(lefts[i], k) for i in going], k):
        yield going[position], groups
    for i, left in enumerate(lefts):
        for groups in _group_before_last(left, k):
            yield i, groups


def _groups_of_duplicates(left: RemainingMean, k: int) -> Iterator[Labels]:
    """Yield groups while there are few distinct records, among many."""
    if len(left) >= max(FEWEST_FOR_DUPLICATES, 3 * k):
        duplicates = DistinctRecords.of(left, k)
        if duplicates:
            yield from _stretch(duplicates, left, 3 * k)


def _group_before_last(left: RemainingMean, k: int) -> Iterator[Labels]:
    """Yield one more group if 2k to 3k - 1 records are left: k to 2k - 1 are the last group."""
    if len(left) >= 2 * k:
        last = RemainingRecords(left)
        yield last.take(last.farthest_from_mean(), k)[None]


def _stretch(
    rounds: Frontier | FullScan | DistinctRecords, left: RemainingMean, fewest: int
) -> Iterator[Labels]:
    """Run rounds while at least `fewest` records are left."""
    while len(left) >= fewest:
        yield rounds.groups()
