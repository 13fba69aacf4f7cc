"""The lowest information loss in the time."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from polars_microagg.core.partition import GroupRule, Labels, Matrix, Partition
from polars_microagg.core.registry import Range, method
from polars_microagg.kernels.local.annealing_search import (
    AnnealingSearch,
    annealing_steps,
    block_start,
    border_rounds,
)
from polars_microagg.kernels.local.groups import largest_searched
from polars_microagg.kernels.local.local_search import WHOLE
from polars_microagg.kernels.order.runs import labels_along, optimal_runs, stable_order
from polars_microagg.kernels.order.tour import nearest_point_next
from polars_microagg.methods.mdav import mdav
from polars_microagg.methods.vmdav import vmdav
from polars_microagg.processes.crew import shared
from polars_microagg.progress import progress, ticker

__all__ = ["lowloss", "search_under_rule"]

EXACT = 3_000_000_000
"""MDAV is the start where it has to compare no more than this many pairs of records."""

SECONDS = 1e-4
"""Seconds that a record takes in each drawing of borders, or more."""

FEW = 5000
"""Up to this many records, V-MDAV and a tour through all of them are starts as well."""


def search_under_rule(
    x: Matrix,
    labels: Labels,
    /,
    *,
    k: int,
    rule: GroupRule,
    effort: float = 1.0,
    seed: int = 0,
) -> Labels:
    """Search on from groups that satisfy a rule, under that rule."""
    length = _steps(len(x), effort)
    tick = ticker("lowloss", length)
    # Very large groups stay as they are.
    free = np.flatnonzero(np.bincount(labels)[labels] <= largest_searched(k))
    result = labels + len(x)
    if len(free):
        part = np.ascontiguousarray(x[free] - x[free].mean(axis=0))
        own = Partition.from_labels(labels[free]).labels
        each = shared(_seconds(len(free), effort))
        search = AnnealingSearch(part, k, effort, seed, tick, rule.take(free), each)
        with progress(None):
            whole = len(x) <= WHOLE
            result[free] = search.best_of([own]) if whole else search.across_borders(own)
    tick(length)
    return Partition.from_labels(result).labels


def _steps(n: int, effort: float) -> int:
    """Return how many steps a search reports."""
    whole = n <= WHOLE
    return max(1, annealing_steps(n, effort) if whole else n * border_rounds(effort))


def _seconds(n: int, effort: float) -> float:
    """Estimate how long the patches of n records take on one processor."""
    return SECONDS * n * border_rounds(effort)


@method(cite="this library", sizes="k..2k-1", cost="n", search=search_under_rule)
def lowloss(
    x: Matrix, /, *, k: int, effort: Annotated[float, Range(0, 1000)] = 1.0, seed: int = 0
) -> Partition:
    """Start from MDAV and exchange records and groups, at random and ever more choosily.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Smallest group size, at least 2.
    effort : float, default 1.0
        How long to search. With five columns and 1 it took 1.6 to 2.5 CPU seconds for 1,000 records,
        four to seven for 4,000, with k from 3 to 10, and beyond 20,000 records 0.3 milliseconds for
        each; 10 takes up to ten times that. It is a number of steps, so that the same seed gives the same
        groups on any machine. More never loses more.
    seed : int, default 0
        Where chance starts.

    Returns
    -------
    Partition
        Groups of k to 2k - 1 records, with a sum of squares never above that of MDAV, or with
        very many records of MDAV in blocks.

    Notes
    -----
    The method of this library. An optimal partition has groups of k to 2k - 1 records
    (J. Domingo-Ferrer and J. M. Mateo-Sanz, 2002, IEEE Transactions on Knowledge and Data
    Engineering 14(1), 189-201); to find one is NP-hard.

    If a single column varies, it is cut at its optimum, without a search. *Start.* MDAV, V-MDAV, and the
    optimal partition along the path from record to nearest record. With very many records, MDAV
    for the farthest ones and, in blocks of neighbours, the others.
    *Local search.* Records move to the groups of their nearest neighbours or swap places with
    their members, groups are dissolved, created and split, and chains of up to eight records take
    each other's places; each where the change of the sum of squares is known exactly and negative.
    Of exchanges that touch the same group the best one is made. *Annealing* makes such exchanges
    at random, one that raises the sum of squares by s with probability exp(-s / (t h)), where t
    falls and h grows with the mean squared distance of the record from its k nearest neighbours,
    to the power of 3/4 and 2/5 in turn. Hot is where the best grouping melts: where, as it got warmer,
    its sum of squares rose by a k-th. That is measured once, unless there are few records. Annealing
    starts from the best grouping, in several copies of the records side by side, hot and then twice
    not hot, and again, ever longer; local search follows, and of each part of the records that two
    groupings do not mix with others, the better one is kept.
    *Recombination.* All groups that were seen are remembered, and after each annealing some
    are put together to a grouping: a set partitioning, relaxed by prices of the records (M. Held,
    P. Wolfe and H. P. Crowder, 1974, Mathematical Programming 6, 62-88) and solved by diving, from
    which local search goes on. Efforts differ in where this ends. With more than 20,000 records
    patches are searched, which are cut along other borders each time, so that time and memory are
    linear in n: exchanges, two short annealings, then local search with chains, at effort 1 twice.

    With k above 64 two neighbouring groups are first cut anew along the line of their centres, wherever
    that is better; with k above 200 local search is no more than that, so that its time is not
    quadratic in k.

    *What did not pay*, on generated and public tables: one long annealing; three shorter ones, each
    from the start; drawing only partners other than the neighbour itself, fewer neighbours, all
    members of a group at once, or only records that can move; starting hotter for large k; random
    swaps in many places, each kept if local search made them pay; more neighbours for a single
    record; hot annealing of very many records; with k = 10 two copies for longer instead of eight,
    annealing inside the borders of 8 or 20 groups, dissolving groups more rarely, larger batches,
    other temperatures or shares of hot annealing, half of the copies at one fixed temperature, a
    hotter start with k = 20, two copies for longer only while it is hot, chains only in the best two
    of eight copies, wider chains, and no more recombinations of a kind that gained nothing the first
    time.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [20.0], [21.0], [22.0]])
    >>> lowloss(x, k=2).labels
    array([0, 0, 0, 1, 1, 2, 2, 2])
    """
    n = len(x)
    if n < 2 * k:
        return Partition.from_labels(np.zeros(n, dtype=np.intp))
    varies = np.flatnonzero(np.ptp(x, axis=0) > 0)
    # In one dimension the optimum is known: the dynamic programme along the sorted values.
    if len(varies) <= 1:
        single = x[:, varies] if len(varies) else x[:, :1]
        order = stable_order(single[:, 0])
        return Partition.along(order, optimal_runs(single[order], k))
    x = np.ascontiguousarray(x - x.mean(axis=0))
    length = _steps(n, effort)
    tick = ticker("lowloss", length)
    search = AnnealingSearch(x, k, effort, seed, tick, each=shared(_seconds(n, effort)))
    with progress(None):
        if n <= WHOLE:
            labels = search.best_of([_start(x, k), *_others(x, k)])
        else:
            labels = search.across_borders(_start(x, k))
    tick(length)
    return Partition.from_labels(labels)


def _start(x: Matrix, k: int) -> Labels:
    """Return the groups of MDAV, in blocks if there are very many records."""
    if len(x) ** 2 // k <= EXACT:
        return mdav(x, k=k).labels
    return block_start(x, k, lambda tail: mdav(tail, k=k).labels)


def _others(x: Matrix, k: int) -> list[Labels]:
    """Return groups along a tour through all records, and those of V-MDAV."""
    if len(x) > FEW:
        return []
    path = nearest_point_next(x)
    return [labels_along(path, optimal_runs(x[path], k)), vmdav(x, k=k, gamma=1.0).labels]
