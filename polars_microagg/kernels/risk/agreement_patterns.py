"""Fellegi-Sunter linkage on patterns of agreement, a block of pairs at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["pattern_counts", "pattern_hits", "pattern_weights"]

PAIRS = 4_000_000
"""Pairs of records in a block."""

ROUNDS = 500
SMALLEST = 1e-9
"""Probabilities stay this far from 0 and 1."""

Patterns = npt.NDArray[np.uint32]


def _blocks(before: Matrix, after: Matrix, tolerance: float) -> Iterator[tuple[slice, Patterns]]:
    """Yield rows and their patterns with all centroids: bit j if they agree on column j."""
    n, g = len(before), len(after)
    step = max(1, PAIRS // max(g, 1))
    for start in range(0, n, step):
        rows = slice(start, min(n, start + step))
        patterns = np.zeros((rows.stop - start, g), dtype=np.uint32)
        for j in range(before.shape[1]):
            agree = np.abs(before[rows, j, None] - after[:, j]) <= tolerance
            patterns |= agree.astype(np.uint32) << np.uint32(j)
        yield rows, patterns


def pattern_counts(before: Matrix, after: Matrix, weights: Vector, tolerance: float) -> Vector:
    """Return the (2**p,) number of pairs of an original and a masked record with each pattern.

    `after` (g, p) are distinct masked records, each for as many as its weight; values agree that
    differ by no more than `tolerance`.

    >>> x = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> pattern_counts(x, x, np.ones(2), 0.1)
    array([0., 0., 2., 2.])
    """
    counts = np.zeros(2 ** before.shape[1])
    for _, patterns in _blocks(before, after, tolerance):
        spread = np.broadcast_to(weights, patterns.shape)
        counts += np.bincount(patterns.ravel(), spread.ravel(), minlength=len(counts))
    return counts


def pattern_weights(counts: Vector, n: int) -> Vector:
    """Return the (2**p,) weight of evidence of each pattern, its parameters by the EM algorithm.

    It is the sum over the columns of log(m / u) where they agree and log((1 - m) / (1 - u)) where
    not; `n` of the pairs are matches at first.
    """
    p = int(np.log2(len(counts)))
    agree = (np.arange(len(counts))[:, None] >> np.arange(p)) & 1 == 1
    # M. A. Jaro (1989), "Advances in record-linkage methodology as applied to matching the 1985
    # census of Tampa, Florida", Journal of the American Statistical Association 84, 414-420: start
    # from m = 0.9, u = 0.1.
    # Rows of `agreeing`: agreement on each column among matches, m, and among the rest, u.
    total = counts.sum()
    agreeing, share = np.repeat([[0.9], [0.1]], p, axis=1), min(n / total, 1 - SMALLEST)
    shares = agree.astype(np.float64)
    for _ in range(ROUNDS):
        # E step: the expected number of matches among the pairs of each pattern, in logarithms so
        # that no product of probabilities vanishes.
        logs = np.where(agree, np.log(agreeing)[:, None], np.log1p(-agreeing)[:, None]).sum(axis=2)
        odds = (np.log1p(-share) + logs[1]) - (np.log(share) + logs[0])
        expected = counts / (1.0 + np.exp(np.minimum(np.maximum(odds, -700), 700)))
        # M step: shares of agreement among matches, and among the rest.
        found = [
            part @ shares / max(part.sum(), SMALLEST) for part in (expected, counts - expected)
        ]
        last, past = agreeing, share
        agreeing = np.minimum(np.maximum(found, SMALLEST), 1 - SMALLEST)
        share = float(min(max(expected.sum() / total, SMALLEST), 1 - SMALLEST))
        if max(np.abs(agreeing - last).max(initial=0.0), abs(share - past)) < SMALLEST:
            break
    m, u = agreeing
    evidence: Vector = np.where(agree, np.log(m / u), np.log((1 - m) / (1 - u))).sum(axis=1)
    return evidence


def pattern_hits(
    before: Matrix,
    after: Matrix,
    weights: Vector,
    labels: Labels,
    tolerance: float,
    evidence: Vector,
) -> Vector:
    """Return the (n,) chance of each record to be linked to its own by the most evidence.

    It is 1 divided by the number of masked records with the most evidence, if the own one,
    `labels`, is among them, else 0. Weights that differ by 1e-9 or less are equal.
    """
    order = np.argsort(evidence, kind="stable")
    rank = np.empty(len(order), dtype=np.uint32)
    rank[order] = np.r_[0, np.cumsum(np.diff(evidence[order]) > SMALLEST)]
    chances = np.zeros(len(before))
    for rows, patterns in _blocks(before, after, tolerance):
        ranks = rank[patterns]
        most = ranks.max(axis=1)
        own = ranks[np.arange(len(ranks)), labels[rows]]
        tied = (ranks == most[:, None]) @ weights
        chances[rows] = np.where(own == most, 1.0 / tied, 0.0)
    return chances
