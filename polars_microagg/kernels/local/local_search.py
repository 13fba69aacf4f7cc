"""Local search: exchanges of records and groups, until none lowers the sum of squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import GroupRule, Labels, Matrix, Members, Partition, Vector
from polars_microagg.kernels.local.dissolve_split import (
    create_groups,
    dissolve_groups,
    split_groups,
)
from polars_microagg.kernels.local.ejection_chains import EjectionCosts, eject_records
from polars_microagg.kernels.local.groups import Groups, largest_searched
from polars_microagg.kernels.local.moves_and_swaps import move_records, swap_records
from polars_microagg.kernels.local.patches import Map, Work, in_patches
from polars_microagg.kernels.local.recut_pairs import recut_pairs
from polars_microagg.kernels.neighbour_lists import neighbour_lists
from polars_microagg.kernels.order.runs import optimal_runs

__all__ = [
    "NEAR",
    "WHOLE",
    "about_zero",
    "cut_large_groups",
    "exchange",
    "improve",
    "neighbour_count",
    "refined",
    "squares_within",
    "unheard",
]

WHOLE = 20_000
"""Strata up to this size are searched whole, larger ones in patches of neighbours."""

NEAR = 12
"""Neighbours whose groups a single record may go to."""

LARGEST = 200
"""With larger k only any number of records at a time are exchanged, between two groups: the time of a single
exchange grows with it."""

SHARES = 64
"""Parts in which several processes search small strata."""

PASSES = 1000
"""Bound on the rounds, which rounding could make endless."""


def unheard(share: float) -> None:
    """Report the share of some work that is done to nobody."""


def neighbour_count(k: int) -> int:
    """Return how many neighbours to know for a smallest group size."""
    return min(max(16, 2 * k + 4), 64)


def refined(
    x: Matrix,
    labels: Labels,
    sizes: Labels,
    k: int,
    rule: GroupRule | None = None,
    *,
    quick: bool = False,
    each: Map = map,
    tick: Callable[[float], object] = unheard,
    near: Labels | None = None,
) -> tuple[Labels, int]:
    """Return labels and the number of groups after a local search in each stratum.

    `x` (n, d) holds scaled records stratum by stratum, in groups of at least k that satisfy the rule.
    So do those of the result; without a rule they have k to 2k - 1 records. In no stratum is the sum
    of squares higher. With `quick` large strata are searched without chains, and once. `each` is a function
    like map, which may work on several patches of a large stratum at a time. `tick` is called with the
    share of the work that is done. `near` are the neighbours of each record in its stratum, if they are
    known already.

    >>> x = np.array([[0.0], [1.0], [9.0], [8.0]])
    >>> refined(x, np.array([0, 1, 0, 1]), np.array([4]), 2)
    (array([0, 0, 1, 1]), 2)
    """
    x = about_zero(x, sizes)
    start = cut_large_groups(x, labels, k, rule)
    # Numbers below n are of small strata, below 2n of large ones, and beyond of groups that stay.
    result = start + 2 * len(x)
    # A stratum is searched the same way alone and among others, as no record has neighbours in
    # another stratum.
    large = sizes > WHOLE
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    # Under a rule groups may be of any size; very large ones stay as they are.
    free = np.bincount(start)[start] <= largest_searched(k)
    small = np.flatnonzero(free & ~large[stratum])
    # All at once, or by several processes in shares of whole strata.
    shares = _shares(small, stratum, 1 if each is map else SHARES)
    rounds = (_exchange,) if quick else (_exchange, _improve)
    visits = len(small) + len(rounds) * np.count_nonzero(free & large[stratum])
    visited = 0

    def visit(records: int) -> None:
        nonlocal visited
        visited += records
        tick(visited / visits)

    tick(0)
    # Where some records stay as they are, others have neighbours among the rest only.
    known = near if len(small) == len(x) else None
    parts = (
        (
            x[rows],
            start[rows],
            stratum[rows],
            k,
            rule and rule.take(rows),
            None if known is None else known[rows] - rows[0],
        )
        for rows in shares
    )
    for rows, labels_there in zip(shares, each(_improved, parts), strict=True):
        result[rows] = labels_there + int(rows[0])
        visit(len(rows))
    for number in np.flatnonzero(large):
        part = np.flatnonzero(free & (stratum == number))
        if len(part):
            # Numbers of one stratum are below those of all that follow.
            first = len(x) + int(part[0])
            ruled = rule and rule.take(part)
            own = x[part], start[part], k, ruled, rounds
            result[part] = _patched(*own, each=each, tick=visit) + first
    # Search stops at gains that rounding may fake. So compare each stratum with its start, computed
    # alike, and keep the start where the end is higher: refinement never raises the sum of squares.
    before = np.bincount(stratum, squares_within(x, start))
    after = np.bincount(stratum, squares_within(x, result))
    keep = (after > before)[stratum]
    better = Partition.from_labels(np.where(keep, start, result + len(x)))
    tick(1)
    return better.labels, len(better)


def _shares(rows: Labels, stratum: Labels, count: int) -> list[Labels]:
    """Cut rows into about so many parts of whole strata."""
    if not len(rows):
        return []
    part = stratum[rows[np.arange(len(rows)) // -(-len(rows) // count) * -(-len(rows) // count)]]
    # Rows of a stratum that a border would cut belong to the part in which it begins.
    first = np.searchsorted(stratum[rows], stratum[rows])
    return np.split(rows, np.flatnonzero(np.diff(part[first])) + 1)


def _improved(
    part: tuple[Matrix, Labels, Labels, int, GroupRule | None, Labels | None],
) -> Labels:
    """Improve the groups of some strata; return the labels, below the number of records."""
    x, labels, stratum, k, rule, near = part
    groups = Groups(x, Partition.from_labels(labels).labels, k, rule)
    if near is None:
        left = np.bincount(stratum - stratum[0])
        near = neighbour_lists(x, left[left > 0], neighbour_count(k))
    improve(groups, near)
    return groups.labels


def _patched(
    x: Matrix,
    labels: Labels,
    k: int,
    rule: GroupRule | None,
    rounds: Sequence[Work],
    *,
    each: Map,
    tick: Callable[[int], None],
) -> Labels:
    """Improve a grouping of very many records patch by patch, as often as there are `rounds`."""
    labels = Partition.from_labels(labels).labels
    rng = np.random.default_rng(0)
    for work in rounds:
        labels = in_patches(x, labels, k, neighbour_count(k), rng, work, rule, each, tick)
    return labels


def _exchange(groups: Groups, near: Labels, _: np.random.Generator) -> None:
    exchange(groups, near)


def _improve(groups: Groups, near: Labels, _: np.random.Generator) -> None:
    improve(groups, near)


def about_zero(x: Matrix, sizes: Labels) -> Matrix:
    """Subtract the mean of each stratum."""
    starts = np.cumsum(sizes) - sizes
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    out = np.empty(x.shape)
    for j, column in enumerate(x.T):
        mean = np.bincount(stratum, column) / sizes
        out[:, j] = column - mean[stratum]
    return out if len(starts) else x


def squares_within(x: Matrix, labels: Labels) -> Vector:
    """Return the squared distance of each record from the mean of its group."""
    sizes = np.maximum(np.bincount(labels), 1)
    squares = np.zeros(len(x))
    for column in x.T:
        means = np.bincount(labels, column) / sizes
        squares += np.square(column - means[labels])
    return squares


def cut_large_groups(x: Matrix, labels: Labels, k: int, rule: GroupRule | None = None) -> Labels:
    """Return labels with groups of more than 2k + 1 records cut along their longest axis.

    Parts that break the rule are put together again.

    >>> cut_large_groups(np.array([[0.0], [9.0], [1.0], [8.0], [5.0], [4.0]]), np.zeros(6, int), 2)
    array([1, 3, 1, 3, 2, 2])
    """
    sizes = np.bincount(labels)
    large = np.flatnonzero(sizes > 2 * k + 1)
    if not len(large):
        return labels
    labels = labels.copy()
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(sizes)
    number = len(sizes)
    for group in large:
        rows = order[ends[group] - sizes[group] : ends[group]]
        # A part about its own centre never costs more than about the centre of the whole, so
        # cutting costs nothing.
        spread = x[rows].max(axis=0) - x[rows].min(axis=0)
        rows = rows[np.argsort(x[rows, spread.argmax()], kind="stable")]
        runs = optimal_runs(x[rows], k)
        if rule is not None:
            runs = _joined_runs(rows, runs, rule)
        labels[rows] = np.repeat(np.arange(number, number + len(runs)), runs)
        number += len(runs)
    return labels


def _joined_runs(rows: Labels, runs: Labels, rule: GroupRule) -> Labels:
    """Return the sizes of runs of rows, each that breaks the rule joined with the next one."""
    while len(runs) > 1:
        failing = rule.failing(Members(rows, runs))
        if not failing.any():
            break
        # Every other one at most, so that a run is joined with one neighbour at a time.
        first = np.flatnonzero(failing)
        first = np.minimum(first, len(runs) - 2)
        first = first[np.diff(first, prepend=-2) > 1] if len(first) > 1 else first
        runs = runs.copy()
        runs[first + 1] += runs[first]
        runs = np.delete(runs, first)
    return runs


def improve(groups: Groups, near: Labels) -> None:
    """Change a grouping until no exchange of neighbours and no chain lowers its sum of squares.

    The groups have k to 2k - 1 records afterwards.
    """
    # The cheap exchanges first. Chains do most of what exchanges do, and start where these have run
    # out; where no chain is left, exchanges near all that chains have changed may pay again.
    exchange(groups, near)
    if groups.k > LARGEST:
        return
    few, everyone = near[:, :NEAR], np.arange(len(groups))
    pushes, rows = EjectionCosts(groups, few), everyone
    ejected = np.zeros(len(groups.sizes), dtype=np.bool_)
    for _ in range(PASSES):
        changed = np.zeros(len(groups.sizes), dtype=np.bool_)
        changed[eject_records(groups, pushes, rows)] = True
        ejected |= changed
        if not changed.any():
            changed = _exchanged(groups, near, _near(groups, few, ejected))
            ejected[:] = False
        if changed.any():
            rows = _near(groups, few, changed)
            pushes.renew(rows)
        elif len(rows) < len(everyone):
            # A chain may begin far from all groups that have changed, and end near one.
            rows = everyone
        else:
            break


def exchange(groups: Groups, near: Labels) -> None:
    """Change a grouping until no exchange of neighbours lowers its sum of squares.

    Records move or swap, groups are dissolved, created or split; they have k to 2k - 1 records
    afterwards.
    """
    if groups.k > near.shape[1]:
        recut_pairs(groups, near)
        while len(split_groups(groups, np.arange(len(groups.sizes)))):
            recut_pairs(groups, near)
    if groups.k <= LARGEST:
        _exchanged(groups, near, np.arange(len(groups)))


def _exchanged(groups: Groups, near: Labels, rows: Labels) -> npt.NDArray[np.bool_]:
    """Exchange near these records; return which groups have changed."""
    few = near[:, :NEAR]
    ever = np.zeros(len(groups.sizes), dtype=np.bool_)
    for _ in range(PASSES if len(rows) else 0):
        changed = np.zeros(len(groups.sizes), dtype=np.bool_)
        for one in (move_records, swap_records):
            look = rows
            for _ in range(PASSES):
                touched = np.zeros(len(changed), dtype=np.bool_)
                touched[one(groups, few, look)] = True
                changed |= touched
                look = _near(groups, few, touched)
                if not len(look):
                    break
        # A new group needs k - 1 known neighbours; with a larger k whole groups are left alone.
        if groups.k <= near.shape[1]:
            own_groups = np.unique(groups.labels[rows])
            changed[dissolve_groups(groups, near, own_groups)] = True
            changed[create_groups(groups, near, rows)] = True
        changed[split_groups(groups, np.unique(groups.labels[rows]))] = True
        ever |= changed
        # A record far from every change has the same exchanges as before, and none paid: only those
        # near are tried again.
        rows = _near(groups, few, changed)
        if not len(rows):
            break
    return ever


def _near(groups: Groups, near: Labels, changed: npt.NDArray[np.bool_]) -> Labels:
    """Return the records that are in a group that has changed, or have a neighbour in one."""
    if not changed.any():
        return np.empty(0, dtype=np.intp)
    record = changed.take(groups.labels)
    around = record.copy()
    for column in near.T:
        around |= record.take(column)
    return np.flatnonzero(around)
