"""The search for the lowest sum of squares: a start for any n, then many short annealings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.candidates import candidates
from polars_microagg.kernels.local.annealing import Schedule, anneal, heat
from polars_microagg.kernels.local.crossover import crossed
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.local_search import (
    exchange,
    improve,
    neighbour_count,
    squares_within,
)
from polars_microagg.kernels.local.patches import in_patches
from polars_microagg.kernels.neighbour_blocks import equal_blocks, mdav_in_blocks

__all__ = ["Search", "block_start", "cuts_for", "steps_for", "tail_of"]

Tick = Callable[[int], None]

STEPS = 8_000_000
"""Steps of annealing at effort 1, from some 1000 records up to `LINEAR`."""

LEAST = 400_000
"""Steps at effort 1 for very few records."""

LINEAR = 4000
"""With more records the steps grow, more slowly than the records."""

ROUNDS = 8
"""Annealings at effort 1 after a hot one that has half of the steps; they grow with its root."""

LONG = 500
"""Steps a record that a hot annealing needs at least; with fewer there is none."""

HOT, WARM, COLD = 1.0, 0.4, 0.1
"""Where the first annealing begins, and the others; below the last hardly anything is accepted."""

LAWS = (0.75, 0.4)
"""Powers of a record's local spread that its temperature goes by, in turn."""

MELTS = ((0.6, 0.36), (0.3, 0.18))
"""Temperatures at which patches of very many records are annealed first."""

MELTING = 100
"""Steps of that a record, each time."""

CUTS = 2
"""How often the borders of patches are drawn afterwards for `MANY` records at effort 1."""

MANY = 100_000
"""With more records the borders are drawn less often, with fewer ones more often."""

LOCAL = 3
"""Cuts that are searched locally before patches are annealed again."""

SHORT = 500
"""Steps of annealing a record in each further cut."""

BLOCK = 512
"""Records of a block of the core, at least."""


def steps_for(n: int, effort: float) -> int:
    """How many steps of annealing an effort means for n records that are searched whole.

    Parameters
    ----------
    n : int
        Number of records.
    effort : float
        At least 0.

    Returns
    -------
    int
        The number of steps; it does not depend on the data or on the machine.
    """
    few = max(LEAST, 2.0 * n**2.5)
    steps = min(STEPS, few) if n <= LINEAR else STEPS * (n / LINEAR) ** 0.7
    return int(effort * steps)


def cuts_for(n: int, effort: float) -> int:
    """How often the borders of the patches are drawn for n records.

    Parameters
    ----------
    n : int
        Number of records.
    effort : float
        At least 0.

    Returns
    -------
    int
        At least 1; with any effort a few more, for annealing.
    """
    cuts: float = effort * CUTS * (MANY / n) ** 0.3
    return max(1, round(cuts)) + (len(MELTS) if effort else 0)


@dataclass(frozen=True, eq=False)
class Search:
    """A search among the groupings of some records.

    Parameters
    ----------
    x : array of shape (n, d)
        Records about zero, n >= 2k.
    k : int
        Smallest group size.
    effort : float
        How long to search; 0 only searches locally.
    seed : int
        Where chance starts.
    tick : callable
        Told the number of steps made, or with patches of records looked at.
    """

    x: Matrix
    k: int
    effort: float
    seed: int
    tick: Tick

    def best_of(self, starts: list[Labels]) -> Labels:
        """Improve the best start, then anneal again and again and keep what is best of each part.

        Parameters
        ----------
        starts : list of array of shape (n,)
            Groups of k to 2k + 1 records.

        Returns
        -------
        array of shape (n,)
            No grouping that was seen has a lower sum of squares.
        """
        near = candidates(self.x, np.array([len(self.x)]), neighbour_count(self.k))
        found = list(starts)
        for labels in starts:
            groups = Groups(self.x, labels, self.k)
            improve(groups, near)
            found.append(groups.labels)
        squares = [squares_within(self.x, labels).sum() for labels in found]
        best = found[int(np.argmin(squares))]
        for labels in found:
            best = crossed(self.x, best, labels)
        return self._annealed(best, near)

    def _annealed(self, best: Labels, near: Labels) -> Labels:
        """Anneal from the best grouping, and take over the parts that have become better."""
        n = len(self.x)
        steps = steps_for(n, self.effort)
        warmth = [heat(self.x, near, self.k, power) for power in LAWS]
        rng = np.random.default_rng(self.seed)
        rounds = max(1, round(ROUNDS * (self.effort * LINEAR / max(n, LINEAR)) ** 0.5))
        hot = steps >= 2 * LONG * n
        each = steps // (2 * rounds if hot else rounds)
        schedules = [Schedule(each, WARM, COLD)] * rounds if each else []
        if hot:
            schedules.insert(0, Schedule(rounds * each, HOT, COLD))
        done = 0
        for turn, schedule in enumerate(schedules):
            groups = Groups(self.x, best, self.k)
            tick = partial(self._after, done)
            anneal(groups, near, warmth[turn % len(LAWS)], schedule, rng, tick)
            improve(groups, near)
            best = crossed(self.x, best, groups.labels)
            done += schedule.steps
        return best

    def _after(self, before: int, steps: int) -> None:
        """Tell the number of steps after those made before."""
        self.tick(before + steps)

    def across_borders(self, start: Labels) -> Labels:
        """Search patch by patch, the patches cut along other borders each time.

        Parameters
        ----------
        start : array of shape (n,)
            Groups of k to 2k + 1 records, numbered from 0, none of them empty.

        Returns
        -------
        array of shape (n,)
            The better one of the start and the end.
        """
        rng = np.random.default_rng(self.seed)
        melts = MELTS if self.effort else ()
        labels, done = start, 0
        for cut in range(cuts_for(len(self.x), self.effort)):

            def work(groups: Groups, near: Labels, *, cut: int = cut) -> None:
                nonlocal done
                if cut < len(melts):
                    _melt(groups, near, rng, melts[cut])
                    exchange(groups, near)
                elif cut < len(melts) + LOCAL:
                    improve(groups, near)
                else:
                    _again(groups, near, rng)
                done += len(groups)
                self.tick(done)

            labels = in_patches(self.x, labels, self.k, neighbour_count(self.k), rng, work)
        before, after = (squares_within(self.x, found).sum() for found in (start, labels))
        return labels if after < before else start


def _melt(
    groups: Groups, near: Labels, rng: np.random.Generator, heats: tuple[float, float]
) -> None:
    """Anneal a patch shortly."""
    warmth = heat(groups.x[:-1], near, groups.k)
    anneal(groups, near, warmth, Schedule(MELTING * len(groups), *heats), rng)


def _again(groups: Groups, near: Labels, rng: np.random.Generator) -> None:
    """Anneal a patch from where it is, and keep the parts that have become better."""
    x, before = groups.x[:-1], groups.labels.copy()
    anneal(groups, near, heat(x, near, groups.k), Schedule(SHORT * len(groups), WARM, COLD), rng)
    improve(groups, near)
    groups.reset(crossed(x, before, groups.labels))


def tail_of(x: Matrix, k: int) -> tuple[Labels, Labels]:
    """Set the farthest records apart, so that the others fill equal blocks.

    Parameters
    ----------
    x : array of shape (n, d)
        Records about zero.
    k : int
        Smallest group size.

    Returns
    -------
    tail : array
        Rows of the records farthest from zero, ascending.
    core : array of shape (b, m)
        Rows of the others in blocks of neighbours; b may be 0.
    """
    n = len(x)
    least = min(n // 8, 1 << 15)
    count = 1
    while (n - least) // (2 * count) >= max(BLOCK, 32 * k):
        count *= 2
    size = (n - least) // count // k * k
    if count == 1:
        return np.arange(n), np.empty((0, 0), dtype=np.intp)
    norms = np.einsum("ij,ij->i", x, x)
    order = np.argpartition(norms, size * count)
    core = np.sort(order[: size * count])
    return np.sort(order[size * count :]), core[equal_blocks(x[core], count)]


def block_start(x: Matrix, k: int, mdav: Callable[[Matrix], Labels]) -> Labels:
    """Group the farthest records exactly, and the others by blocks.

    Parameters
    ----------
    x : array of shape (n, d)
        Records about zero.
    k : int
        Smallest group size.
    mdav : callable
        Groups the farthest records.

    Returns
    -------
    array of shape (n,)
        Groups of k to 2k - 1 records, numbered from 0, none of them empty.
    """
    tail, core = tail_of(x, k)
    labels = np.empty(len(x), dtype=np.intp)
    labels[tail] = mdav(x[tail])
    if core.size:
        own = np.arange(core.size).reshape(core.shape)
        inside = mdav_in_blocks(x[core.reshape(-1)], own, k)
        labels[core.reshape(-1)] = inside + int(labels[tail].max()) + 1
    return labels
