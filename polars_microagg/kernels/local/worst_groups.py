"""A quick search: the worst groups are dealt out, and new ones made where records are spare."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Partition, Vector
from polars_microagg.kernels.local.dissolve_split import (
    dissolve_groups,
    split_groups,
)
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.moves_and_swaps import move_records, squares_of
from polars_microagg.kernels.local.near_groups import near_groups
from polars_microagg.kernels.local.patches import Map

__all__ = ["improved_strata"]

WORST = 0.25
"""Share of the groups that are dealt out."""

NEAR = 3
"""Groups near a record, its own among them."""

ROUNDS = 7
"""Rounds of moves, each of records that do not get in each other's way."""

LARGEST = 200
"""With larger k all stay as they are: memory grows with it."""

FEW = 256
"""Strata of up to this many records stay as they are: each search costs as much in calls."""


def improved_strata(
    x: Matrix, labels: Labels, sizes: Labels, k: int, *, each: Map = map
) -> tuple[Labels, int]:
    """Return labels and the number of groups after a quick search in each stratum that is not small.

    `x` (n, d) holds scaled records stratum by stratum, in groups of k to 2k - 1, and so are those of the
    result. In no stratum is the sum of squares higher. `each` is a function like map, which may work on
    several strata at a time.
    """
    stops = np.cumsum(sizes)
    long = np.flatnonzero((sizes > FEW) & (k <= LARGEST)).tolist()
    parts = [slice(int(stops[i] - sizes[i]), int(stops[i])) for i in long]
    jobs = ((np.ascontiguousarray(x[part]), labels[part], k) for part in parts)
    # Groups that stay keep their numbers; those that were searched get numbers above, stratum by stratum.
    result, made = labels.copy(), int(labels.max(initial=-1)) + 1
    for part, found in zip(parts, each(_dealt_out, jobs), strict=True):
        result[part] = found + made
        made += int(found.max()) + 1
    # Numbers that are no longer used are given up, in the order of the numbers.
    used = np.bincount(result, minlength=made) > 0
    number = np.cumsum(used) - 1
    return number.take(result), int(used.sum())


def _dealt_out(stratum: tuple[Matrix, Labels, int]) -> Labels:
    """Return the groups of one stratum after a search, or as they were if that is better."""
    x, labels, k = stratum
    labels = Partition.from_labels(labels).labels
    x = x - x.mean(axis=0)
    # Below 1, whatever the units.
    x = np.ldexp(x, -np.frexp(np.abs(x).max())[1])
    groups = Groups(x, labels, k)
    before = groups.squares()
    used = int(labels.max()) + 1
    if used < 1 / WORST:
        return labels
    found = near_groups(x, groups.centres[:used], NEAR)
    worst = _worst(groups, found, before)
    if not len(worst):
        return labels
    # A group is known to others by one of its records, whichever group that is in by then.
    near = groups.members[:used, 0][found]
    # Most cost more to deal out than they did, but leave many groups with records to spare. These
    # then move to where they cost least, and that is worth more.
    dissolve_groups(groups, near, worst, anyway=True)
    rows = np.arange(len(labels))
    for _ in range(ROUNDS):
        rows = _beside(groups, near, move_records(groups, near, rows))
    split_groups(groups, np.arange(len(groups.sizes)))
    better = groups.squares().sum() < before.sum()
    return groups.labels if better else labels


def _beside(groups: Groups, near: Labels, changed: Labels) -> Labels:
    """Return the records of some groups, and those near them: no other has anything new to gain."""
    new = np.zeros(len(groups.sizes), dtype=np.bool_)
    new[changed] = True
    found = new.take(groups.labels)
    for column in near.T:
        found |= new.take(groups.labels.take(column))
    return np.flatnonzero(found)


def _worst(groups: Groups, near: Labels, squares: Vector) -> Labels:
    """Return the groups that cost most for what their records would cost elsewhere.

    `squares` are the squared distances of the records from the centres of their groups, and `near` groups
    near them.
    """
    size = groups.sizes.take(near).astype(np.float64)
    away = groups.x[:-1, None] - groups.centres.take(near, axis=0)
    joining = squares_of(away) * (size / (size + 1.0))
    joining[near == groups.labels[:, None]] = np.inf
    now = np.bincount(groups.labels, squares)
    after = np.bincount(groups.labels, joining.min(axis=1))
    # By what a group costs alone, all would be those on the outskirts, which have nowhere to go.
    share = now / np.maximum(after, np.finfo(np.float64).tiny)
    worst = np.argsort(-share, kind="stable")[: int(WORST * len(share))]
    return np.sort(worst[share[worst] > 0])
