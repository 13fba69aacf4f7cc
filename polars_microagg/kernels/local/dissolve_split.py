"""Groups dissolved, created and split, where that lowers the sum of squares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Members, Vector
from polars_microagg.kernels.local.groups import Groups, disjoint
from polars_microagg.kernels.local.moves_and_swaps import TOLERANCE, squares_of

__all__ = [
    "create_groups",
    "created_holds",
    "creations",
    "dissolutions",
    "dissolve_groups",
    "dissolved_holds",
    "split_groups",
]

REACH = 8
"""Neighbours of a record whose groups may take it in when its own is dissolved."""

CELLS = 1 << 19
"""Values handled at a time, so that they stay in the cache."""


def dissolve_groups(
    groups: Groups, near: Labels, chosen: Labels, *, anyway: bool = False
) -> Labels:
    """Dissolve chosen groups where dealing out their members is better, or `anyway`.

    Return the groups that changed.
    """
    changed = []
    sizes = groups.sizes[chosen]
    most = 2 * groups.k if groups.rule is None else groups.most
    for size in range(groups.k, min(most, int(sizes.max(initial=0)) + 1)):
        # Groups changed in an earlier pass may have another size now, or no longer exist.
        same_size = chosen[(sizes == size) & (groups.sizes[chosen] == size)]
        proposals = []
        step = max(1, CELLS // (size * max(REACH * groups.x.shape[1], size)))
        for first in range(0, len(same_size), step):
            part = same_size[first : first + step]
            gains, least, targets = dissolutions(groups, near, part)
            better = np.flatnonzero(np.isfinite(gains) if anyway else gains < -least)
            better = better[dissolved_holds(groups, part[better], targets[better])]
            proposals.append((gains[better], part[better], targets[better]))
        if not proposals:
            continue
        # All are compared before any is made: what a stratum does must not depend on how many
        # others are searched with it.
        gains, own, targets = (np.concatenate(column) for column in zip(*proposals, strict=True))
        touched = np.concatenate((targets, own[:, None]), axis=1)
        # Costs were computed one by one; they add up only for dissolutions that touch different
        # groups.
        kept = disjoint(gains, touched, len(groups.sizes))
        if len(kept):
            changed.append(groups.dissolve(own[kept], targets[kept]))
    return np.concatenate(changed) if changed else np.empty(0, dtype=np.intp)


def dissolutions(groups: Groups, near: Labels, chosen: Labels) -> tuple[Vector, Vector, Labels]:
    """Return the cost of dealing out each chosen group of m records, all of one size.

    The result is the change of the sum of squares (p,), infinite where a record has nowhere to go,
    a bound (p,) on its rounding error, and the group that each member goes to (p, m): the one where
    it alone costs least.
    """
    members = groups.members[chosen, : groups.sizes[chosen[0]]]
    reachable = groups.labels.take(near.take(members, axis=0)[:, :, :REACH])
    size = groups.sizes.take(reachable).astype(np.float64)
    away = groups.centres.take(reachable, axis=0)
    away -= groups.x.take(members, axis=0)[:, :, None]
    cost = squares_of(away) * (size / (size + 1.0))
    # The table of a group has room for `most` members; a full group cannot receive.
    cost[(reachable == chosen[:, None, None]) | (size >= groups.most)] = np.inf
    best = cost.argmin(axis=2)[:, :, None]
    nowhere = np.isinf(np.take_along_axis(cost, best, axis=2)).any(axis=(1, 2))
    targets = np.take_along_axis(reachable, best, axis=2)[:, :, 0]
    joint = targets[:, :, None] == targets[:, None, :]
    together = joint.sum(axis=2)
    nowhere |= (groups.sizes[targets] + together > groups.most).any(axis=1)
    centre = groups.centres[chosen][:, None]
    now = squares_of(groups.x[members] - centre).sum(axis=1)
    # The greedy targets may coincide, so the cost is that of all members who go the same way
    # together.
    after = _parts(groups, members, targets, joint, sign=1)
    return np.where(nowhere, np.inf, after - now), _counts(groups, members, after + now), targets


def dissolved_holds(groups: Groups, chosen: Labels, targets: Labels) -> npt.NDArray[np.bool_]:
    """Return which dissolutions leave groups that satisfy the rule."""
    if groups.rule is None or not len(chosen):
        return np.ones(len(chosen), dtype=np.bool_)
    members = groups.members[chosen, : targets.shape[1]]
    # All members that go the same way, once for each of them: asked more often than needed, but of
    # few groups.
    together = targets[:, :, None] == targets[:, None, :]
    into = np.where(together, members[:, None, :], len(groups)).reshape(-1, targets.shape[1])
    held = groups.hold(targets.ravel(), into=into).reshape(targets.shape)
    return np.asarray(held.all(axis=1))


def created_holds(groups: Groups, members: Labels) -> npt.NDArray[np.bool_]:
    """Return which new groups satisfy the rule and leave groups that do."""
    if groups.rule is None or not len(members):
        return np.ones(len(members), dtype=np.bool_)
    width = members.shape[1]
    sizes = np.full(len(members), width)
    held = ~groups.rule.failing(Members(members.ravel(), sizes))
    few = members[held]
    sources = groups.labels[few]
    together = sources[:, :, None] == sources[:, None, :]
    out = np.where(together, few[:, None, :], len(groups)).reshape(-1, width)
    held[held] = groups.hold(sources.ravel(), out=out).reshape(few.shape).all(axis=1)
    return held


def create_groups(groups: Groups, near: Labels, rows: Labels) -> Labels:
    """Create groups of a record and the nearest ones that can be spared, if better.

    Return the groups that changed.
    """
    rows = rows[groups.sizes[groups.labels[rows]] > groups.k]
    proposals = []
    step = max(1, CELLS // (groups.k * max(groups.x.shape[1], groups.k)))
    for first in range(0, len(rows), step):
        gains, least, members = creations(groups, near, rows[first : first + step])
        better = np.flatnonzero(gains < -least)
        better = better[created_holds(groups, members[better])]
        proposals.append((gains[better], members[better]))
    if not proposals or not groups.spare:
        return np.empty(0, dtype=np.intp)
    gains, members = (np.concatenate(column) for column in zip(*proposals, strict=True))
    kept = disjoint(gains, groups.labels[members], len(groups.sizes))[: groups.spare]
    return groups.create(members[kept]) if len(kept) else kept


def creations(groups: Groups, near: Labels, rows: Labels) -> tuple[Vector, Vector, Labels]:
    """Return the cost of a new group round each row whose group has more than k members.

    The result is the change of the sum of squares (q,), a bound (q,) on its rounding error, and the
    k members (q, k), for those rows that can have a group.
    """
    candidates = np.concatenate((rows[:, None], near[rows, : 2 * groups.k + 4]), axis=1)
    of = groups.labels[candidates]
    spare = groups.sizes[of] - groups.k
    allowed = np.empty(of.shape, dtype=np.bool_)
    for j in range(of.shape[1]):
        # The j-th candidate is allowed if its group still has one to spare after the earlier
        # candidates of the same group: no group falls below k.
        allowed[:, j] = (of[:, :j] == of[:, j : j + 1]).sum(axis=1) < spare[:, j]
    # A record stands in for neighbours that do not exist; it is in the first place already.
    allowed[:, 1:] &= candidates[:, 1:] != rows[:, None]
    order = np.cumsum(allowed, axis=1)
    enough = order[:, -1] >= groups.k
    members = candidates[enough][(allowed & (order <= groups.k))[enough]].reshape(-1, groups.k)
    sources = groups.labels[members]
    joint = sources[:, :, None] == sources[:, None, :]
    mean = groups.x[members].mean(axis=1, keepdims=True)
    made = squares_of(groups.x[members] - mean).sum(axis=1)
    freed = _parts(groups, members, sources, joint, sign=-1)
    return made - freed, _counts(groups, members, made + freed), members


def _parts(
    groups: Groups, members: Labels, of: Labels, joint: npt.NDArray[np.bool_], *, sign: int
) -> Vector:
    """Return the sum of squares that members add to groups (sign 1) or take from theirs (-1)."""
    # `joint` marks the members of a row that go the same way. r of them with mean m have the sum of
    # squares w about m. By the parallel axis theorem a group of b records with centre q gains w +
    # br/(b+r) |m-q|^2, and one that loses them loses w + br/(b-r) |m-q|^2. The factors br/(b+-r)
    # are divided among the r members: each carries b/(b+-r).
    share = 1.0 / joint.sum(axis=2)
    records = groups.x[members]
    means = np.matmul(joint * share[:, :, None], records)
    within = squares_of(records - means)
    size = groups.sizes[of]
    weight = size / (size + sign / share)
    parts: Vector = (within + weight * squares_of(means - groups.centres[of])).sum(axis=1)
    return parts


def _counts(groups: Groups, members: Labels, terms: Vector) -> Vector:
    """Return the least gain that is not rounding error."""
    counts: Vector = TOLERANCE * terms + groups.noise[members].sum(axis=1)
    return counts


def split_groups(groups: Groups, chosen: Labels) -> Labels:
    """Split chosen groups of 2k records or more; return the groups that changed."""
    changed = []
    sizes = groups.sizes[chosen]
    for size in range(2 * groups.k, int(sizes.max(initial=0)) + 1):
        same_size = chosen[sizes == size]
        if not len(same_size):
            continue
        members = groups.members[same_size, :size]
        records = groups.x[members]
        index = np.arange(len(same_size))
        # Two parts about their own centres never cost more than about one, so any split pays. Group
        # k records round the farthest one: a step of MD that keeps both parts at k or more, as the
        # group has 2k.
        far = squares_of(records - groups.centres[same_size][:, None]).argmax(axis=1)
        distances = squares_of(records - records[index, far][:, None])
        distances[index, far] = -1.0
        part = np.argsort(distances, axis=1, kind="stable")[:, : groups.k]
        if groups.rule is not None:
            held = created_holds(groups, np.take_along_axis(members, part, axis=1))
            members, part = members[held], part[held]
            if not len(part):
                continue
        changed.append(groups.create(np.take_along_axis(members, part, axis=1)))
    return np.concatenate(changed) if changed else np.empty(0, dtype=np.intp)
