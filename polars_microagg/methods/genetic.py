"""MDAV refined by a genetic algorithm in small macrogroups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Partition
from polars_microagg.core.registry import Range, method
from polars_microagg.kernels.distance import centred
from polars_microagg.kernels.sum_of_squares import Centroids, commensurable, group_sse
from polars_microagg.methods._evolution import Evolution, evolved
from polars_microagg.methods.mdav import mdav
from polars_microagg.progress import steps_of, ticker

__all__ = ["genetic"]

ALIKE = 1.25
"""Macrogroups that evolve side by side differ in size by no more than this factor."""


@method(
    cite="Martinez-Balleste, Solanas, Domingo-Ferrer and Mateo-Sanz (2007)",
    paper="004",
    cost="n^2/k + generations n",
    seconds=(6e-3, 0.0),
    limit=20_000,
)
def genetic(
    x: Matrix,
    /,
    *,
    k: int,
    steps: Literal[1, 2] = 2,
    macro: Annotated[int, Range(4)] = 27,
    population: Annotated[int, Range(2)] = 10,
    generations: Annotated[int, Range(0, quick=8)] = 10_000,
    mutation: Annotated[float, Range(0, 1)] = 0.1,
    crossover: Annotated[float, Range(0, 1)] = 0.5,
    seed: int = 0,
) -> Partition:
    """Group by MDAV, and let the groups evolve within macrogroups.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Smallest group size, at least 2.
    steps : {1, 2}
        Whether macrogroups are made of records, or of the groups that MDAV makes with k.
    macro : int
        Records in a macrogroup, K in the paper; at least two groups go into one in any case.
    population : int
        Chromosomes of a macrogroup.
    generations : int
        Number of generations.
    mutation : float
        Share of genes that mutate.
    crossover : float
        Share of pairs of parents that are crossed.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    Partition
        Groups of k to 2k - 1 records; one group of all if n < 2k.

    Notes
    -----
    A. Martinez-Balleste, A. Solanas, J. Domingo-Ferrer and J. M. Mateo-Sanz (2007), "A genetic
    approach to multivariate microaggregation for database privacy".

    Two-step partitioning: build a k-partition by MDAV. Taking its average vectors as records, apply
    MDAV to build macrogroups of K/k of them, and replace them by the original records. Then apply a
    genetic algorithm to each macrogroup. The k-partition of the macrogroup is one of the
    chromosomes of its initial population, so the sum of squared errors is never greater than that
    of MDAV (Lemma 1). One-step partitioning: MDAV builds the macrogroups of K records, and all
    chromosomes start at random.

    A gene is the number of a record's group. Parents are chosen by the roulette wheel with the
    fitness 1 / (SSE + 1), crossed at one point and mutated; population, rates and generations are
    those of the paper, and the best chromosome is kept. The paper does not say what becomes of
    chromosomes with groups of less than k or more than 2k - 1 records: here records of the former
    go to the group with the nearest centroid, and the latter are split across a random direction.
    All macrogroups of like size evolve side by side. The time grows with the generations.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0], [8.0], [9.0], [10.0], [20.0], [21.0], [22.0]])
    >>> genetic(x, k=3, generations=100).labels
    array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    """
    n = len(x)
    if n < 2 * k:
        return Partition.from_labels(np.zeros(n, dtype=np.intp))
    columns = centred(x)
    # MDAV, and as many steps for each generation of a record.
    tick = ticker("genetic", n * (generations + 1))
    with steps_of(tick):
        start = mdav(x, k=k).labels if steps == 2 else None
        macrogroup = _macrogroups(columns, start, k, macro)
    done = n
    how = Evolution(k, population, generations, mutation, crossover)
    rng = np.random.default_rng(seed)
    labels = np.zeros(n, dtype=np.intp) if start is None else start.copy()
    for rows in _alike(macrogroup):
        parts = [columns[:, members].T for members in rows]
        known = [Partition.from_labels(labels[members]).labels for members in rows]
        size = sum(map(len, rows))
        report = _after(tick, done, size)
        best = evolved(parts, None if start is None else known, how, rng, report)
        done += size * generations
        for members, part, before, after in zip(rows, parts, known, best, strict=True):
            now = Partition.from_labels(after).labels
            # Lemma 1: an evolution that ends no better leaves the groups of MDAV, so the result is
            # never above them.
            worse = start is not None and _sse(part, now) >= _sse(part, before)
            labels[members] = (before if worse else now) + n * (1 + members[0])
    tick(n * (generations + 1))
    return Partition.from_labels(np.unique(labels, return_inverse=True)[1])


def _after(tick: Callable[[int], None], done: int, size: int) -> Callable[[int], None]:
    """Return a callback that reports generations after the steps done before them."""
    return lambda generation: tick(done + size * generation)


def _macrogroups(columns: Matrix, start: Labels | None, k: int, macro: int) -> Labels:
    """Return the number of the macrogroup of each record."""
    if start is None:
        return mdav(columns.T, k=max(macro, 2 * k)).labels
    means = commensurable(Centroids(columns, start, int(start.max()) + 1))
    return mdav(means.T, k=max(macro // k, 2)).labels[start]


def _alike(macrogroup: Labels) -> list[list[Labels]]:
    """Return the rows of the macrogroups, those of like size together."""
    sizes = np.bincount(macrogroup)
    rows = np.split(np.argsort(macrogroup, kind="stable"), np.cumsum(sizes)[:-1])
    lists: list[list[Labels]] = []
    least = 0
    for number in np.argsort(sizes, kind="stable"):
        if not lists or sizes[number] > ALIKE * least:
            lists.append([])
            least = sizes[number]
        lists[-1].append(rows[number])
    return lists


def _sse(part: Matrix, labels: Labels) -> float:
    """Return the sum of squared errors of a grouping."""
    return float(group_sse(part.T, labels).sum())
