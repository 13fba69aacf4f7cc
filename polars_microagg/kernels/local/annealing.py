"""Simulated annealing of a grouping, with a temperature for each record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.local.dissolve_split import creations, dissolutions
from polars_microagg.kernels.local.groups import Groups

__all__ = ["Schedule", "anneal", "heat"]

WHOLE = 16
"""Of every so many proposals for records, one each is made to dissolve and create a group."""

START = 4000
"""Proposals that could be considered in the time that it takes to draw a batch at all."""

FLOOR = 1e-3
"""The heat of a record is at least this share of the median."""

POWER = 0.75
"""Power of the local spread that the heat goes by, by default; 0 is the same for all records."""


@dataclass(frozen=True)
class Schedule:
    """How long to anneal, and from which temperature to which.

    `steps` counts proposals; drawing a batch of them counts as `START` more.
    """

    steps: int
    hot: float
    cold: float


def heat(x: Matrix, near: Labels, k: int, power: float = POWER) -> Vector:
    """Weigh half the mean squared distance of each record from the k nearest to it.

    Parameters
    ----------
    x : array of shape (n, d)
        Records.
    near : array of shape (n, c)
        Neighbours of each record, nearest first.
    k : int
        How many of them to look at.
    power : float, optional
        Power of the spread.

    Returns
    -------
    array of shape (n,)
        The unit of each record's temperature, above 0 unless most h are 0: h to the power times
        the median of h to the rest of 1.

    Examples
    --------
    >>> heat(np.array([[0.0], [2.0], [4.0]]), np.array([[1], [0], [1]]), 1)
    array([2., 2., 2.])
    """
    heat = np.zeros(len(x))
    count = min(k, near.shape[1])
    for column in near[:, :count].T:
        heat += np.square(x - x[column]).sum(axis=1)
    heat /= 2.0 * count
    middle = float(np.median(heat))
    weighed: Vector = np.maximum(heat, FLOOR * middle) ** power * middle ** (1.0 - power)
    return weighed


def anneal(
    groups: Groups,
    near: Labels,
    warmth: Vector,
    schedule: Schedule,
    rng: np.random.Generator,
    tick: Callable[[int], None] | None = None,
) -> None:
    """Make random exchanges, worse ones ever more rarely.

    Parameters
    ----------
    groups : Groups
        Changed in place; no group falls below k.
    near : array of shape (n, c)
        Neighbours of each record, nearest first.
    warmth : array of shape (n,)
        Unit of the temperature of each record.
    schedule : Schedule
        How long and how hot; the temperature falls geometrically with the number of steps.
    rng : numpy.random.Generator
        Where chance comes from.
    tick : callable, optional
        Told the number of steps made, after each batch.

    Notes
    -----
    An exchange that raises the sum of squares by s is made with probability exp(-s / (t h)),
    where t is the temperature and h the mean warmth of the records it moves. Proposals are drawn
    in batches, so large that a quarter of the groups is touched, and of those that touch the
    same group one is made.
    """
    work = _Annealing(groups, near, warmth, rng)
    done = turn = 0
    while done < schedule.steps:
        share = done / schedule.steps
        work.temperature = schedule.hot * (schedule.cold / schedule.hot) ** share
        done += work.swap() + work.move() + START
        if turn % 2 and groups.k <= near.shape[1]:
            work.dissolve()
            work.create()
        turn += 1
        if tick:
            tick(done)


class _Annealing:
    """The state of an annealing: how warm it is, and how many proposals to draw at a time."""

    def __init__(
        self, groups: Groups, near: Labels, warmth: Vector, rng: np.random.Generator
    ) -> None:
        self.groups, self.near, self.warmth, self.rng = groups, near, warmth, rng
        self.temperature = 0.0
        self.owner = np.empty(len(groups.sizes), dtype=np.intp)
        # Shares of swaps and of moves that were accepted.
        self.accepted = [0.3, 0.3]

    def batch(self, kind: int) -> int:
        """How many proposals to draw so that a quarter of the groups is touched."""
        groups = len(self.groups.sizes)
        wanted = 0.25 * groups / max(self.accepted[kind], 1e-3)
        return int(min(4 * len(self.groups), max(groups / 3, wanted))) + 1

    def note(self, kind: int, share: float) -> None:
        """Remember how many proposals of a kind were accepted."""
        self.accepted[kind] += 0.1 * (share - self.accepted[kind])

    def draw(self, count: int) -> tuple[Labels, Labels, Labels]:
        """Draw records, and for each the group of one of its neighbours: row, own, other."""
        rows = self.rng.integers(0, len(self.groups), count)
        which = self.rng.integers(0, self.near.shape[1], count)
        labels = self.groups.labels
        return rows, labels.take(rows), labels.take(self.near[rows, which])

    def hurdle(self, warmth: Vector) -> Vector:
        """How much worse each proposal may be."""
        hurdle: Vector = self.rng.standard_exponential(len(warmth))
        hurdle *= warmth
        hurdle *= self.temperature
        return hurdle

    def alone(self, touched: Labels) -> Labels:
        """Proposals that are the last drawn to touch any of their groups."""
        index = np.arange(len(touched))
        self.owner[touched.ravel()] = np.repeat(index, touched.shape[1])
        return np.flatnonzero((self.owner[touched] == index[:, None]).all(axis=1))

    def swap(self) -> int:
        """Swap records with random members of their neighbours' groups."""
        groups = self.groups
        count = self.batch(0)
        rows, own, other = self.draw(count)
        size = groups.sizes.take(other)
        slot = (self.rng.random(count) * size).astype(np.intp)
        partners = groups.members[other, slot]
        step = groups.x.take(partners, axis=0)
        step -= groups.x.take(rows, axis=0)
        between = groups.centres.take(other, axis=0)
        between -= groups.centres.take(own, axis=0)
        between *= 2.0
        shares = 1.0 / groups.sizes.take(own) + 1.0 / size
        change = np.einsum("ij,ij->i", step, between) - np.einsum("ij,ij->i", step, step) * shares
        warmth = 0.5 * (self.warmth.take(rows) + self.warmth.take(partners))
        chosen = np.flatnonzero((change < self.hurdle(warmth)) & (own != other))
        self.note(0, len(chosen) / count)
        if len(chosen):
            chosen = chosen[self.alone(np.stack((own[chosen], other[chosen]), axis=1))]
            groups.swap(rows[chosen], partners[chosen])
        return count

    def move(self) -> int:
        """Move records out of groups of more than k to their neighbours' groups."""
        groups = self.groups
        count = self.batch(1)
        rows, own, other = self.draw(count)
        able = (groups.sizes.take(own) > groups.k) & (own != other)
        able &= groups.sizes.take(other) < groups.most
        rows, own, other = rows[able], own[able], other[able]
        records = groups.x.take(rows, axis=0)
        leaving = records - groups.centres.take(own, axis=0)
        records -= groups.centres.take(other, axis=0)
        a, b = groups.sizes.take(own), groups.sizes.take(other)
        change = np.einsum("ij,ij->i", records, records) * (b / (b + 1.0))
        change -= np.einsum("ij,ij->i", leaving, leaving) * (a / (a - 1.0))
        chosen = np.flatnonzero(change < self.hurdle(self.warmth.take(rows)))
        self.note(1, len(chosen) / count)
        if len(chosen):
            chosen = chosen[self.alone(np.stack((own[chosen], other[chosen]), axis=1))]
            groups.move(rows[chosen], other[chosen])
        return count

    def dissolve(self) -> None:
        """Dissolve random groups of k or k + 1 records."""
        groups = self.groups
        count = max(4, self.batch(0) // WHOLE)
        drawn = np.unique(self.rng.integers(0, len(groups.sizes), count))
        for size in (groups.k, groups.k + 1):
            some = drawn[groups.sizes[drawn] == size]
            if not len(some):
                continue
            change, _, targets = dissolutions(groups, self.near, some)
            warmth = self.warmth[groups.members[some, :size]].mean(axis=1)
            chosen = np.flatnonzero(change < self.hurdle(warmth))
            touched = np.concatenate((targets, some[:, None]), axis=1)[chosen]
            chosen = chosen[self.alone(touched)]
            if len(chosen):
                groups.dissolve(some[chosen], targets[chosen])

    def create(self) -> None:
        """Create groups round random records."""
        groups = self.groups
        count = max(4, self.batch(0) // WHOLE)
        rows = self.rng.integers(0, len(groups), 4 * count)
        rows = rows[groups.sizes[groups.labels[rows]] > groups.k][:count]
        if not len(rows) or not groups.spare:
            return
        change, _, members = creations(groups, self.near, rows)
        chosen = np.flatnonzero(change < self.hurdle(self.warmth[members].mean(axis=1)))
        chosen = chosen[self.alone(groups.labels[members[chosen]])][: groups.spare]
        if len(chosen):
            groups.create(members[chosen])
