"""A floor from who shares a group with whom, as a positive semidefinite matrix."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.risk.all_squares import all_squares
from polars_microagg.kernels.risk.lower_bound import ROUNDING

__all__ = ["semidefinite_bound"]

EVERY = 10
"""After so many steps the floor is worked out, and the penalty adjusted."""

FAR = 10.0
"""Pairs cost at most so many times what records nearby do: farther ones are never together."""

SMALLEST = 1.0
"""Scales of records are at least this share of their mean."""

PENALTY = 0.05
"""Weight of the constraints on who is together, at first."""

LONGER = 1.6
"""Steps of the multipliers are longer by this factor."""

BALANCE = 0.1
"""Factor by which the cover by groups has to agree less than the prices do."""


def semidefinite_bound(x: Matrix, k: int, labels: Labels, steps: int) -> float:
    """Return a floor of the sum of squares of any grouping of (n, d) records.

    `labels` are groups of at least k records each, to begin with. Memory is n x n, and every step
    takes the eigenvalues of such a matrix; there are `steps` or a few more.

    >>> x = np.array([[0.0], [1.0], [1.5], [9.0], [9.5], [9.7]])
    >>> 1.0 < semidefinite_bound(x, 3, np.array([0, 0, 0, 1, 1, 1]), 50) < 1.43
    True
    """
    # For groups of exactly k, let X be 1 where two records share a group and else 0. It costs the
    # sum of C X with C = d / 2k, its rows sum to k, and it is positive semidefinite. J. Peng and
    # Y. Wei, 2007, SIAM Journal on Optimization 18, 186-205, relax clustering so. Its dual is
    # solved by alternating directions: Z. Wen, D. Goldfarb and W. Yin, 2010, Mathematical
    # Programming Computation 2, 203-230. How near that comes matters not: see `_floor`.
    n, squares = len(x), all_squares(x)
    np.fill_diagonal(squares, np.inf)
    nearby = np.partition(squares, k - 2, axis=1)[:, : k - 1].sum(axis=1) / (2 * k)
    np.fill_diagonal(squares, 0.0)
    if not nearby.any():
        return 0.0
    nearby = np.maximum(nearby, SMALLEST * nearby.mean())
    # Less costs make a lower floor, and here hardly so, but fewer steps.
    costs = np.minimum(squares / (2 * k), FAR / (k - 1) * (nearby[:, None] + nearby))
    np.fill_diagonal(costs, 0.0)
    # Records cost very different amounts: with X scaled by those, one penalty suits all.
    scale = np.sqrt(nearby / nearby.mean())
    unit = float(nearby.mean()) / (k - 1)
    steep = 1.0 / (scale[:, None] * scale)
    wanted = costs * steep / unit
    squeeze = 1.0 / np.square(scale)
    rest = squeeze.sum() - 2.0 * squeeze
    if not (rest > 0.0).all():
        return 0.0
    together, own = _together(labels, k) / steep, np.arange(n)
    positive, penalty, best = np.zeros((n, n)), PENALTY, 0.0
    slack: Matrix = np.zeros((n, n))
    # Up to the next floor, so that more steps never find a lower one.
    for step in range(1, -(-steps // EVERY) * EVERY + 1):
        # Prices of records: rows of X are to sum to k, with 1 on the diagonal.
        gap = positive + slack - wanted + together / penalty
        rows = (gap * steep).sum(axis=1) - squeeze * gap[own, own]
        right = 2.0 * ((k - 1) / penalty - rows) / squeeze
        shared = (squeeze * right / rest).sum() / (1.0 + (squeeze / rest).sum())
        prices = (right - shared) / rest
        paid = 0.5 * (prices[:, None] + prices) * steep
        paid[own, own] = 1.0 / (penalty * squeeze) - gap[own, own]
        # What is left of the costs is split into one that is never below 0, and one that is
        # positive semidefinite.
        left = wanted - paid - together / penalty
        slack = np.maximum(left - positive, 0.0)
        slack[own, own] = 0.0
        left -= slack
        try:
            values, vectors = np.linalg.eigh(left)
        except np.linalg.LinAlgError:
            break
        factor = vectors[:, values > 0.0] * np.sqrt(values[values > 0.0])
        positive = factor @ factor.T
        found = penalty * (positive - left)
        together += LONGER * (found - together)
        if step % EVERY == 0:
            best = max(best, _floor(costs, unit, factor * scale[:, None], unit * prices, k))
            uneven = np.abs((found * steep).sum(axis=1) - k).mean() / k
            uneven += np.linalg.norm(np.minimum(found, 0.0)) / np.linalg.norm(found)
            apart = np.linalg.norm(paid + slack + positive - wanted)
            apart /= 1.0 + np.linalg.norm(positive)
            if 2.0 * uneven * BALANCE < apart:
                penalty *= 1.3
            elif 2.0 * apart < uneven * BALANCE:
                penalty /= 1.3
    return best


def _together(labels: Labels, k: int) -> Matrix:
    """Return how much records are together, on average over the parts of k of every group."""
    same = (labels[:, None] == labels).astype(np.float64)
    sizes = same.sum(axis=1)
    together: Matrix = same * ((k - 1) / np.maximum(sizes - 1, 1))[:, None]
    np.fill_diagonal(together, 1.0)
    return together


def _floor(costs: Matrix, unit: float, factor: Matrix, prices: Vector, k: int) -> float:
    """Return a floor of any grouping from any real factor Y and any prices."""
    # With M = Y Y', a group S of k has SSE(S) = sum of C over S x S, which is at least that of
    # C - M, as the sum of M over S x S is the square of the length of a sum of rows of Y. Half the
    # difference of two prices, added to one direction of a pair and taken from the other, changes
    # no sum over S x S. So what record i pays at least in its row, for itself and the k - 1
    # cheapest others, are prices that add up to at most SSE(S), and as in `group_price_bound`
    # their sum is a floor of groups of k and more.
    inner = unit * (factor @ factor.T)
    own = np.diagonal(inner).copy()
    rows = costs - inner + 0.5 * (prices[:, None] - prices)
    np.fill_diagonal(rows, np.inf)
    rows.partition(k - 2, axis=1)
    least = rows[:, : k - 1].sum(axis=1) - own
    # The product is right up to n roundings of the lengths of two rows, whose sum over a group is
    # at most k times that of their squares. Those and all other sums are well within this:
    lost = ROUNDING * (np.abs(least) + np.abs(prices) + own).sum()
    lost += 4.0 * k * len(costs) * np.finfo(np.float64).eps * own.sum()
    total = float(least.sum() - lost)
    return total if np.isfinite(total) else 0.0
