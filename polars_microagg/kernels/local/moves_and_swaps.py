"""Moves and swaps of single records between neighbouring groups, the best ones first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.local.groups import Groups, disjoint

__all__ = ["CELLS", "TOLERANCE", "move_records", "nearest_groups", "squares_of", "swap_records"]

TRIES = (1, 4, 16)
"""Exchanges of a record that are tried at a time under a rule, the best first."""

CELLS = 1 << 19
"""Values handled at a time, so that they stay in the cache."""

TOLERANCE = 1e-10
"""A gain counts if it is more than this share of the terms it is the difference of, and noise.

With r the distance of a record from a centre and u the unit roundoff, rounding is of the order of
u r |x|, which is less than the sum of r^2 and |x|^2 times factors whose product is well above u^2.
"""


def move_records(groups: Groups, near: Labels, rows: Labels) -> Labels:
    """Move records to the neighbouring group where they cost least, if that is less than now.

    No group falls below k. Returns the groups that changed.
    """
    rows = rows[groups.sizes.take(groups.labels.take(rows)) > groups.k]
    if groups.rule is not None:
        rows = rows[groups.hold(groups.labels[rows], out=rows[:, None])]
    if not len(rows):
        return rows
    step = max(1, CELLS // (near.shape[1] * groups.x.shape[1]))
    parts = [_best_moves(groups, near, rows[i : i + step]) for i in range(0, len(rows), step)]
    gains, movers, targets = (np.concatenate(column) for column in zip(*parts, strict=True))
    touched = np.stack((groups.labels[movers], targets), axis=1)
    kept = disjoint(gains, touched, len(groups.sizes))
    return groups.move(movers[kept], targets[kept]) if len(kept) else kept


def _best_moves(groups: Groups, near: Labels, rows: Labels) -> tuple[Vector, Labels, Labels]:
    """Return the gains, rows and targets of the moves that pay."""
    # To take rows is several times as fast as to index them.
    records, own = groups.x.take(rows, axis=0), groups.labels.take(rows)
    size = groups.sizes.take(own).astype(np.float64)
    leaving = squares_of(records - groups.centres.take(own, axis=0)) * (size / (size - 1.0))
    targets = groups.labels.take(near.take(rows, axis=0))
    size = groups.sizes.take(targets).astype(np.float64)
    # If x leaves a group of a records with centre p for one of b records with centre q, the sum of
    # squares changes by b/(b+1) |x-q|^2 - a/(a-1) |x-p|^2 (H. Spaeth, 1980, "Cluster Analysis
    # Algorithms").
    away = records[:, None] - groups.centres.take(targets, axis=0)
    joining = squares_of(away) * (size / (size + 1.0))
    joining[(targets == own[:, None]) | (size >= groups.most)] = np.inf
    # The gain must exceed the rounding of its terms, else two groupings could take turns for ever.
    most = leaving * (1.0 - TOLERANCE) - groups.noise.take(rows)

    def pays(at: Labels, best: Labels) -> npt.NDArray[np.bool_]:
        return np.asarray(joining[at, best] < most[at])

    def allowed(at: Labels, best: Labels) -> npt.NDArray[np.bool_]:
        return groups.hold(targets[at, best], into=rows[at, None])

    ruled = groups.rule is not None
    best = _best_allowed(joining, pays, allowed) if ruled else joining.argmin(axis=1)
    index = np.arange(len(rows))
    least = joining[index, best]
    better = least < most
    return (least - leaving)[better], rows[better], targets[index, best][better]


def swap_records(groups: Groups, near: Labels, rows: Labels) -> Labels:
    """Swap records with members of neighbouring groups where that lowers the sum of squares.

    No size changes. Returns the groups that changed.
    """
    targets = _targets(groups.k)
    width = targets * groups.widest + near.shape[1]
    step = max(1, CELLS // (width * groups.x.shape[1]))
    parts = [
        _best_swaps(groups, near, rows[i : i + step], targets) for i in range(0, len(rows), step)
    ]
    gains, movers, others = (np.concatenate(column) for column in zip(*parts, strict=True))
    touched = np.stack((groups.labels[movers], groups.labels[others]), axis=1)
    kept = disjoint(gains, touched, len(groups.sizes))
    return groups.swap(movers[kept], others[kept]) if len(kept) else kept


def _targets(k: int) -> int:
    """Return how many groups to try for a swap: with large groups, fewer of them."""
    return min(6, max(2, 60 // k))


def _best_swaps(
    groups: Groups, near: Labels, rows: Labels, targets: int
) -> tuple[Vector, Labels, Labels]:
    """Return the gains and both rows of the swaps that pay."""
    own = groups.labels.take(rows)
    records, centres = groups.x.take(rows, axis=0), groups.centres.take(own, axis=0)
    others = nearest_groups(groups, near, rows, targets)
    sizes = groups.sizes.take(others)
    partners = groups.members.take(others, axis=0)[:, :, : int(sizes.max())]
    steps = groups.x.take(partners, axis=0)
    steps -= records[:, None, None]
    between = groups.centres.take(others, axis=0)
    between -= centres[:, None]
    shares = 1.0 / groups.sizes.take(own)[:, None] + 1.0 / sizes
    # If x in a group of a records with centre p is swapped for z in one of b records with centre q,
    # the sum of squares changes by 2 (q-p).(z-x) - (1/a + 1/b) |z-x|^2. Only the groups with the
    # nearest centres are tried, but every member of them.
    along = 2.0 * np.einsum("pgmd,pgd->pgm", steps, between)
    saved = squares_of(steps) * shares[:, :, None]
    gains = along - saved
    # Neither a row that stands in for absent members nor the record's own group counts.
    gains[(partners == len(groups)) | (others == own[:, None])[:, :, None]] = np.inf
    gains, terms = gains.reshape(len(rows), -1), saved.reshape(len(rows), -1)
    records_there = partners.reshape(len(rows), -1)

    def pays(at: Labels, best: Labels) -> npt.NDArray[np.bool_]:
        noise = groups.noise[rows[at]] + groups.noise[records_there[at, best]]
        return np.asarray(gains[at, best] < -TOLERANCE * terms[at, best] - noise)

    def allowed(at: Labels, best: Labels) -> npt.NDArray[np.bool_]:
        here, there = rows[at, None], records_there[at, best][:, None]
        held = groups.hold(own[at], out=here, into=there)
        held[held] = groups.hold(groups.labels[there[held, 0]], out=there[held], into=here[held])
        return held

    ruled = groups.rule is not None
    best = _best_allowed(gains, pays, allowed) if ruled else gains.argmin(axis=1)
    index = np.arange(len(rows))
    better = pays(index, best)
    return gains[index, best][better], rows[better], records_there[index, best][better]


def _best_allowed(
    cost: Matrix,
    pays: Callable[[Labels, Labels], npt.NDArray[np.bool_]],
    allowed: Callable[[Labels, Labels], npt.NDArray[np.bool_]],
) -> Labels:
    """Return the exchange of each row that costs least of those that are allowed.

    `cost` (p, m) has the exchanges of each row, and those that are not allowed become infinite;
    `pays` and `allowed` are asked about one of some rows. What is returned may not pay. A row of which
    all that are tried are not allowed has none, and only infinite costs.
    """
    left = np.arange(len(cost))
    chosen = np.zeros(len(cost), dtype=np.intp)
    for count in TRIES:
        # Several at a time, as most of the time goes into asking, however little is asked.
        few = min(count, cost.shape[1])
        best = np.argpartition(cost[left], few - 1, axis=1)[:, :few]
        best = np.take_along_axis(best, np.argsort(cost[left[:, None], best], axis=1), axis=1)
        at = np.repeat(left, few)
        ask = pays(at, best.ravel())
        held = np.ones(len(at), dtype=np.bool_)
        held[ask] = allowed(at[ask], best.ravel()[ask])
        # All before the first that is allowed, or does not pay, are struck out. That first one is
        # returned, as there may be another of the same cost that nobody has asked about.
        before = np.cumsum(held.reshape(best.shape), axis=1) == 0
        cost[np.repeat(left, few)[before.ravel()], best[before]] = np.inf
        found = ~before.all(axis=1)
        chosen[left[found]] = best[found, before[found].sum(axis=1)]
        left = left[~found]
        if not len(left):
            return chosen
    cost[left] = np.inf
    return chosen


def nearest_groups(groups: Groups, near: Labels, rows: Labels, count: int) -> Labels:
    """Return the (p, min(count, c)) groups of neighbours with the nearest centres.

    They are in order of distance unless all c are wanted; a record's own group stands in where
    there are few.
    """
    neighbour_groups = groups.labels.take(near.take(rows, axis=0))
    away = groups.centres.take(neighbour_groups, axis=0)
    away -= groups.x.take(rows, axis=0)[:, None]
    distances = squares_of(away)
    # A group that several neighbours share is kept once, for the nearest of them.
    for j in range(1, neighbour_groups.shape[1]):
        distances[(neighbour_groups[:, :j] == neighbour_groups[:, j : j + 1]).any(axis=1), j] = (
            np.inf
        )
    distances[neighbour_groups == groups.labels[rows][:, None]] = np.inf
    if count >= neighbour_groups.shape[1]:
        return neighbour_groups
    # Sorted, so that of equally near groups the one of the nearer record comes first.
    best = np.argsort(distances, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(neighbour_groups, best, axis=1)


def squares_of(differences: Matrix) -> Matrix:
    """Return the squared lengths of vectors of shape (..., d)."""
    squares: Matrix = np.einsum("...d,...d->...", differences, differences)
    return squares
