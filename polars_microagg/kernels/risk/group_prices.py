"""Prices of records that no group of k exceeds: a floor of any grouping, for k of 2 to 5."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.risk.all_squares import all_squares
from polars_microagg.kernels.risk.lower_bound import ROUNDING

__all__ = ["group_price_bound"]

NEAR = {2: 12, 3: 8, 4: 6, 5: 6}
"""Of so many neighbours of a record all groups are listed at first, for each k."""

LEAST = 1e-6
"""Prices are found to this share of the greatest sum in the end."""

ROUGH = 3e-3
"""Share to which equations that are not solved as a whole are solved."""

DENSE = 1500
"""Up to this many records equations are solved as a whole."""

TURNS = 300
"""Steps of conjugate gradients, at most."""

CHUNK = 1_000_000
"""So many sums are held at once."""

SOME = 10
"""At first at most so many sets for each record are looked at, with each number of records,"""

QUICK = 50_000_000
"""and at most this many pairs of a set and a record."""

LARGEST = 10
"""So many times as many groups of k are held."""

WORK = 100_000_000
"""At last, at most this many pairs of a set and a record; if that is not all, nothing is proven."""

NEW = 4
"""At most this many groups for each record are listed in a round."""


def group_price_bound(x: Matrix, k: int, labels: Labels, rounds: int) -> float:
    """Return a floor of the sum of squares of any grouping of (n, d) records; k is at most 5.

    `labels` are groups of at least k records each. Memory is n x n.

    >>> x = np.array([[0.0], [1.0], [1.5], [9.0], [9.5]])
    >>> round(group_price_bound(x, 2, np.array([0, 0, 0, 1, 1]), 9), 3)
    1.0
    """
    # Give every record a price, and let no group S of exactly k records be cheaper than the sum
    # u(S) of its prices. Then no larger group is, either: the mean of SSE(S) over the subsets S of
    # k of a group G of m is (k - 1) / (m - 1) SSE(G), and that of u(S) is k / m u(G). So SSE(G) is
    # at least k (m - 1) / (m (k - 1)) u(G), where the factor is at least 1; and it is at least 0 if
    # u(G) is below. Summed over its groups, no grouping costs less than all prices.
    n, k = len(x), int(k)
    squares = all_squares(x)
    scale = float(squares.mean())
    if not scale:
        return 0.0
    squares /= scale
    groups, best, gap = _listed(squares, k, labels), 0.0, 0.03
    least = LEAST if n <= DENSE else ROUGH
    some = min(SOME * n, QUICK // n)
    most = max(some, WORK // n)
    for _ in range(rounds):
        costs = _squares_within(squares, groups)
        prices = _interior_point(groups, costs, n, gap)
        cheap, excess, complete = _cheaper(squares, prices, k, some)
        joined = _joined(groups, _worst(cheap, excess, n), n)
        # While prices are far off many sets are to be looked at, most of them in vain.
        if not complete and len(joined) - len(groups) <= n // 10:
            cheap, excess, complete = _cheaper(squares, prices, k, most)
            joined = _joined(groups, _worst(cheap, excess, n), n)
        if complete:
            best = max(best, _less(prices, cheap, excess, k))
        if len(joined) == len(groups) and gap == least:
            break
        groups, gap = joined, max(least, 0.3 * gap)
    return best * scale


def _less(prices: Vector, cheap: Labels, excess: Vector, k: int) -> float:
    """Return the sum of prices, less what makes all groups as dear as theirs."""
    # Where a group G costs less than its prices, each of its k records pays a k-th of the worst
    # that it is in. So much at least is taken off u(G).
    paid = np.zeros(len(prices))
    for column in cheap.T:
        np.minimum.at(paid, column, excess)
    return float((prices + paid / k).sum() - ROUNDING * np.abs(prices).sum())


def _listed(squares: Matrix, k: int, labels: Labels) -> Labels:
    """Return all groups of k among the nearest neighbours of a record, and within a grouping."""
    n = len(squares)
    count = min(NEAR[k], n - 1)
    masked = squares.copy()
    np.fill_diagonal(masked, np.inf)
    near = np.argpartition(masked, count - 1, axis=1)[:, :count]
    own = np.arange(n)[:, None]
    lists = [np.hstack((own, near[:, list(some)])) for some in combinations(range(count), k - 1)]
    # Groups of k within a grouping can share its records among them, so prices are bounded.
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=labels[order][0] - 1))
    for members in np.split(order, starts[1:]):
        size = len(members)
        for turn in range(size):
            lists.append(members[(turn + np.arange(k)) % size][None])
    return _joined(lists[0], np.concatenate(lists), n)


def _joined(groups: Labels, more: Labels, n: int) -> Labels:
    """Return all groups of two lists, each once."""
    both = np.sort(np.concatenate((groups, more)), axis=1)
    return both[_first(both, n)]


def _first(groups: Labels, n: int) -> Labels:
    """Return the places of different groups; up to 6,000 records, five fit into a whole number."""
    keys = np.zeros(len(groups), np.int64)
    for column in groups.T:
        keys = keys * n + column
    first: Labels = np.unique(keys, return_index=True)[1]
    return first


def _squares_within(squares: Matrix, groups: Labels) -> Vector:
    """Return the sum of squares of each group, from all its distances."""
    k = groups.shape[1]
    total: Vector = np.zeros(len(groups))
    for a, b in combinations(range(k), 2):
        total += squares[groups[:, a], groups[:, b]]
    sums: Vector = total / k
    return sums


def _interior_point(groups: Labels, costs: Vector, n: int, gap: float) -> Vector:
    """Return prices of the greatest sum, up to a share, none of the groups being cheaper.

    An interior-point method for linear programmes (S. J. Wright, 1997, Primal-Dual Interior-Point
    Methods, chapter 6), with x the share of each group in a cover and s what it costs above its
    prices.
    """
    k = groups.shape[1]

    def by_record(values: Vector) -> Vector:
        sums = np.bincount(groups.reshape(-1), np.repeat(values, k), n)
        return sums.astype(np.float64, copy=False)

    often = np.bincount(groups.reshape(-1), minlength=n)
    x = (1.0 / often)[groups].mean(axis=1)
    s: Vector = np.maximum(costs, costs.mean())
    u: Vector = np.zeros(n)
    for _ in range(60):
        uncovered = 1.0 - by_record(x)
        above = costs - u[groups].sum(axis=1) - s
        product = float(x @ s)
        if product <= gap * float(costs @ x) and np.abs(uncovered).max() < gap:
            break
        wanted = (0.1 * product / len(x) - x * s - x * above) / s
        du = _solved(groups, x / s, uncovered - by_record(wanted), n)
        if not np.isfinite(du).all():
            break
        ds = above - du[groups].sum(axis=1)
        dx = wanted + x / s * (above - ds)
        if not (np.isfinite(dx).all() and np.isfinite(ds).all()):
            break
        forward, back = _longest(x, dx), _longest(s, ds)
        x, s, u = x + forward * dx, s + back * ds, u + back * du
    return u


def _solved(groups: Labels, weights: Vector, right: Vector, n: int) -> Vector:
    """Return the solution for the matrix of weights that records have in common groups."""
    k = groups.shape[1]
    members = groups.reshape(-1)
    diagonal = np.bincount(members, weights=np.repeat(weights, k), minlength=n)
    if n <= DENSE:
        cells = (groups[:, :, None] * n + groups[:, None, :]).reshape(-1)
        flat = np.bincount(cells, weights=np.repeat(weights, k * k), minlength=n * n)
        matrix: Matrix = flat.reshape(n, n).astype(np.float64, copy=False)
        matrix[np.arange(n), np.arange(n)] += 1e-12 * diagonal
        try:
            return np.linalg.solve(matrix, right).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            return np.full(n, np.nan)
    # Conjugate gradients; what they leave is made up for by the next step.
    found: Vector = np.zeros(n)
    left = right
    toward = kept = left / diagonal
    product = first = float(left @ kept)
    for _ in range(TURNS):
        moved = np.bincount(
            members, weights=np.repeat(weights * toward[groups].sum(axis=1), k), minlength=n
        )
        bent = float(toward @ moved)
        if not bent > 0.0:
            break
        length = product / bent
        found = found + length * toward
        left = left - length * moved
        kept = left / diagonal
        product, before = float(left @ kept), product
        if product <= 1e-8 * first:
            break
        toward = kept + product / before * toward
    return found


def _longest(values: Vector, change: Vector) -> float:
    """Return most of the step that keeps all values positive."""
    falling = change < 0.0
    return float(min(1.0, 0.95 * np.min(-values[falling] / change[falling], initial=np.inf)))


def _cheaper(squares: Matrix, prices: Vector, k: int, most: int) -> tuple[Labels, Vector, bool]:
    """Return groups of k that cost less than their prices, how much less, and whether all."""
    n, complete = len(prices), True
    step = max(1, CHUNK // n)
    # Shared out among the pairs of a group, its cost above its prices is a sum of weights of pairs.
    weights = squares / k - (prices[:, None] + prices) / (k - 1)
    np.fill_diagonal(weights, np.inf)
    rounded = 1e-12 * float(np.abs(prices).max())
    sets = np.argwhere(np.triu(weights < 0.0))
    totals = weights[sets[:, 0], sets[:, 1]]
    for size in range(3, k + 1):
        sets, totals, whole = _lowest(sets, totals, prices, most)
        complete &= whole
        # Groups of k are not grown further, so many more of them may be held.
        held = most if size < k else LARGEST * most
        grown = np.zeros((0, size), np.intp)
        sums = np.zeros(0)
        for start in range(0, len(sets), step):
            part = sets[start : start + step]
            star = weights[part[:, 0]]
            for column in part.T[1:]:
                star += weights[column]
            total = totals[start : start + step, None] + star
            # If the weights of a set of m add up to less than 0, so do those without the record
            # whose own weights are largest: these are at least the mean, 2 / m of all. So every
            # wanted group grows from a pair by records that add at least the mean each time, and
            # through sets that are all below 0. Rounding must not hide one whose own are all equal.
            rows, others = np.nonzero((total < 0.0) & (star >= 2.0 / size * total - rounded))
            more = np.sort(np.column_stack((part[rows], others)), axis=1)
            # A set may come from each of the others in it, so as many times more are kept.
            more, sum_of_more, whole = _lowest(more, total[rows, others], prices, size * held)
            complete &= whole
            grown = np.concatenate((grown, more))
            sums = np.concatenate((sums, sum_of_more))
            if len(sums) > 2 * held or start + step >= len(sets):
                first = _first(grown, n)
                grown, sums, whole = _lowest(grown[first], sums[first], prices, held)
                complete &= whole
        sets, totals = grown, sums
    return sets, totals, complete


def _lowest(sets: Labels, totals: Vector, prices: Vector, most: int) -> tuple[Labels, Vector, bool]:
    """Return the sets that are most below their prices, at most so many, and whether all."""
    if len(sets) <= most:
        return sets, totals, True
    share = totals / np.abs(prices)[sets].sum(axis=1)
    kept = np.argpartition(share, most)[:most]
    return sets[kept], totals[kept], False


def _worst(groups: Labels, excess: Vector, n: int) -> Labels:
    """Return the cheapest groups of each record, some for each."""
    kept = []
    for column in groups.T:
        order = np.lexsort((excess, column))
        first = np.searchsorted(column[order], np.arange(n))
        rank = np.arange(len(order)) - first[column[order]]
        kept.append(order[rank < NEW])
    chosen: Labels = groups[np.unique(np.concatenate(kept))]
    return chosen
