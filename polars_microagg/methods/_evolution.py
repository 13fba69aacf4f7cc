"""A genetic algorithm that groups the records of many macrogroups side by side.

A chromosome gives each record of a macrogroup the number of its group. Chromosomes are the rows of
a matrix, `population` of them for each macrogroup. A macrogroup with fewer records than the largest
has spare places at the end, in a group of their own with the last number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["Evolution", "evolved", "split_oversized"]

AHEAD = 1 << 20
"""Random numbers drawn at a time."""

DIRECTIONS = 32
"""Number of random directions along which groups that are too large are split."""


@dataclass(frozen=True)
class Evolution:
    """Parameters of the evolution of macrogroups."""

    k: int
    population: int
    generations: int
    mutation: float
    crossover: float


def evolved(
    records: Sequence[Matrix],
    start: Sequence[Labels] | None,
    how: Evolution,
    rng: np.random.Generator,
    tick: Callable[[int], None],
) -> list[Labels]:
    """Return the best groups of at least k records, (n,) labels for each macrogroup.

    Each macrogroup has at least 2k records and about as many as the others. `start`, labels from 0,
    become one chromosome of the initial population. `tick` is called with the number of generations
    that are over.
    """
    pool = _Population(records, how, rng)
    chromosomes = pool.repaired(pool.random(rng), 0)
    for first, labels in zip(pool.firsts, start or [], strict=start is not None):
        chromosomes[first, : len(labels)] = labels
    sse = pool.sse(chromosomes)
    ahead = max(1, AHEAD // chromosomes.size)
    for generation in range(how.generations):
        turn = generation % ahead
        if not turn:
            wheel, points, genes = pool.drawn(min(ahead, how.generations - generation), rng)
        best = pool.best(sse)
        elite, least = chromosomes[best], sse[best]
        chromosomes = pool.offspring(chromosomes, sse, wheel[turn], points[turn])
        chromosomes = np.where(genes[turn] < pool.groups, genes[turn], chromosomes)
        chromosomes = pool.repaired(chromosomes, generation)
        sse = pool.sse(chromosomes)
        # Elitism: the best chromosome survives unchanged, so the sum of squared errors never rises
        # (Lemma 1 of the paper for a start from MDAV).
        chromosomes[pool.firsts], sse[pool.firsts] = elite, least
        tick(generation + 1)
    best = pool.best(sse)
    return [c[: len(part)] for c, part in zip(chromosomes[best], records, strict=True)]


class _Population:
    """The macrogroups, and the operators on their chromosomes."""

    def __init__(self, records: Sequence[Matrix], how: Evolution, rng: np.random.Generator) -> None:
        sizes = np.array([len(part) for part in records])
        count, length, d = len(sizes), int(sizes.max()), records[0].shape[1]
        self.how, self.groups = how, length // how.k
        x = np.zeros((count, length, d))
        for macrogroup, part in zip(x, records, strict=True):
            macrogroup[: len(part)] = part - part.mean(axis=0)
        # Gram matrices: with them sums of squares and distances to centroids need no records, which
        # pays with many columns.
        self.products = (x @ x.transpose(0, 2, 1))[:, None]
        self.records = x[:, None]
        self.total = np.repeat((x * x).sum(axis=(1, 2)), how.population)
        along = (x @ rng.standard_normal((DIRECTIONS, d)).T).argsort(axis=1, kind="stable")
        self.rank = along.argsort(axis=1).transpose(0, 2, 1)
        self.spare = np.repeat(np.arange(length) >= sizes[:, None], how.population, axis=0)
        self.firsts = np.arange(count) * how.population
        self.numbers = np.arange(self.groups)[:, None]
        self.place = np.arange(length)
        self.base = np.arange(len(self.spare))[:, None] * (self.groups + 1)
        shape = (count, how.population, self.groups, length)
        self.member, self.sums = np.empty(shape), np.empty(shape)
        self.totals = np.empty((*shape[:3], d))
        self.flat = (len(self.spare), self.groups, length)

    def random(self, rng: np.random.Generator) -> Labels:
        """Draw a group for every record."""
        chromosomes = rng.integers(0, self.groups, self.spare.shape)
        chromosomes[self.spare] = self.groups
        return chromosomes

    def drawn(self, draws: int, rng: np.random.Generator) -> tuple[Vector, Labels, Labels]:
        """Draw what decides some generations: the wheel, where pairs cross, and what mutates."""
        count, length = self.spare.shape
        pairs = self.how.population // 2
        wheel = rng.random((draws, count // self.how.population, self.how.population, 1))
        points = rng.integers(1, length, (draws, count // self.how.population, pairs, 1))
        points[rng.random(points.shape) >= self.how.crossover] = length
        # A number below that of the groups in the given share of genes, each equally often.
        genes = rng.random((draws, count, length)) * (self.groups / max(self.how.mutation, 1e-9))
        genes[:, self.spare] = self.groups
        return wheel, points, np.minimum(genes, self.groups, out=genes).astype(np.intp)

    def best(self, sse: Vector) -> Labels:
        """Return the best chromosome of each macrogroup."""
        best: Labels = sse.reshape(-1, self.how.population).argmin(axis=1) + self.firsts
        return best

    def offspring(self, chromosomes: Labels, sse: Vector, wheel: Vector, points: Labels) -> Labels:
        """Choose parents by the roulette wheel, and cross every two of them at one point."""
        fitness = np.cumsum((1 / (sse + 1)).reshape(len(self.firsts), -1), axis=1)
        parents = (fitness[:, None] < wheel * fitness[:, -1:, None]).sum(axis=2)
        parents += self.firsts[:, None]
        children: Labels = chromosomes[parents]
        tail = self.place >= points
        one, other = children[:, : 2 * points.shape[1] : 2], children[:, 1::2]
        kept = one.copy()
        np.copyto(one, other, where=tail)
        np.copyto(other, kept, where=tail)
        return children.reshape(chromosomes.shape)

    def sse(self, chromosomes: Labels) -> Vector:
        """Return the sum of squared errors of each chromosome."""
        squares, counts = self._squares(chromosomes), self._counts(chromosomes)
        # The sum of squares within groups is the total less |sum|^2 / m of each group.
        squares /= np.maximum(counts[:, :-1], 1)
        within: Vector = np.maximum(self.total - squares.sum(axis=1), 0.0)
        return within

    def repaired(self, chromosomes: Labels, generation: int) -> Labels:
        """Send records of groups below k to the nearest other, and split groups from 2k on.

        The chromosomes are changed in place. Nearest is the group with the nearest centroid; if
        there is none of k, all go together.
        """
        k = self.how.k
        self._multiply(chromosomes, self.products, self.sums)
        sums, counts = self.sums.reshape(self.flat), self._counts(chromosomes)
        small = counts < k
        share = 1 / np.maximum(counts[:, :-1], 1)
        squares = np.einsum("cgi,cgi->cg", self.member.reshape(self.flat), sums)
        squares *= share * share
        # Groups below k cannot take a record in.
        squares[small[:, :-1]] = np.inf
        small[:, -1] = False
        row, place = np.nonzero(small.take(chromosomes + self.base))
        # |x - s/m|^2 less |x|^2, which is the same for all groups of a record: |s|^2/m^2 - 2 x.s/m.
        distances = sums[row, :, place]
        distances *= -2 * share[row]
        distances += squares[row]
        chromosomes[row, place] = distances.argmin(axis=1)
        counts = self._counts(chromosomes)
        large = counts[:, :-1].max(axis=1) >= 2 * k
        rows = np.flatnonzero(large)
        if len(rows):
            rank = self.rank[rows // self.how.population, generation % DIRECTIONS]
            chromosomes[rows] = split_oversized(chromosomes[rows], counts[rows], rank, k)
        return chromosomes

    def _squares(self, chromosomes: Labels) -> Vector:
        """Return the squared length of the sum of each group."""
        if self.records.shape[3] >= self.records.shape[2]:
            self._multiply(chromosomes, self.products, self.sums)
            lengths: Vector = np.einsum("mpgi,mpgi->mpg", self.member, self.sums)
        else:
            self._multiply(chromosomes, self.records, self.totals)
            lengths = np.einsum("mpgi,mpgi->mpg", self.totals, self.totals)
        return lengths.reshape(self.flat[:2])

    def _multiply(self, chromosomes: Labels, factor: Matrix, out: Matrix) -> None:
        """Add up rows of a factor by group: the records, or their products with all records."""
        np.equal(chromosomes[:, None], self.numbers, out=self.member.reshape(self.flat))
        # One product a chromosome: small enough that no number of threads changes its rounding.
        np.matmul(self.member, factor, out=out)

    def _counts(self, chromosomes: Labels) -> Labels:
        """Return the number of records of each group of each chromosome; spare places come last."""
        flat, width = (chromosomes + self.base).ravel(), self.groups + 1
        return np.bincount(flat, minlength=len(chromosomes) * width).reshape(-1, width)


def split_oversized(chromosomes: Labels, counts: Labels, rank: Labels, k: int) -> Labels:
    """Return (c, n) chromosomes with groups of 2k or more split into groups of k.

    The last of these takes the rest.

    `counts` (c, groups + 1) are the sizes of the groups, of which enough are 0; records are split
    in the order of their `rank` (c, n). The last group number stands for spare places.

    >>> one, counts = np.array([[0, 0, 0, 0, 0]]), np.array([[5, 0, 0]])
    >>> split_oversized(one, counts, np.array([[4, 0, 3, 1, 2]]), 2)
    array([[1, 0, 1, 0, 1]])
    """
    index = np.arange(len(chromosomes))[:, None]
    order = (chromosomes * rank.shape[1] + rank).argsort(axis=1)
    group = chromosomes[index, order]
    start = np.cumsum(counts, axis=1) - counts
    parts = np.maximum(counts // k, 1)
    parts[:, -1] = 1
    part = (np.arange(rank.shape[1]) - start[index, group]) // k
    part = np.minimum(part, parts[index, group] - 1)
    fresh = np.zeros(group.shape, dtype=np.intp)
    fresh[:, 1:] = (part[:, 1:] > part[:, :-1]) & (group[:, 1:] == group[:, :-1])
    # Every part has k records or more, so there are no more parts than numbers.
    unused = np.argsort(counts[:, :-1] > 0, axis=1, kind="stable")
    number = unused[index, np.maximum(np.cumsum(fresh, axis=1) - 1, 0)]
    split = np.empty_like(chromosomes)
    split[index, order] = np.where(part > 0, number, group)
    return split
