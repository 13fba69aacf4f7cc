"""Ways to cut records in two, and which of them loses least."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.core.registry import methods
from polars_microagg.kernels.local.local_search import squares_within
from polars_microagg.kernels.local.worst_groups import improved_strata
from polars_microagg.leaves.merge import merge_small
from polars_microagg.leaves.strata import squared_distances
from polars_microagg.leaves.tree import Cut, Tree, grow_tree
from polars_microagg.progress import progress

__all__ = ["CUTS", "TRIED", "best_of", "loss_of", "tree_of_cuts", "with_distance", "with_far"]

TAIL = 0.05
"""Share of the records, the farthest from the centre, that "tail" cuts off first."""

LEAST = 0.25
"""Share of a capacity that "gain" leaves on either side of a cut."""


def with_distance(x: Matrix, centre: Vector, weights: Vector) -> Matrix:
    """Return the (n, p) matrix with the squared distance from the centre as a last column.

    >>> with_distance(np.array([[1.0, 5.0]]), np.array([3.0, 4.0]), np.array([1.0, 2.0]))
    array([[1., 5., 8.]])
    """
    return np.column_stack([x, squared_distances(x, centre[None, :], weights[None, :])])


def _between(values: Vector, at: int) -> float | None:
    """Return the threshold nearest to a position among sorted values, None in a constant column."""
    if 0 < at < len(values):
        low, high = np.partition(values, (at - 1, at))[at - 1 : at + 1]
        # Mostly two values differ there, and nothing else needs sorting.
        if low != high:
            return _midway(low, high)
    ranked = np.sort(values)
    changes = np.flatnonzero(ranked[1:] != ranked[:-1])
    if not changes.size:
        return None
    last = changes[np.abs(changes + 1 - at).argmin()]
    return _midway(ranked[last], ranked[last + 1])


def _midway(low: float, high: float) -> float:
    """Return a threshold between two values; the lower one only if there is nothing in between."""
    middle = float(low / 2.0 + high / 2.0)
    return middle if low <= middle < high else float(low)


def _median(weights: Vector) -> Cut:
    """Return the cut in the middle of the column where records spread most."""

    def cut(x: Matrix) -> tuple[int, float] | None:
        # As in a k-d tree: to halve where records spread most keeps leaves compact, and few
        # neighbours are parted.
        spread = (x[:, : len(weights)] * weights).var(axis=0)
        for j in np.argsort(-spread, kind="stable").tolist():
            threshold = _between(x[:, j], len(x) // 2)
            if threshold is not None:
                return j, threshold
        return None

    return cut


def _gain(weights: Vector, capacity: float, classes: Labels | tuple[()]) -> Cut:
    """Return the cut where the sum of squares about the two means is lowest.

    `classes` are columns of two values, one of them 0.
    """
    middle = _median(weights)
    sided = np.isin(np.arange(len(weights)), classes)

    def cut(x: Matrix) -> tuple[int, float] | None:
        n = len(x)
        least = max(1, min(int(LEAST * capacity), n // 2))
        best, chosen = 0.0, None
        scaled = x[:, : len(weights)] * weights
        scaled = scaled - scaled.mean(axis=0)
        low = np.arange(least, n - least + 1)
        for j in np.flatnonzero(sided).tolist():
            within = x[:, j] > 0
            m = int(within.sum())
            if least <= m <= n - least:
                total = scaled[within if 2 * m <= n else ~within].sum(axis=0)
                gained = float(np.square(total).sum()) * (n / (m * (n - m)))
                if gained > best:
                    best, chosen = gained, (j, _midway(0.0, x[within, j][0]))
        for j in np.flatnonzero(~sided).tolist():
            order = np.argsort(x[:, j], kind="stable")
            ranked = x[order, j]
            sums = np.cumsum(scaled.take(order, axis=0), axis=0)[least - 1 : n - least]
            # With s the sum of the lower m of n records about their mean, the sum of squares falls
            # by |s|^2 n / (m (n - m)): what is between the two means. So the greatest gain is the
            # lowest sum within.
            gains = np.square(sums).sum(axis=1) * (n / (low * (n - low)))
            # No threshold parts equal values.
            gains[ranked[low - 1] == ranked[np.minimum(low, n - 1)]] = 0.0
            at = int(gains.argmax())
            if gains[at] > best:
                best = float(gains[at])
                chosen = j, _midway(ranked[low[at] - 1], ranked[low[at]])
        return chosen or middle(x)

    return cut


def _farthest(count: int) -> Cut:
    """Return the cut that parts about so many records, the farthest, from all others."""

    def cut(x: Matrix) -> tuple[int, float] | None:
        threshold = _between(x[:, -1], len(x) - count)
        if threshold is None or not np.isfinite(threshold):
            return None
        return x.shape[1] - 1, threshold

    return cut


CUTS = ("median", "gain", "tail+median", "tail+gain", "far+median", "far+gain")
"""In the middle, where most is gained, and each after the farthest records were cut off, or those and then
one leaf of the farthest of them."""

TRIED = CUTS[:4]
"""Kinds that are compared on a trial, in which the farthest records are one leaf."""

NEARLY = 1.005
"""A tail is cut off although a trial loses up to so many times as much. Where a few records far out cost
nearly all, a trial of few leaves loses as much either way, but a table of many leaves would part them."""


def tree_of_cuts(
    values: Matrix, weights: Vector, capacity: float, how: str, classes: Labels | tuple[()] = ()
) -> Tree:
    """Return a tree grown by one kind of cut; `values` have the distance as their last column.

    `classes` are columns that say who is in a class.
    """
    first, _, then = how.rpartition("+")
    cut = _gain(weights, capacity, classes) if then == "gain" else _median(weights)
    count = _tail_of(values)
    outer = [_farthest(count)] if first else []
    if first == "far" and count > capacity:
        outer.append(_farthest(int(capacity)))
        if count < 2 * capacity:
            # What is left of such a tail would be a leaf of few records.
            del outer[0]
    return grow_tree(values, capacity, cut, outer)


def _tail_of(values: Matrix) -> int:
    """Return how many records are the tail."""
    return len(values) - round((1.0 - TAIL) * len(values))


def best_of(losses: Mapping[str, float], *, whole: bool) -> str:
    """Return the kind of cut that loses least; on a part of a table, one with a tail for hardly more.

    >>> best_of({"median": 1.0, "tail+median": 1.004, "tail+gain": 1.003}, whole=False)
    'tail+gain'
    """
    more = 1.0 if whole else NEARLY
    bounds = {how: loss / (more if "+" in how else 1.0) for how, loss in losses.items()}
    return min(bounds, key=bounds.__getitem__)


def with_far(
    values: Matrix, weights: Vector, capacity: float, how: str, k: int, classes: Labels
) -> str:
    """Return a kind of cut, or the same with a leaf of the farthest if it loses less in the tail.

    Few records far beyond all others cost most where several leaves share them, as in each some are left
    that form groups with ordinary ones.
    """
    apart = _farthest(_tail_of(values))(values) if how.startswith("tail") else None
    tail = values[:0] if apart is None else values[values[:, -1] > apart[1]]
    if len(tail) <= max(capacity, 2 * k):
        return how
    cut = _gain(weights, capacity, classes) if how.endswith("gain") else _median(weights)
    parted, together = (
        loss_of(grow_tree(tail, capacity, cut, outer), tail, weights, k, searched=True)
        for outer in ((), (_farthest(int(capacity)),))
    )
    return how.replace("tail", "far") if together < parted else how


def loss_of(
    tree: Tree, values: Matrix, weights: Vector, k: int, *, searched: bool = False
) -> float:
    """Return the loss of MDAV within the leaves of a tree, in per cent of the sum of squares.

    With `searched` it is that after the search at their borders.
    """
    if not len(weights):
        return 0.0
    leaf = tree.assign(values)
    for small, target in merge_small(tree, np.bincount(leaf, minlength=len(tree)), k).items():
        leaf[leaf == small] = target
    x = np.asfortranarray(values[:, : len(weights)] * weights)
    x -= x.mean(axis=0)
    labels = np.empty(len(x), dtype=np.intp)
    groups, mdav = 0, methods()["mdav"]
    for rows in np.split(np.argsort(leaf, kind="stable"), np.cumsum(np.bincount(leaf))[:-1]):
        if rows.size:
            with progress(None):
                own = mdav.function(np.asfortranarray(x[rows]), k=k).labels
            labels[rows] = own + groups
            groups += int(own.max()) + 1
    if searched:
        order = np.argsort(leaf, kind="stable")
        sizes = np.bincount(leaf)
        labels[order], _ = improved_strata(x[order], labels[order], sizes[sizes > 0], k)
    total = float(np.square(x).sum())
    return 100.0 * float(squares_within(x, labels).sum()) / total if total else 0.0
