"""Annealings of several copies of the records at a time, and what is best in all of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from polars_microagg.core.partition import GroupRule, Labels, Matrix, Partition
from polars_microagg.kernels.local.annealing import (
    Schedule,
    anneal,
    melting_point,
    temperature_units,
)
from polars_microagg.kernels.local.crossover import crossed
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.local_search import improve, squares_within
from polars_microagg.kernels.local.recombination import Pool, repaired

__all__ = ["RecombinedSearch", "Round", "annealing_steps", "rounds"]

STEPS = 8_000_000
"""Steps of annealing at effort 1, from some 1000 records up to `LINEAR`."""

LEAST = 400_000
"""Least number of steps at effort 1, for very few records."""

LINEAR = 4000
"""Beyond this many records the steps grow, more slowly than the records."""

BEGIN = 100
"""Thousandths of effort 1 that the first annealing takes, which is short and not hot."""

LONGER = (4.0, 2.5)
"""Each cycle of annealings after it ends so many times later than the one before it, in turn."""

HOT, WARM, COLD = 1.0, 0.4, 0.1
"""Temperatures at which the first annealing of a cycle begins, and the others. Below the last hardly
anything is accepted."""

ENOUGH = 1_000_000
"""Least number of steps of a hot annealing that are worth measuring first at what temperature the records
melt. With fewer that would take longer than the annealing."""

POWERS = (0.75, 0.4)
"""Powers of a record's local spread in its temperature, in turn."""

COPIES = 8
"""Most copies of the records that are annealed at a time."""

TOGETHER = 8000
"""Records of all copies together."""

DIVES = 4
"""Most recombinations after an annealing."""

DIVE = 1_200_000
"""Steps of an annealing for each of them."""


def annealing_steps(n: int, effort: float) -> int:
    """Return the number of annealing steps for n records and an effort.

    It depends on nothing else.
    """
    few = max(LEAST, 2.0 * n**2.5)
    steps = min(STEPS, few) if n <= LINEAR else STEPS * (n / LINEAR) ** 0.7
    return int(effort * steps)


@dataclass(frozen=True)
class Round:
    """An annealing of some copies of the records: steps for all together, and where it begins."""

    number: int
    copies: int
    steps: int
    hot: float


def rounds(n: int, effort: float) -> Iterator[Round]:
    """Yield the annealings of n records for an effort: those for a smaller one come first.

    >>> [round.hot for round in rounds(1000, 0.4)]
    [0.4, 1.0, 0.4, 0.4]
    """
    whole, most = annealing_steps(n, 1.0), max(1, min(COPIES, TOGETHER // n))
    number, done = 0, 0
    for at, hot, copies in _ends():
        if at > 1000.0 * effort:
            return
        after = int(at / 1000.0 * whole)
        yield Round(number, min(copies, most), after - done, hot)
        number, done = number + 1, after


def _ends() -> Iterator[tuple[float, float, int]]:
    """Yield when each annealing ends, in thousandths of effort 1, how hot it is, and the copies."""
    end, copies = float(BEGIN), 1
    yield end, WARM, copies
    for longer in cycle(LONGER):
        begin, end = end, longer * end
        copies = min(2 * copies, COPIES)
        # Half of a cycle is a hot annealing, and two that are not follow.
        for share, hot in ((0.5, HOT), (0.75, WARM), (1.0, WARM)):
            yield begin + share * (end - begin), hot, copies


class RecombinedSearch:
    """A search for a grouping of the (n, d) records `x` about zero, which keeps the best one seen.

    `near` (n, c) lists the neighbours of each record. `best` is the best grouping so far.
    """

    def __init__(self, x: Matrix, k: int, near: Labels, rule: GroupRule | None = None) -> None:
        self.x, self.k, self.near, self.rule = x, k, near, rule
        self.units = [temperature_units(x, near, k, power) for power in POWERS]
        self.melting: float | None = None
        self.pool = Pool(x, 2 * k - 1)
        self.best = np.empty(0, dtype=np.intp)

    def begin(self, starts: list[Labels]) -> None:
        """Improve some groupings, and combine them."""
        found = [*starts]
        for labels in starts:
            groups = Groups(self.x, labels, self.k, self.rule)
            improve(groups, self.near)
            found.append(groups.labels)
        squares = [squares_within(self.x, labels).sum() for labels in found]
        self.best = found[int(np.argmin(squares))]
        self._seen(found)

    def _seen(self, groupings: list[Labels]) -> None:
        """Accept what is better in some groupings, and remember their groups."""
        # No part gets worse by crossing, and improvements in different places all stay.
        for labels in groupings:
            self.best = crossed(self.x, self.best, labels)
        if self.rule is None:
            every = [*groupings, self.best]
            self.pool.add([one for one in every if np.bincount(one).max() < 2 * self.k])

    def anneal(
        self, turn: Round, rng: np.random.Generator, tick: Callable[[int], None] | None = None
    ) -> None:
        """Anneal copies of the best grouping, and recombine what they become."""
        hot = turn.hot
        if hot == HOT:
            if self.melting is None and turn.steps >= ENOUGH:
                self.melting = self._melting_point(rng)
            hot = self.melting or HOT
        n, copies = len(self.x), turn.copies
        shift = np.repeat(np.arange(copies), n)
        rows = np.tile(np.arange(n), copies)
        top = int(self.best.max()) + 1
        # Side by side, as most of the time of few records goes into calls.
        groups = Groups(
            self.x[rows],
            self.best[rows] + shift * top,
            self.k,
            self.rule and self.rule.take(rows),
        )
        near = self.near[rows] + (shift * n)[:, None]
        units = np.concatenate(
            [self.units[(turn.number + copy) % len(POWERS)] for copy in range(copies)]
        )
        anneal(groups, near, units, Schedule(turn.steps, hot, COLD), rng, tick)
        improve(groups, near)
        found = np.split(groups.labels, copies)
        self._seen([Partition.from_labels(labels).labels for labels in found])
        if self.rule is None:
            for _ in range(max(1, min(DIVES, round(turn.steps / DIVE)))):
                self._recombine()

    def _melting_point(self, rng: np.random.Generator) -> float:
        """Return the temperature at which the best grouping melts, the mean of both units."""
        # Annealings that are not hot begin as they do: from where all records melt, they gained nothing.
        points = []
        for units in self.units:
            groups = Groups(self.x, self.best, self.k, self.rule)
            points.append(melting_point(groups, self.near, units, rng))
        return float(np.exp(np.log(points).mean()))

    def _recombine(self) -> None:
        """Group the records by groups that were seen, improve that, and take over what is better."""
        labels = self.pool.recombined(float(squares_within(self.x, self.best).sum()))
        groups = Groups(self.x, self.best, self.k)
        labels = repaired(groups, self.near, labels)
        if (labels < 0).any():
            return
        groups.reset(labels)
        improve(groups, self.near)
        self._seen([Partition.from_labels(groups.labels).labels])
