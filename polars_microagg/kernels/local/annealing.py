"""Simulated annealing of a grouping, with a temperature for each record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.local.dissolve_split import (
    created_holds,
    creations,
    dissolutions,
    dissolved_holds,
)
from polars_microagg.kernels.local.groups import Groups

__all__ = ["Schedule", "anneal", "melting_point", "temperature_units"]

WHOLE = 16
"""One proposal in this many dissolves or creates a group."""

START = 4000
"""Proposals that could be evaluated in the time it takes to draw a batch."""

FLOOR = 1e-3
"""The temperature scale of a record is at least this share of the median."""

POWER = 0.75
"""Default power of the local spread in the temperature scale; with 0 it is the same for all
records."""

COOLEST, HOTTEST = 0.2, 4.0
"""Temperatures between which a grouping is taken to melt."""

HOTTER = 1.2
"""Each temperature that is tried is so many times the one before it."""

BATCHES = 10
"""Batches of proposals at each of them."""


@dataclass(frozen=True)
class Schedule:
    """Number of proposals, and the temperatures at the start and the end.

    Drawing a batch counts as `START` proposals more.
    """

    steps: int
    hot: float
    cold: float


def temperature_units(x: Matrix, near: Labels, k: int, power: float = POWER) -> Vector:
    """Return the (n,) unit of each record's temperature, from its k nearest neighbours.

    With h half the mean squared distance, it is h to the power times the median of h to 1 minus the
    power.

    >>> temperature_units(np.array([[0.0], [2.0], [4.0]]), np.array([[1], [0], [1]]), 1)
    array([2., 2., 2.])
    """
    spread = np.zeros(len(x))
    count = min(k, near.shape[1])
    for column in near[:, :count].T:
        spread += np.square(x - x[column]).sum(axis=1)
    spread /= 2.0 * count
    middle = float(np.median(spread))
    units: Vector = np.maximum(spread, FLOOR * middle) ** power * middle ** (1.0 - power)
    return units


def anneal(
    groups: Groups,
    near: Labels,
    units: Vector,
    schedule: Schedule,
    rng: np.random.Generator,
    tick: Callable[[int], None] | None = None,
) -> None:
    """Make random exchanges in place, worse ones ever more rarely; no group falls below k.

    `near` (n, c) lists the neighbours of each record, nearest first, `units` (n,) the unit of its
    temperature, which falls geometrically. `tick` is called with the number of steps after each
    batch.
    """
    work = _Annealing(groups, near, units, rng)
    done = turn = 0
    while done < schedule.steps:
        share = done / schedule.steps
        # Geometric cooling (S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, 1983, Science 220,
        # 671-680).
        work.temperature = schedule.hot * (schedule.cold / schedule.hot) ** share
        # A batch has a fixed cost, which counts as steps, so that effort means time also for few
        # records.
        done += work.propose(turn) + START
        turn += 1
        if tick:
            tick(done)


def melting_point(groups: Groups, near: Labels, units: Vector, rng: np.random.Generator) -> float:
    """Return the temperature at which a grouping melts, which it does in place.

    As it gets warmer, random exchanges raise the sum of squares: at this temperature by a k-th. It
    lies between `COOLEST` and `HOTTEST`.
    """
    # A unit is measured between records, but the costs of exchanges vary by a share of it that falls
    # with the number of columns that vary by themselves. So at one and the same temperature hardly
    # anything changes in some tables, and no order is left in others.
    work = _Annealing(groups, near, units, rng)
    work.temperature = COOLEST
    melted = (1.0 + 1.0 / groups.k) * groups.squares().sum()
    while work.temperature < HOTTEST:
        for turn in range(BATCHES):
            work.propose(turn)
        if groups.squares().sum() >= melted:
            break
        work.temperature *= HOTTER
    return min(work.temperature, HOTTEST)


class _Annealing:
    """The state of an annealing: the temperature, and how many proposals to draw at a time."""

    def __init__(
        self, groups: Groups, near: Labels, units: Vector, rng: np.random.Generator
    ) -> None:
        self.groups, self.near, self.units, self.rng = groups, near, units, rng
        self.temperature = 0.0
        self.owner = np.empty(len(groups.sizes), dtype=np.intp)
        # Shares of swaps and of moves that were accepted.
        self.accepted = [0.3, 0.3]

    def propose(self, turn: int) -> int:
        """Make random exchanges, of whole groups every other turn; return how many were drawn."""
        count = self.swap() + self.move()
        if turn % 2 and self.groups.k <= self.near.shape[1]:
            self.dissolve()
            self.create()
        return count

    def batch(self, kind: int) -> int:
        """Return how many proposals to draw so that a quarter of the groups is touched."""
        groups = len(self.groups.sizes)
        wanted = 0.25 * groups / max(self.accepted[kind], 1e-3)
        return int(min(4 * len(self.groups), max(groups / 3, wanted))) + 1

    def update_share(self, kind: int, share: float) -> None:
        """Update the share of accepted proposals of a kind."""
        self.accepted[kind] += 0.1 * (share - self.accepted[kind])

    def draw(self, count: int) -> tuple[Labels, Labels, Labels]:
        """Draw records and, for each, the group of one of its neighbours.

        Return row, own and other group.
        """
        rows = self.rng.integers(0, len(self.groups), count)
        which = self.rng.integers(0, self.near.shape[1], count)
        labels = self.groups.labels
        return rows, labels.take(rows), labels.take(self.near[rows, which])

    def thresholds(self, units: Vector) -> Vector:
        """Draw the largest increase of the sum of squares that each proposal may cost."""
        # Metropolis rule: an increase s is accepted with probability exp(-s / (t h)). That is the
        # probability that an exponential variable of mean t h exceeds s, so one draw a proposal
        # decides.
        increase: Vector = self.rng.standard_exponential(len(units))
        increase *= units
        increase *= self.temperature
        return increase

    def independent(self, touched: Labels) -> Labels:
        """Return the proposals that were the last drawn to touch any of their groups."""
        # Costs of proposals are exact for the grouping as it is; they add up if no two touch the
        # same group. Each group is assigned to its last claimant, and a proposal stays if it holds
        # all its groups.
        index = np.arange(len(touched))
        self.owner[touched.ravel()] = np.repeat(index, touched.shape[1])
        return np.flatnonzero((self.owner[touched] == index[:, None]).all(axis=1))

    def swap(self) -> int:
        """Swap records with random members of their neighbours' groups.

        Return the number of proposals.
        """
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
        # Change 2 (q-p).(z-x) - (1/a + 1/b) |z-x|^2, as in `swap_records`.
        shares = 1.0 / groups.sizes.take(own) + 1.0 / size
        change = np.einsum("ij,ij->i", step, between) - np.einsum("ij,ij->i", step, step) * shares
        units = 0.5 * (self.units.take(rows) + self.units.take(partners))
        chosen = np.flatnonzero((change < self.thresholds(units)) & (own != other))
        self.update_share(0, len(chosen) / count)
        if len(chosen):
            chosen = chosen[self.independent(np.stack((own[chosen], other[chosen]), axis=1))]
            if groups.rule is not None:
                here, there = rows[chosen, None], partners[chosen, None]
                held = groups.hold(own[chosen], out=here, into=there)
                held &= groups.hold(other[chosen], out=there, into=here)
                chosen = chosen[held]
            groups.swap(rows[chosen], partners[chosen])
        return count

    def move(self) -> int:
        """Move records from groups of more than k to their neighbours' groups.

        Return the number drawn.
        """
        groups = self.groups
        count = self.batch(1)
        rows, own, other = self.draw(count)
        # Only groups of more than k may lose a record, so k holds after every step.
        able = (groups.sizes.take(own) > groups.k) & (own != other)
        able &= groups.sizes.take(other) < groups.most
        rows, own, other = rows[able], own[able], other[able]
        records = groups.x.take(rows, axis=0)
        leaving = records - groups.centres.take(own, axis=0)
        records -= groups.centres.take(other, axis=0)
        a, b = groups.sizes.take(own), groups.sizes.take(other)
        # Change b/(b+1) |x-q|^2 - a/(a-1) |x-p|^2, as in `move_records`.
        change = np.einsum("ij,ij->i", records, records) * (b / (b + 1.0))
        change -= np.einsum("ij,ij->i", leaving, leaving) * (a / (a - 1.0))
        chosen = np.flatnonzero(change < self.thresholds(self.units.take(rows)))
        self.update_share(1, len(chosen) / count)
        if len(chosen):
            chosen = chosen[self.independent(np.stack((own[chosen], other[chosen]), axis=1))]
            if groups.rule is not None:
                here = rows[chosen, None]
                held = groups.hold(own[chosen], out=here) & groups.hold(other[chosen], into=here)
                chosen = chosen[held]
            groups.move(rows[chosen], other[chosen])
        return count

    def dissolve(self) -> None:
        """Dissolve random groups of k or k + 1 records."""
        groups = self.groups
        count = max(4, self.batch(0) // WHOLE)
        drawn = np.unique(self.rng.integers(0, len(groups.sizes), count))
        for size in (groups.k, groups.k + 1):
            same_size = drawn[groups.sizes[drawn] == size]
            if not len(same_size):
                continue
            change, _, targets = dissolutions(groups, self.near, same_size)
            units = self.units[groups.members[same_size, :size]].mean(axis=1)
            chosen = np.flatnonzero(change < self.thresholds(units))
            touched = np.concatenate((targets, same_size[:, None]), axis=1)[chosen]
            chosen = chosen[self.independent(touched)]
            chosen = chosen[dissolved_holds(groups, same_size[chosen], targets[chosen])]
            if len(chosen):
                groups.dissolve(same_size[chosen], targets[chosen])

    def create(self) -> None:
        """Create groups round random records."""
        groups = self.groups
        count = max(4, self.batch(0) // WHOLE)
        rows = self.rng.integers(0, len(groups), 4 * count)
        # A new group takes members only from groups that keep k.
        rows = rows[groups.sizes[groups.labels[rows]] > groups.k][:count]
        if not len(rows) or not groups.spare:
            return
        change, _, members = creations(groups, self.near, rows)
        chosen = np.flatnonzero(change < self.thresholds(self.units[members].mean(axis=1)))
        chosen = chosen[self.independent(groups.labels[members[chosen]])][: groups.spare]
        chosen = chosen[created_holds(groups, members[chosen])]
        if len(chosen):
            groups.create(members[chosen])
