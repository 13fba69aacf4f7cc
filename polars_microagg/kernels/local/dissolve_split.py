"""Groups dissolved, created and split, where that lowers the sum of squares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Vector
from polars_microagg.kernels.local.groups import Groups, disjoint
from polars_microagg.kernels.local.moves_and_swaps import TOLERANCE, squares_of

__all__ = ["create_groups", "creations", "dissolutions", "dissolve_groups", "split_groups"]

REACH = 8
"""Neighbours of a record whose groups may take it in when its own is dissolved."""

CELLS = 1 << 19
"""Values handled at a time, so that they stay in the cache."""


def dissolve_groups(groups: Groups, near: Labels, chosen: Labels) -> Labels:
    """Deal the members of groups out to their neighbours' groups where that is better.

    Parameters
    ----------
    groups : Groups
        Changed in place; no group but those dissolved becomes smaller.
    near : array of shape (n, c)
        Neighbours of each record.
    chosen : array of int
        Groups to look at.

    Returns
    -------
    array of int
        Groups that have changed.
    """
    changed = []
    sizes = groups.sizes[chosen]
    for size in range(groups.k, min(2 * groups.k, int(sizes.max(initial=0)) + 1)):
        # What an earlier size has changed has another size now, or is gone.
        some = chosen[(sizes == size) & (groups.sizes[chosen] == size)]
        step = max(1, CELLS // (size * max(REACH * groups.x.shape[1], size)))
        for first in range(0, len(some), step):
            part = some[first : first + step]
            part = part[groups.sizes[part] == size]
            if not len(part):
                continue
            gains, least, targets = dissolutions(groups, near, part)
            better = np.flatnonzero(gains < -least)
            touched = np.concatenate((targets, part[:, None]), axis=1)[better]
            kept = better[disjoint(gains[better], touched, len(groups.sizes))]
            if len(kept):
                changed.append(groups.dissolve(part[kept], targets[kept]))
    return np.concatenate(changed) if changed else np.empty(0, dtype=np.intp)


def dissolutions(groups: Groups, near: Labels, chosen: Labels) -> tuple[Vector, Vector, Labels]:
    """Cost of dealing out each of some groups of one size.

    Parameters
    ----------
    groups : Groups
        The grouping.
    near : array of shape (n, c)
        Neighbours of each record.
    chosen : array of shape (p,)
        Groups of m records each.

    Returns
    -------
    gains : array of shape (p,)
        Change of the sum of squares; infinite where a record has nowhere to go.
    least : array of shape (p,)
        Gains up to this are rounding.
    targets : array of shape (p, m)
        Where each member goes.

    Notes
    -----
    Each member goes where it alone would cost least. If r of them with sum s join a group of b
    records with centre q, its sum of squares grows by that of the r about their own mean, and by
    br/(b+r) |s/r - q|^2.
    """
    members = groups.members[chosen, : groups.sizes[chosen[0]]]
    found = groups.labels[near[members][:, :, :REACH]]
    size = groups.sizes[found].astype(np.float64)
    cost = squares_of(groups.x[members][:, :, None] - groups.centres[found]) * (size / (size + 1.0))
    cost[(found == chosen[:, None, None]) | (size >= groups.most)] = np.inf
    best = cost.argmin(axis=2)[:, :, None]
    nowhere = np.isinf(np.take_along_axis(cost, best, axis=2)).any(axis=(1, 2))
    targets = np.take_along_axis(found, best, axis=2)[:, :, 0]
    joint = targets[:, :, None] == targets[:, None, :]
    together = joint.sum(axis=2)
    nowhere |= (groups.sizes[targets] + together > groups.most).any(axis=1)
    centre = groups.centres[chosen][:, None]
    now = squares_of(groups.x[members] - centre).sum(axis=1)
    after = _parts(groups, members, targets, joint, sign=1)
    return np.where(nowhere, np.inf, after - now), _counts(groups, members, after + now), targets


def create_groups(groups: Groups, near: Labels, rows: Labels) -> Labels:
    """Make groups of a record and the nearest ones that their groups can spare, if better.

    Parameters
    ----------
    groups : Groups
        Changed in place; no group falls below k.
    near : array of shape (n, c)
        Neighbours of each record.
    rows : array of int
        Records to look at.

    Returns
    -------
    array of int
        Groups that have changed.
    """
    rows = rows[groups.sizes[groups.labels[rows]] > groups.k]
    found = []
    step = max(1, CELLS // (groups.k * max(groups.x.shape[1], groups.k)))
    for first in range(0, len(rows), step):
        gains, least, members = creations(groups, near, rows[first : first + step])
        better = gains < -least
        found.append((gains[better], members[better]))
    if not found or not groups.spare:
        return np.empty(0, dtype=np.intp)
    gains, members = (np.concatenate(column) for column in zip(*found, strict=True))
    kept = disjoint(gains, groups.labels[members], len(groups.sizes))[: groups.spare]
    return groups.create(members[kept]) if len(kept) else kept


def creations(groups: Groups, near: Labels, rows: Labels) -> tuple[Vector, Vector, Labels]:
    """Cost of a new group round each of some records.

    Parameters
    ----------
    groups : Groups
        The grouping.
    near : array of shape (n, c)
        Neighbours of each record.
    rows : array of shape (p,)
        Records whose groups have more than k members.

    Returns
    -------
    gains : array of shape (q,)
        Change of the sum of squares, for those of the records that can have a group.
    least : array of shape (q,)
        Gains up to this are rounding.
    members : array of shape (q, k)
        Rows of the new group.
    """
    some = np.concatenate((rows[:, None], near[rows, : 2 * groups.k + 4]), axis=1)
    of = groups.labels[some]
    spare = groups.sizes[of] - groups.k
    allowed = np.empty(of.shape, dtype=np.bool_)
    for j in range(of.shape[1]):
        allowed[:, j] = (of[:, :j] == of[:, j : j + 1]).sum(axis=1) < spare[:, j]
    # A record stands in for neighbours that do not exist; it is in the first place already.
    allowed[:, 1:] &= some[:, 1:] != rows[:, None]
    order = np.cumsum(allowed, axis=1)
    enough = order[:, -1] >= groups.k
    members = some[enough][(allowed & (order <= groups.k))[enough]].reshape(-1, groups.k)
    sources = groups.labels[members]
    joint = sources[:, :, None] == sources[:, None, :]
    mean = groups.x[members].mean(axis=1, keepdims=True)
    made = squares_of(groups.x[members] - mean).sum(axis=1)
    freed = _parts(groups, members, sources, joint, sign=-1)
    return made - freed, _counts(groups, members, made + freed), members


def _parts(
    groups: Groups, members: Labels, of: Labels, joint: npt.NDArray[np.bool_], *, sign: int
) -> Vector:
    """Sum of squares that members add to groups they join (1), or take from their own (-1).

    `joint` tells which members of a row go the same way. Those r have the sum of squares w about
    their mean m. A group of b records with centre q gains w + br/(b+r) |m-q|^2, and one that
    loses them loses w + br/(b-r) |m-q|^2.
    """
    share = 1.0 / joint.sum(axis=2)
    records = groups.x[members]
    means = np.matmul(joint * share[:, :, None], records)
    within = squares_of(records - means)
    size = groups.sizes[of]
    weight = size / (size + sign / share)
    parts: Vector = (within + weight * squares_of(means - groups.centres[of])).sum(axis=1)
    return parts


def _counts(groups: Groups, members: Labels, terms: Vector) -> Vector:
    """Least gain that is no rounding error."""
    counts: Vector = TOLERANCE * terms + groups.noise[members].sum(axis=1)
    return counts


def split_groups(groups: Groups, chosen: Labels) -> Labels:
    """Split groups of 2k records or more: one part round the record farthest from the centre.

    Parameters
    ----------
    groups : Groups
        Changed in place.
    chosen : array of int
        Groups to look at.

    Returns
    -------
    array of int
        Groups that have changed.

    Notes
    -----
    The sum of squares of two parts about their own centres is never more than about one.
    """
    changed = []
    sizes = groups.sizes[chosen]
    for size in range(2 * groups.k, groups.most + 1):
        some = chosen[sizes == size]
        if not len(some):
            continue
        members = groups.members[some, :size]
        records = groups.x[members]
        each = np.arange(len(some))
        far = squares_of(records - groups.centres[some][:, None]).argmax(axis=1)
        distances = squares_of(records - records[each, far][:, None])
        distances[each, far] = -1.0
        part = np.argsort(distances, axis=1, kind="stable")[:, : groups.k]
        changed.append(groups.create(np.take_along_axis(members, part, axis=1)))
    return np.concatenate(changed) if changed else np.empty(0, dtype=np.intp)
