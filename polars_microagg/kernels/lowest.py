"""The search for the lowest sum of squares: a start for any n, then one long annealing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from polars_microagg.kernels.anneal import Schedule, anneal, heat
from polars_microagg.kernels.blocks import equal_blocks, mdav_in_blocks
from polars_microagg.kernels.candidates import candidates
from polars_microagg.kernels.crossover import crossed
from polars_microagg.kernels.groups import Groups
from polars_microagg.kernels.recut import in_patches
from polars_microagg.kernels.refine import improve, neighbour_count, squares_within
from polars_microagg.partition import Labels, Matrix

__all__ = ["Search", "block_start", "steps_for", "tail_of"]

Tick = Callable[[int], None]

STEPS = 12_000_000
"""Steps of annealing at effort 1, from some 1000 records up to `LINEAR`."""

LEAST = 40_000
"""Steps at effort 1 for very few records."""

HOT, COLD = 2.0, 0.1
"""Temperatures of a whole annealing; below the last one hardly anything is accepted."""

LONG = 4
"""From this effort on the steps are shared by annealings after different laws, then crossed."""

LAWS = (0.75, 0.4)
"""Powers of a record's local spread that its temperature goes by."""

MILD = 1.5
"""Temperature at which annealing in patches starts, where there are fewer steps a record."""

CALM = 0.2
"""Where it starts over if that was too hot for the number of steps, as in many columns."""

LINEAR = 4000
"""With more records the steps grow, more slowly than the records."""

CUTS = 8
"""How often the borders of the patches are drawn, and up to twice as often at more effort."""

BLOCK = 512
"""Records of a block of the core, at least."""


def steps_for(n: int, effort: float) -> int:
    """How many steps of annealing an effort means for n records.

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
        How long to anneal; 0 only searches locally.
    seed : int
        Where chance starts.
    tick : callable
        Told the number of steps made.
    """

    x: Matrix
    k: int
    effort: float
    seed: int
    tick: Tick

    def _after(self, before: int) -> Tick:
        """Tell the number of steps after those made before."""
        return lambda steps: self.tick(before + steps)

    def best_of(self, starts: list[Labels]) -> Labels:
        """Improve all starts, anneal the best one, and keep what is best of each part.

        Parameters
        ----------
        starts : list of array of shape (n,)
            Groups of k to 2k + 1 records.

        Returns
        -------
        array of shape (n,)
            No grouping that was seen has a lower sum of squares.
        """
        n, k = len(self.x), self.k
        near = candidates(self.x, np.array([n]), neighbour_count(k))
        found = []
        for labels in starts:
            groups = Groups(self.x, labels, k)
            improve(groups, near)
            found += [labels, groups.labels]
        steps = steps_for(n, self.effort)
        if steps:
            start, powers = self._best(found), LAWS if self.effort >= LONG else LAWS[:1]
            schedule = Schedule(steps // len(powers), HOT, COLD)
            rng = np.random.default_rng(self.seed)
            for turn, power in enumerate(powers):
                groups = Groups(self.x, start, k)
                tick = self._after(turn * schedule.steps)
                anneal(groups, near, heat(self.x, near, k, power), schedule, rng, tick)
                improve(groups, near)
                found.append(groups.labels)
        best = self._best(found)
        for labels in found:
            best = crossed(self.x, best, labels)
        return best

    def across_borders(self, start: Labels) -> Labels:
        """Anneal patch by patch, the patches cut anew as it gets colder.

        Parameters
        ----------
        start : array of shape (n,)
            Groups of k to 2k + 1 records, numbered from 0, none of them empty.

        Returns
        -------
        array of shape (n,)
            The best of the start and the end.
        """
        steps = steps_for(len(self.x), self.effort)
        labels = self._patch_by_patch(start, steps, (MILD, COLD))
        best = self._best([start, labels])
        if steps and best is start:
            calm = replace(self, tick=lambda _: self.tick(steps))
            labels = calm._patch_by_patch(start, steps // 2, (CALM, CALM / 10.0))
            best = self._best([start, labels])
        return best

    def _patch_by_patch(self, start: Labels, steps: int, heats: tuple[float, float]) -> Labels:
        """Anneal between two temperatures; the end may be worse than the start."""
        rng = np.random.default_rng(self.seed)
        cuts = round(CUTS * max(1.0, min(self.effort, 4.0)) ** 0.5)
        hot, cold = heats
        labels, done = start, 0
        for cut in range(cuts):
            warm, cool = (hot * (cold / hot) ** ((cut + i) / cuts) for i in (0, 1))

            def work(
                groups: Groups,
                near: Labels,
                *,
                last: bool = cut == cuts - 1,
                warm: float = warm,
                cool: float = cool,
            ) -> None:
                nonlocal done
                share = steps * len(groups) // (len(self.x) * cuts)
                if share:
                    schedule = Schedule(share, warm, cool)
                    warmth = heat(groups.x[:-1], near, groups.k)
                    anneal(groups, near, warmth, schedule, rng, self._after(done))
                done += share
                if last or not share:
                    improve(groups, near)

            labels = in_patches(self.x, labels, self.k, neighbour_count(self.k), rng, work)
        return labels

    def _best(self, found: list[Labels]) -> Labels:
        squares = [squares_within(self.x, labels).sum() for labels in found]
        return found[int(np.argmin(squares))]


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
