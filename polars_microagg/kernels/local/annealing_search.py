"""The search for the lowest sum of squares: a start for any n, then many short annealings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from polars_microagg.core.partition import GroupRule, Labels, Matrix
from polars_microagg.kernels.local.annealing import Schedule, anneal, temperature_units
from polars_microagg.kernels.local.crossover import crossed
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.local_search import (
    exchange,
    improve,
    neighbour_count,
    squares_within,
)
from polars_microagg.kernels.local.patches import Map, Work, in_patches
from polars_microagg.kernels.neighbour_blocks import equal_blocks, mdav_in_blocks
from polars_microagg.kernels.neighbour_lists import neighbour_lists

__all__ = ["AnnealingSearch", "annealing_steps", "block_start", "border_rounds", "tail_and_core"]

Tick = Callable[[int], None]

STEPS = 8_000_000
"""Steps of annealing at effort 1, from some 1000 records up to `LINEAR`."""

LEAST = 400_000
"""Least number of steps at effort 1, for very few records."""

LINEAR = 4000
"""Beyond this many records the steps grow, more slowly than the records."""

ROUNDS = 8
"""Annealings at effort 1 after a hot one that has half of the steps; they grow with the root of the
effort."""

LONG = 500
"""Steps a record that a hot annealing needs; with fewer there is none."""

HOT, WARM, COLD = 1.0, 0.4, 0.1
"""Where the first annealing begins, and the others; below the last hardly anything is accepted."""

POWERS = (0.75, 0.4)
"""Powers of a record's local spread in its temperature, in turn."""

HOT_PATCHES = ((0.6, 0.36), (0.3, 0.18))
"""Temperatures at which patches of very many records are annealed first."""

HOT_STEPS = 100
"""Steps a record in each of these annealings."""

CUTS = 2
"""Number of times that borders of patches are drawn after those, for `MANY` records at effort 1."""

MANY = 100_000
"""With more records the borders are drawn less often, with fewer more often."""

LOCAL = 3
"""Cuts with local search only, before patches are annealed again."""

SHORT = 500
"""Steps of annealing a record in each further cut."""

BLOCK = 512
"""Least number of records in a block of the core."""


def annealing_steps(n: int, effort: float) -> int:
    """Return the number of annealing steps for n records and an effort.

    It depends on nothing else.
    """
    few = max(LEAST, 2.0 * n**2.5)
    steps = min(STEPS, few) if n <= LINEAR else STEPS * (n / LINEAR) ** 0.7
    return int(effort * steps)


def border_rounds(n: int, effort: float) -> int:
    """Return how often the borders of patches are drawn, at least once."""
    cuts: float = effort * CUTS * (MANY / n) ** 0.3
    return max(1, round(cuts)) + (len(HOT_PATCHES) if effort else 0)


@dataclass(frozen=True, eq=False)
class AnnealingSearch:
    """A search among the groupings of the (n, d) records `x` about zero, n >= 2k.

    With effort 0 it is a local search only. `tick` is called with the number of steps made, or with
    patches of records visited; `each` is a function like map, which may visit several at a time.
    """

    x: Matrix
    k: int
    effort: float
    seed: int
    tick: Tick
    rule: GroupRule | None = None
    each: Map = map

    def best_of(self, starts: list[Labels]) -> Labels:
        """Improve the starts and anneal from the best; return the best grouping seen."""
        near = neighbour_lists(self.x, np.array([len(self.x)]), neighbour_count(self.k))
        groupings = list(starts)
        for labels in starts:
            groups = Groups(self.x, labels, self.k, self.rule)
            improve(groups, near)
            groupings.append(groups.labels)
        squares = [squares_within(self.x, labels).sum() for labels in groupings]
        best = groupings[int(np.argmin(squares))]
        # No part gets worse by crossing, so the result is at most the best of all starts.
        for labels in groupings:
            best = crossed(self.x, best, labels)
        return self._annealed(best, near)

    def _annealed(self, best: Labels, near: Labels) -> Labels:
        """Anneal from the best grouping, again and again, and take over the parts that improved."""
        n = len(self.x)
        steps = annealing_steps(n, self.effort)
        units = [temperature_units(self.x, near, self.k, power) for power in POWERS]
        rng = np.random.default_rng(self.seed)
        rounds = max(1, round(ROUNDS * (self.effort * LINEAR / max(n, LINEAR)) ** 0.5))
        hot = steps >= 2 * LONG * n
        steps_each = steps // (2 * rounds if hot else rounds)
        schedules = [Schedule(steps_each, WARM, COLD)] * rounds if steps_each else []
        if hot:
            schedules.insert(0, Schedule(rounds * steps_each, HOT, COLD))
        done = 0
        for turn, schedule in enumerate(schedules):
            # Each annealing starts from the best grouping. `crossed` keeps, of each part where old
            # and new differ, the better one: no round can raise the sum of squares, and
            # improvements in different places all stay.
            groups = Groups(self.x, best, self.k, self.rule)
            tick = partial(self._after, done)
            anneal(groups, near, units[turn % len(POWERS)], schedule, rng, tick)
            improve(groups, near)
            best = crossed(self.x, best, groups.labels)
            done += schedule.steps
        return best

    def _after(self, before: int, steps: int) -> None:
        """Report the number of steps after those made before."""
        self.tick(before + steps)

    def across_borders(self, start: Labels) -> Labels:
        """Search patch by patch, the patches cut along other borders each time.

        Starts from groups of k to 2k + 1 records; returns the better one of the start and the end.
        """
        rng = np.random.default_rng(self.seed)
        hot_patches = HOT_PATCHES if self.effort else ()
        labels, done = start, 0

        def visited(records: int) -> None:
            nonlocal done
            done += records
            self.tick(done)

        # A group that a border separates from its neighbours cannot exchange with them. The next cut
        # falls elsewhere (axes turned at random), so over a few cuts every neighbourhood is searched
        # whole.
        for cut in range(border_rounds(len(self.x), self.effort)):
            work: Work = _anneal_again
            if cut < len(hot_patches):
                work = partial(_anneal_hot, heats=hot_patches[cut])
            elif cut < len(hot_patches) + LOCAL:
                work = _improve
            own = neighbour_count(self.k), rng, work, self.rule
            labels = in_patches(self.x, labels, self.k, *own, each=self.each, tick=visited)
        # The hot annealings may end above the start. Then the start is returned, so no effort makes
        # it worse.
        before, after = (squares_within(self.x, grouping).sum() for grouping in (start, labels))
        return labels if after < before else start


def _improve(groups: Groups, near: Labels, _: np.random.Generator) -> None:
    """Search a patch without chance."""
    improve(groups, near)


def _anneal_hot(
    groups: Groups, near: Labels, rng: np.random.Generator, heats: tuple[float, float]
) -> None:
    """Anneal a patch briefly from a high temperature."""
    units = temperature_units(groups.x[:-1], near, groups.k)
    anneal(groups, near, units, Schedule(HOT_STEPS * len(groups), *heats), rng)
    exchange(groups, near)


def _anneal_again(groups: Groups, near: Labels, rng: np.random.Generator) -> None:
    """Anneal a patch from its grouping, and keep the parts that improved."""
    x, before = groups.x[:-1], groups.labels.copy()
    anneal(
        groups,
        near,
        temperature_units(x, near, groups.k),
        Schedule(SHORT * len(groups), WARM, COLD),
        rng,
    )
    improve(groups, near)
    groups.reset(crossed(x, before, groups.labels))


def tail_and_core(x: Matrix, k: int) -> tuple[Labels, Labels]:
    """Return the rows of the farthest records, and (b, m) equal blocks of the others.

    There may be no block.
    """
    n = len(x)
    least = min(n // 8, 1 << 15)
    count = 1
    while (n - least) // (2 * count) >= max(BLOCK, 32 * k):
        count *= 2
    size = (n - least) // count // k * k
    if count == 1:
        return np.arange(n), np.empty((0, 0), dtype=np.intp)
    # The farthest records are where MDAV starts and where blocks would cut badly, so these are
    # grouped exactly.
    norms = np.einsum("ij,ij->i", x, x)
    order = np.argpartition(norms, size * count)
    core = np.sort(order[: size * count])
    return np.sort(order[size * count :]), core[equal_blocks(x[core], count)]


def block_start(x: Matrix, k: int, mdav: Callable[[Matrix], Labels]) -> Labels:
    """Group the farthest records by `mdav`, the others by MDAV in blocks.

    Return (n,) labels from 0.
    """
    tail, core = tail_and_core(x, k)
    labels = np.empty(len(x), dtype=np.intp)
    labels[tail] = mdav(x[tail])
    if core.size:
        own = np.arange(core.size).reshape(core.shape)
        inside = mdav_in_blocks(x[core.reshape(-1)], own, k)
        labels[core.reshape(-1)] = inside + int(labels[tail].max()) + 1
    return labels
