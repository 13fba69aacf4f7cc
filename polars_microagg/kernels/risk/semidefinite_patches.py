"""A floor from who shares a group with whom, looked at in overlapping patches of neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.risk.lower_bound import ROUNDING
from polars_microagg.kernels.risk.neighbour_floors import listed_neighbours
from polars_microagg.kernels.risk.unlisted_pairs import least_unlisted

__all__ = ["patch_size", "patched_bound"]

WIDE = 8
"""A patch has this many times k records,"""

MOST = 96
"""but no more than this,"""

NARROW = 3
"""unless k is so large that it would have less than this many times k."""

COVER = 2
"""Every record is in at least so many patches, or in the middle of one."""

EVERY = 10
"""After so many steps the floor is worked out."""

SMALLEST = 1.0
"""Scales of records are at least this share of their mean."""

STIFF = 0.5
"""Weight of the constraints on who is together."""

ADJUSTED = 3
"""Times that prices are adjusted in a step."""

DAMPED = 0.5
"""Share of such an adjustment: with more, prices of records that share pairs may swing."""

CELLS = 1 << 21
"""So many cells of patches are handled at once."""


def patch_size(n: int, k: int) -> int:
    """Return the number of records of a patch."""
    return min(n, max(NARROW * k, min(WIDE * k, MOST)))


def patched_bound(x: Matrix, k: int, steps: int) -> float:
    """Return a floor of the sum of squares of any grouping of (n, d) records about zero.

    There are `steps` or a few more. Time and memory of each are linear in the records.

    >>> x = np.array([[0.0], [1.0], [1.5], [9.0], [9.5], [9.7]])
    >>> 1.0 < patched_bound(x, 3, 50) < 1.43
    True
    """
    # As in `semidefinite_bound`, let X be 1 where two records share a group of exactly k. Its rows
    # sum to k, it is never below 0, and so is no eigenvalue: here not of the whole, but of the part
    # of X that has the records of a patch. Those are many small matrices instead of a large one.
    # It is solved by consensus: every patch has a copy of its part, and the copies are made to
    # agree. S. Boyd et al., 2011, Foundations and Trends in Machine Learning 3, 1-122, section 7.
    # How near that comes matters not: see `_floor`.
    n = len(x)
    size = patch_size(n, k)
    lists = listed_neighbours(x, size - 1)
    nearby = lists.squares[:, : k - 1].sum(axis=1) / (2 * k)
    mean = float(nearby.mean())
    if not 0.0 < mean < np.inf:
        return 0.0
    patches = _patches(lists.near)
    pairs = _listed(x, lists.near, patches)
    # Records cost very different amounts: with X scaled by those, one weight suits all.
    scale = np.sqrt(np.maximum(nearby / mean, SMALLEST))
    steep = scale[pairs.one] * scale[pairs.other]
    unit = mean / (k - 1)
    costs = pairs.squares / (2 * k)
    wanted = costs / steep / unit
    stiff = STIFF * np.maximum(pairs.often, 1)
    # Half of a price is left to the pair, as in `_floor`: here twice the mean of those nearby.
    weights = 2 * k / (k - 1) * nearby
    far = (weights + least_unlisted(x, pairs.one, pairs.other, weights)) / (2 * k)
    # No price is higher than what a record that is not listed costs at least.
    prices = np.minimum(nearby / mean, far / unit)
    together: Vector = np.zeros(len(wanted))
    duals = np.zeros((len(patches), size, size))
    best = 0.0
    # Up to the next floor, so that more steps never find a lower one.
    for step in range(1, -(-steps // EVERY) * EVERY + 1):
        try:
            agreed = together + _corrected(pairs, patches, scale, together, duals)
        except np.linalg.LinAlgError:
            break
        for _ in range(ADJUSTED):
            met = _met(pairs, agreed, wanted, prices, steep, stiff)
            missing = k - 1.0 - _by_record(pairs, met / steep, n)
            slope = _by_record(pairs, (met > 0.0) / (2.0 * np.square(steep) * stiff), n)
            # Where no pair is together, as if one with a record like itself were.
            slope = np.maximum(slope, 0.5 / (STIFF * np.square(np.square(scale))))
            change = DAMPED * missing / slope
            prices = np.minimum(prices + change, far / unit)
        together = _met(pairs, agreed, wanted, prices, steep, stiff)
        if step % EVERY == 0:
            inner, own = _inner(pairs, patches, duals, n)
            inner, own = STIFF * unit * steep * inner, STIFF * unit * np.square(scale) * own
            floor = _floor(pairs, costs - inner, own, far, unit * prices, k)
            # Of the weights, too, some may be lost by rounding.
            best = max(best, floor - ROUNDING * n * mean)
    return best


@dataclass(frozen=True, eq=False)
class _ListedPairs:
    """Pairs of records that are in a common patch or in a list of neighbours.

    `one` and `other` are their rows, `squares` their squared distances, and `often` is the number of
    patches with both. `place` (m, s (s - 1) / 2) has the pairs of each patch, row by row.
    """

    one: Labels
    other: Labels
    squares: Vector
    often: Labels
    place: Labels


def _patches(near: Labels) -> Labels:
    """Return the (m, s) rows of records in the middle and their neighbours; every one is covered."""
    n, count = near.shape
    rng = np.random.default_rng(0)
    covered, middle = np.zeros(n, np.intp), np.zeros(n, np.bool_)
    while True:
        # Few at a time, so that those which others cover need no patch of their own.
        left = np.flatnonzero((covered < COVER) & ~middle)
        if not len(left):
            break
        chosen = left[rng.random(len(left)) < max(0.5 / (count + 1), 1.0 / len(left))]
        middle[chosen] = True
        covered += np.bincount(near[chosen].reshape(-1), minlength=n)
    rows = np.flatnonzero(middle)
    return np.sort(np.column_stack((rows, near[rows])), axis=1)


def _listed(x: Matrix, near: Labels, patches: Labels) -> _ListedPairs:
    """Return all pairs of records of a patch, and of a record and its neighbours, each once."""
    n, count = near.shape
    first, second = np.triu_indices(patches.shape[1], 1)
    rows, others = np.repeat(np.arange(n), count), near.reshape(-1)
    of_patches = (patches[:, first] * n + patches[:, second]).reshape(-1)
    of_lists = np.minimum(rows, others) * n + np.maximum(rows, others)
    keys = np.unique(np.concatenate((of_patches, of_lists)))
    place = np.searchsorted(keys, of_patches)
    one, other = keys // n, keys % n
    squares: Vector = np.zeros(len(keys))
    for column in x.T:
        squares += np.square(column[one] - column[other])
    often = np.bincount(place, minlength=len(keys))
    return _ListedPairs(one, other, squares, often, place.reshape(len(patches), -1))


def _by_record(pairs: _ListedPairs, values: Vector, n: int) -> Vector:
    """Return the sums of the values of the pairs that each record is in."""
    sums = np.bincount(pairs.one, values, n) + np.bincount(pairs.other, values, n)
    return sums.astype(np.float64, copy=False)


def _corrected(
    pairs: _ListedPairs, patches: Labels, scale: Vector, together: Vector, duals: Matrix
) -> Vector:
    """Return how much more pairs should be together; the duals of the patches are renewed."""
    size = patches.shape[1]
    above, own = np.triu_indices(size, 1), np.arange(size)
    sums: Vector = np.zeros(len(together))
    step = max(1, CELLS // size**2)
    for start in range(0, len(patches), step):
        part = slice(start, start + step)
        place, before = pairs.place[part], duals[part]
        copies = np.zeros_like(before)
        copies[:, above[0], above[1]] = together[place]
        copies += copies.transpose(0, 2, 1)
        copies[:, own, own] = np.square(scale)[patches[part]]
        values, vectors = np.linalg.eigh(copies - before)
        # What is below 0 becomes the dual, and twice of it, less the last one, is missing.
        vectors *= np.sqrt(np.maximum(-values, 0.0))[:, None, :]
        after = vectors @ vectors.transpose(0, 2, 1)
        more = (2.0 * after - before)[:, above[0], above[1]]
        sums += np.bincount(place.reshape(-1), more.reshape(-1), len(sums))
        duals[part] = after
    mean: Vector = sums / np.maximum(pairs.often, 1)
    return mean


def _met(
    pairs: _ListedPairs,
    agreed: Vector,
    wanted: Vector,
    prices: Vector,
    steep: Vector,
    stiff: Vector,
) -> Vector:
    """Return how much pairs are together at these prices, never less than nothing."""
    paid = 0.5 * (prices[pairs.one] + prices[pairs.other]) / steep
    met: Vector = np.maximum(agreed - (wanted - paid) / stiff, 0.0)
    return met


def _inner(pairs: _ListedPairs, patches: Labels, duals: Matrix, n: int) -> tuple[Vector, Vector]:
    """Return the sum of the duals of all patches, of each pair and of each record."""
    size = patches.shape[1]
    above, own = np.triu_indices(size, 1), np.arange(size)
    sums: Vector = np.zeros(len(pairs.one))
    step = max(1, CELLS // size**2)
    for start in range(0, len(patches), step):
        part = slice(start, start + step)
        cells = duals[part][:, above[0], above[1]]
        sums += np.bincount(pairs.place[part].reshape(-1), cells.reshape(-1), len(sums))
    diagonal = np.bincount(patches.reshape(-1), duals[:, own, own].reshape(-1), n)
    return sums, diagonal.astype(np.float64, copy=False)


def _floor(
    pairs: _ListedPairs, costs: Vector, own: Vector, far: Vector, prices: Vector, k: int
) -> float:
    """Return a floor of any grouping from any positive semidefinite matrix and any prices.

    `costs` and `own` are what is left of the costs of pairs and records, without that matrix.
    """
    # A sum of matrices Y Y' of patches is such a matrix M, with 0 where no patch has both records.
    # By `_floor` of `semidefinite_bound`, the least that rows of C - M, with half the difference of
    # two prices for each pair listed, cost for the record itself and k - 1 others, add up to a
    # floor. All other pairs have no M, and a difference of their own that is fixed: with it they
    # cost at least `far` each.
    n = len(own)
    half = 0.5 * (prices[pairs.one] - prices[pairs.other])
    rows = np.concatenate((pairs.one, pairs.other))
    paid = np.minimum(np.concatenate((costs + half, costs - half)), far[rows])
    order = np.lexsort((paid, rows))
    rows, paid = rows[order], paid[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, np.arange(n))[rows]
    least = np.bincount(rows[rank < k - 1], paid[rank < k - 1], n) - own
    # A product is right up to s roundings of the lengths of two rows, a sum of them up to as many
    # more as it has; over a group that is at most k times that of their squares. Those and all
    # other sums are well within this:
    lost = ROUNDING * (np.abs(least) + np.abs(prices) + own).sum()
    added = np.bincount(pairs.one, pairs.often, n) + pairs.place.shape[1]
    lost += 4.0 * k * float(added.max()) * np.finfo(np.float64).eps * own.sum()
    total = float(least.sum() - lost)
    return total if np.isfinite(total) else 0.0
