"""Local search: the exchanges of records and groups, until none lowers the sum of squares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Partition, Vector
from polars_microagg.kernels.candidates import candidates
from polars_microagg.kernels.local.dissolve_split import (
    create_groups,
    dissolve_groups,
    split_groups,
)
from polars_microagg.kernels.local.ejection_chains import Pushes, push_records
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.moves_and_swaps import move_records, swap_records
from polars_microagg.kernels.local.patches import in_patches
from polars_microagg.kernels.order.runs import cut

__all__ = [
    "NEAR",
    "exchange",
    "improve",
    "neighbour_count",
    "refined",
    "split_large",
    "squares_within",
]

WHOLE = 20_000
"""Strata up to this size are searched whole, larger ones in patches of neighbours."""

NEAR = 12
"""Neighbours whose groups a single record may go to."""

PASSES = 1000
"""A bound on the rounds that rounding could make endless."""


def neighbour_count(k: int) -> int:
    """How many neighbours to know for a smallest group size."""
    return min(max(16, 2 * k + 4), 64)


def refined(x: Matrix, labels: Labels, sizes: Labels, k: int) -> tuple[Labels, int]:
    """Improve a grouping of each stratum by local search.

    Parameters
    ----------
    x : array of shape (n, d)
        Records, stratum by stratum, scaled for distances.
    labels : array of shape (n,)
        Groups of at least k records, none of them in two strata.
    sizes : array of shape (s,)
        Records in each stratum.
    k : int
        Smallest group size, at least 2.

    Returns
    -------
    labels : array of shape (n,)
        Groups of k to 2k - 1 records. In no stratum is the sum of squares higher than before.
    groups : int
        Number of groups.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [9.0], [8.0]])
    >>> refined(x, np.array([0, 1, 0, 1]), np.array([4]), 2)
    (array([0, 0, 1, 1]), 2)
    """
    x = _about_zero(x, sizes)
    start = split_large(x, labels, k)
    found = np.empty(len(x), dtype=np.intp)
    large = sizes > WHOLE
    some = np.repeat(~large, sizes)
    if some.any():
        own = Partition.from_labels(start[some]).labels
        groups = Groups(x[some], own, k)
        improve(groups, candidates(x[some], sizes[~large], neighbour_count(k)))
        found[some] = groups.labels
    ends = np.cumsum(sizes)
    for end, size in zip(ends[large].tolist(), sizes[large].tolist(), strict=True):
        part = slice(end - size, end)
        # Numbers of one stratum are below its end, and those before it below its start.
        found[part] = _patched(x[part], start[part], k) + end - size
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    before = np.bincount(stratum, squares_within(x, start))
    after = np.bincount(stratum, squares_within(x, found))
    keep = (after > before)[stratum]
    better = Partition.from_labels(np.where(keep, start, found + len(x)))
    return better.labels, len(better)


def _patched(x: Matrix, labels: Labels, k: int) -> Labels:
    """Improve a grouping of very many records patch by patch."""
    labels = Partition.from_labels(labels).labels
    rng = np.random.default_rng(0)
    for work in (exchange, improve):
        labels = in_patches(x, labels, k, neighbour_count(k), rng, work)
    return labels


def _about_zero(x: Matrix, sizes: Labels) -> Matrix:
    """Subtract the mean of each stratum."""
    starts = np.cumsum(sizes) - sizes
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    out = np.empty(x.shape)
    for j, column in enumerate(x.T):
        mean = np.bincount(stratum, column) / sizes
        out[:, j] = column - mean[stratum]
    return out if len(starts) else x


def squares_within(x: Matrix, labels: Labels) -> Vector:
    """Squared distance of each record from the mean of its group."""
    sizes = np.maximum(np.bincount(labels), 1)
    squares = np.zeros(len(x))
    for column in x.T:
        means = np.bincount(labels, column) / sizes
        squares += np.square(column - means[labels])
    return squares


def split_large(x: Matrix, labels: Labels, k: int) -> Labels:
    """Cut groups of more than 2k + 1 records along their longest axis, which costs nothing.

    Parameters
    ----------
    x : array of shape (n, d)
        Records.
    labels : array of shape (n,)
        Groups of at least k records.
    k : int
        Smallest group size.

    Returns
    -------
    array of shape (n,)
        Groups of k to 2k + 1 records.

    Examples
    --------
    >>> split_large(np.array([[0.0], [9.0], [1.0], [8.0], [5.0], [4.0]]), np.zeros(6, int), 2)
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
        spread = x[rows].max(axis=0) - x[rows].min(axis=0)
        rows = rows[np.argsort(x[rows, spread.argmax()], kind="stable")]
        runs = cut(x[rows], k)
        labels[rows] = np.repeat(np.arange(number, number + len(runs)), runs)
        number += len(runs)
    return labels


def improve(groups: Groups, near: Labels) -> None:
    """Change a grouping until no exchange of neighbours and no chain lowers its sum of squares.

    Parameters
    ----------
    groups : Groups
        Changed in place. The groups have k to 2k - 1 records afterwards.
    near : array of shape (n, c)
        Neighbours of each record, nearest first.

    Notes
    -----
    What `exchange` does comes first. Then records push each other along chains, after which
    exchanges near by may pay again. What is done in one stratum does not depend on the others, as
    no record has neighbours in another one.
    """
    exchange(groups, near)
    few, everyone = near[:, :NEAR], np.arange(len(groups))
    pushes, rows = Pushes(groups, few), everyone
    for _ in range(PASSES):
        changed = np.zeros(len(groups.sizes), dtype=np.bool_)
        changed[push_records(groups, pushes, rows)] = True
        if changed.any():
            changed |= _exchanged(groups, near, _near(groups, few, changed))
            rows = _near(groups, few, changed)
            pushes.renew(rows)
        elif len(rows) < len(everyone):
            # A chain may begin far from all groups that have changed, and end near one.
            rows = everyone
        else:
            break


def exchange(groups: Groups, near: Labels) -> None:
    """Change a grouping until no exchange of neighbours lowers its sum of squares.

    Parameters
    ----------
    groups : Groups
        Changed in place. The groups have k to 2k - 1 records afterwards.
    near : array of shape (n, c)
        Neighbours of each record, nearest first.

    Notes
    -----
    Single records move or swap places; whole groups are dissolved, created or split, the first
    two unless they are larger than the number of neighbours that is known. Only records near a
    group that has changed are looked at again.
    """
    _exchanged(groups, near, np.arange(len(groups)))


def _exchanged(groups: Groups, near: Labels, rows: Labels) -> npt.NDArray[np.bool_]:
    """Exchange near some records; which groups have changed."""
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
        if groups.k <= near.shape[1]:
            some = np.unique(groups.labels[rows])
            changed[dissolve_groups(groups, near, some)] = True
            changed[create_groups(groups, near, rows)] = True
        changed[split_groups(groups, np.unique(groups.labels[rows]))] = True
        ever |= changed
        rows = _near(groups, few, changed)
        if not len(rows):
            break
    return ever


def _near(groups: Groups, near: Labels, changed: npt.NDArray[np.bool_]) -> Labels:
    """Find records that are in a group that has changed, or have a neighbour in one."""
    if not changed.any():
        return np.empty(0, dtype=np.intp)
    record = changed[groups.labels]
    return np.flatnonzero(record | record[near].any(axis=1))
