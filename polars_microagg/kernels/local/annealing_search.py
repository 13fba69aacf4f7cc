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
from polars_microagg.kernels.local.recombined_search import (
    RecombinedSearch,
    annealing_steps,
    rounds,
)
from polars_microagg.kernels.neighbour_blocks import equal_blocks, mdav_in_blocks
from polars_microagg.kernels.neighbour_lists import neighbour_lists

__all__ = ["AnnealingSearch", "annealing_steps", "block_start", "border_rounds", "tail_and_core"]

Tick = Callable[[int], None]

WARM, COLD = 0.4, 0.1
"""Temperatures at which annealings of patches begin and end after those."""

HOT_PATCHES = ((0.6, 0.36), (0.3, 0.18))
"""Temperatures at which patches of very many records are annealed first."""

HOT_STEPS = 100
"""Steps a record in each of these annealings."""

CUTS = 2
"""Number of times that borders of patches are drawn after those at effort 1."""

LOCAL = 3
"""Cuts with local search only, before patches are annealed again."""

SHORT = 500
"""Steps of annealing a record in each further cut."""

BLOCK = 512
"""Least number of records in a block of the core."""


def border_rounds(effort: float) -> int:
    """Return how often the borders of patches are drawn, at least once."""
    return 1 + len(HOT_PATCHES) + max(1, round(effort * CUTS)) if effort else 1


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
        search = RecombinedSearch(self.x, self.k, near, self.rule)
        search.begin(starts)
        rng = np.random.default_rng(self.seed)
        done = 0
        # What less effort does comes first, and nothing gets worse: so more effort never loses more.
        for turn in rounds(len(self.x), self.effort):
            search.anneal(turn, rng, partial(self._after, done))
            done += turn.steps
        return search.best

    def _after(self, before: int, steps: int) -> None:
        """Report the number of steps after those made before."""
        self.tick(before + steps)

    def across_borders(self, start: Labels) -> Labels:
        """Search patch by patch, the patches cut along other borders each time.

        Starts from groups of k to 2k + 1 records; returns the best grouping seen between two cuts.
        """
        rng = np.random.default_rng(self.seed)
        labels, done = start, 0
        best, least = start, squares_within(self.x, start).sum()

        def visited(records: int) -> None:
            nonlocal done
            done += records
            self.tick(done)

        # A group that a border separates from its neighbours cannot exchange with them. The next cut
        # falls elsewhere (axes turned at random), so over a few cuts every neighbourhood is searched
        # whole.
        for cut in range(border_rounds(self.effort)):
            own = neighbour_count(self.k), rng, _work(cut), self.rule
            labels = in_patches(self.x, labels, self.k, *own, each=self.each, tick=visited)
            # Hot annealings may end higher. More effort goes on from where less ends, and the best
            # is kept: so it never loses more.
            squares = squares_within(self.x, labels).sum()
            if squares < least:
                best, least = labels, squares
        return best


def _work(cut: int) -> Work:
    """Return what is done between two drawings of borders."""
    # Annealing gains more in its time than chains do, but they gain most in the end. So what it can
    # do comes first.
    if cut == 0:
        return _exchange
    hot = range(1, 1 + len(HOT_PATCHES))
    if cut in hot:
        return partial(_anneal_hot, heats=HOT_PATCHES[cut - 1])
    return _improve if cut < hot.stop + LOCAL else _anneal_again


def _exchange(groups: Groups, near: Labels, _: np.random.Generator) -> None:
    """Search a patch without chance, and without chains."""
    exchange(groups, near)


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
