"""Groups that break a rule joined with others, until every group satisfies it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import GroupRule, Labels, Matrix, Members, Partition, Vector
from polars_microagg.kernels.local.annealing import Schedule, anneal, temperature_units
from polars_microagg.kernels.local.annealing_search import AnnealingSearch
from polars_microagg.kernels.local.groups import Groups, largest_searched
from polars_microagg.kernels.local.joined_groups import merged
from polars_microagg.kernels.local.local_search import (
    WHOLE,
    about_zero,
    neighbour_count,
    refined,
    squares_within,
    unheard,
)
from polars_microagg.kernels.local.spread_start import spread_groups
from polars_microagg.kernels.neighbour_lists import neighbour_lists

__all__ = ["Search", "annealed", "repaired"]

Search = Callable[..., Labels]
"""Takes the records of a stratum, its labels and, as `rule`, what its groups must satisfy."""

MANY = 16
"""A group of more than this many times k records is left as it is, where another start is tried."""

FEWEST, FEW = 8, 128
"""Strata of fewer records than this many times k, and than this many, are not spread."""

LAYERS = (2, 3, 4, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128)
"""Numbers of layers that are tried."""

LEAST = 256
"""Strata of fewer records are not annealed."""

EFFORT = 0.125
"""Effort of more annealing, as of `lowloss`."""

STEPS, STEPS_EACH = 2_000_000, 2000
"""Steps of a short annealing: at most, and a record."""

HOT, COLD = 1.0, 0.1
"""Temperatures at which it begins and ends."""

ENOUGH = 0.1
"""Share of groups that may break the rule in a start."""

CELLS = 1 << 22
"""Distances handled at a time."""

KNOWN = 1 << 23
"""Neighbours kept from one start to the next; where there are more they are found anew."""


def repaired(
    x: Matrix,
    labels: Labels,
    sizes: Labels,
    k: int,
    rule: GroupRule,
    longer: Search | None = None,
    tick: Callable[[float], object] = unheard,
    *,
    thorough: bool = True,
) -> tuple[Labels, int]:
    """Return labels and the number of groups that satisfy the rule; as they are if they do.

    `x` (n, d) has the records stratum by stratum. Groups that break the rule are joined with others,
    and the local search follows; a stratum with such groups may start from groups spread over the
    values of a confidential column instead, where that ends lower. `longer` searches on in each such
    stratum. `tick` is called with the share of the work that is done, unless there is none. Unless it is
    `thorough`, only the best start is searched, as in strata of very many records.
    """
    own = Partition.from_labels(labels)
    failing = rule.failing(Members.of(np.arange(len(x)), own.labels, len(own)))
    if not failing.any():
        return labels, len(own)
    # Strata whose groups all satisfy the rule stay as they are.
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    wrong = np.bincount(stratum, failing[own.labels]) > 0
    rows = np.flatnonzero(wrong[stratum])
    part = Partition.from_labels(own.labels[rows]).labels
    tick(0)
    repair = _Repair(x[rows], part, sizes[wrong], k, rule.take(rows))
    part = repair.run(longer, tick, WHOLE if thorough else 0)
    tick(1)
    result = own.labels.copy()
    result[rows] = part + len(x)
    result = Partition.from_labels(result).labels
    return result, int(result.max()) + 1


class _Repair:
    """The repair of strata each of which has groups that break the rule, one as if it were alone."""

    def __init__(self, x: Matrix, labels: Labels, sizes: Labels, k: int, rule: GroupRule) -> None:
        self.x, self.sizes, self.k, self.rule = x, sizes, k, rule
        self.stratum = np.repeat(np.arange(len(sizes)), sizes)
        self.best = self.joined = merged(x, labels, sizes, rule)
        self.least = self.squares(self.best)
        # The same for every start. Very large strata are searched in patches, which have their own.
        self.near: Labels | None = None
        count = neighbour_count(k)
        if sizes.max() <= WHOLE and len(x) * count <= KNOWN:
            self.near = neighbour_lists(about_zero(x, sizes), sizes, count)

    def run(self, longer: Search | None, tick: Callable[[float], object], most: int) -> Labels:
        """Search, and return the labels with the lowest sums of squares.

        Strata of at most so many records are searched from all starts, others from the best.
        """
        starts = _spread_starts(self.x, self.joined, self.sizes, self.k, self.rule, self.near)
        spread = _spreadable(self.sizes, self.k) if starts else np.zeros(len(self.sizes), np.bool_)
        # A start with a group that holds much of its stratum is worse than any spread one.
        largest = np.zeros(len(self.sizes), dtype=np.intp)
        np.maximum.at(largest, self.stratum, np.bincount(self.joined)[self.joined])
        useful = [*[spread] * len(starts), ~(spread & (largest > MANY * self.k))]
        starts.append(self.joined)
        squares = np.stack([self.squares(start) for start in starts])
        squares[~np.array(useful)] = np.inf
        lowest = squares.argmin(axis=0)
        for number, start in enumerate(starts):
            chosen = useful[number] & ((self.sizes <= most) | (lowest == number))

            def searched(share: float, before: int = number) -> None:
                tick((before + share) / (len(starts) + (longer is not None)))

            self._search(start, chosen, longer is None, searched)
        if longer is not None:
            self._search_longer(longer)
        return self.best

    def squares(self, labels: Labels) -> Vector:
        """Return the sum of squares of each stratum."""
        return np.asarray(np.bincount(self.stratum, squares_within(self.x, labels)))

    def _search(
        self,
        start: Labels,
        strata: npt.NDArray[np.bool_],
        quick: bool,
        tick: Callable[[float], object],
    ) -> None:
        """Search locally in some strata."""
        rows = np.flatnonzero(strata[self.stratum])
        if not len(rows):
            return
        rule, other = self.rule.take(rows), self.best.copy()
        own = Partition.from_labels(start[rows]).labels
        sizes = self.sizes[strata]
        near = self.near
        if near is not None:
            place = np.zeros(len(self.x), dtype=np.intp)
            place[rows] = np.arange(len(rows))
            near = place[near[rows]]
        ended = refined(self.x[rows], own, sizes, self.k, rule, quick=quick, tick=tick, near=near)[
            0
        ]
        other[rows] = ended + len(self.x)
        self._keep_better(other)

    def _search_longer(self, longer: Search) -> None:
        """Search on in each stratum."""
        other, ends = self.best.copy(), np.cumsum(self.sizes)
        for end, size in zip(ends.tolist(), self.sizes.tolist(), strict=True):
            rows = np.arange(end - size, end)
            own = Partition.from_labels(self.best[rows]).labels
            ended = longer(self.x[rows], own, rule=self.rule.take(rows))
            other[rows] = ended + len(self.x) + rows[0]
        self._keep_better(other)

    def _keep_better(self, other: Labels) -> None:
        """Replace the labels of the strata in which others have a lower sum of squares."""
        squares = self.squares(other)
        better = squares < self.least
        self.least = np.where(better, squares, self.least)
        labels = np.where(better[self.stratum], other + 3 * len(self.x), self.best)
        self.best = Partition.from_labels(labels).labels


def _spread_starts(
    x: Matrix, labels: Labels, sizes: Labels, k: int, rule: GroupRule, near: Labels | None
) -> list[Labels]:
    """Return other labels of all but small strata, groups spread over the values of a column each."""
    starts: list[Labels] = []
    ends = np.cumsum(sizes)
    large = [np.arange(ends[i] - sizes[i], ends[i]) for i in np.flatnonzero(_spreadable(sizes, k))]
    # Codes of each stratum by itself, so that none depends on others.
    spreads = [rule.take(rows).spreads() for rows in large]
    for columns in zip(*spreads, strict=True):
        start, tight = labels.copy(), []
        for rows, codes in zip(large, columns, strict=True):
            part = x[rows] - x[rows].mean(axis=0)
            layers = _layers(part, codes, k, rule.take(rows))
            # Where few layers do, as many as records do as well, and then the search gains more: it
            # has most to give up. Else single records must be able to move, for which annealing looks.
            loose = 2 * layers <= k
            size = k if loose else layers * max(2, -(-k // layers))
            made = _spread(part, codes, size, k if loose else layers)
            start[rows] = made + len(x) + rows[0]
            tight += [] if loose else [rows]
        start = merged(x, Partition.from_labels(start).labels, sizes, rule)
        for rows in tight:
            own = None if near is None else near[rows] - rows[0]
            made = _briefly_annealed(x[rows], start[rows], k, rule.take(rows), own)
            start[rows] = made + len(x) + rows[0]
        starts.append(Partition.from_labels(start).labels)
    return starts


def _spreadable(sizes: Labels, k: int) -> npt.NDArray[np.bool_]:
    """Return which strata have records enough to be spread."""
    return np.asarray(sizes >= max(FEW, FEWEST * k))


def _layers(x: Matrix, codes: Labels, k: int, rule: GroupRule) -> int:
    """Return the least number of layers that make nearly all groups satisfy the rule."""
    layers = LAYERS[0]
    for layers in LAYERS:
        size = layers * max(2, -(-k // layers))
        if 2 * size > len(x):
            break
        made = _spread(x, codes, size, layers)
        members = Members.of(np.arange(len(x)), made, int(made.max()) + 1)
        if rule.failing(members).mean() <= ENOUGH:
            break
    return layers


def _searchable(labels: Labels, k: int) -> bool:
    """Return whether records are enough and groups small enough for an annealing."""
    many = LEAST <= len(labels) <= WHOLE
    return many and int(np.bincount(labels).max()) <= largest_searched(k)


def _briefly_annealed(
    x: Matrix, labels: Labels, k: int, rule: GroupRule, near: Labels | None
) -> Labels:
    """Return labels after a short annealing of one stratum, unless it is small or huge."""
    labels = Partition.from_labels(labels).labels
    if not _searchable(labels, k):
        return labels
    if near is None:
        # About the same zero as where they are known, so that equally near ones are in the same order.
        size = np.array([len(x)])
        near = neighbour_lists(about_zero(x, size), size, neighbour_count(k))
    x = np.ascontiguousarray(x - x.mean(axis=0))
    groups = Groups(x, labels, k, rule)
    steps = min(STEPS, STEPS_EACH * len(x))
    units = temperature_units(x, near, k)
    anneal(groups, near, units, Schedule(steps, HOT, COLD), np.random.default_rng(0))
    return groups.labels


def annealed(x: Matrix, labels: Labels, *, k: int, rule: GroupRule) -> Labels:
    """Return labels after more annealing of one stratum, unless it is small or huge."""
    if not _searchable(labels, k):
        return labels
    part = np.ascontiguousarray(x - x.mean(axis=0))
    return AnnealingSearch(part, k, EFFORT, 0, unheard, rule).best_of([labels])


def _spread(x: Matrix, codes: Labels, k: int, layers: int) -> Labels:
    """Return labels of spread groups, with each leftover record in the group with the nearest centre."""
    labels = spread_groups(x, codes, k, layers)
    left = np.flatnonzero(labels < 0)
    if not len(left):
        return labels
    grouped = np.flatnonzero(labels >= 0)
    sizes = np.bincount(labels[grouped])
    centres = np.stack([np.bincount(labels[grouped], c) / sizes for c in x[grouped].T], axis=1)
    step = max(1, CELLS // len(centres))
    for first in range(0, len(left), step):
        rows = left[first : first + step]
        far = np.zeros((len(rows), len(centres)))
        for j, column in enumerate(centres.T):
            far += np.square(x[rows, j, None] - column)
        labels[rows] = far.argmin(axis=1)
    return labels
