"""Original records of a sample, each compared with all masked records, which are read piece by piece."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.risk.record_linkage import FARTHEST, SLACK
from polars_microagg.out_of_core.coordinate_files import CoordinateFiles
from polars_microagg.out_of_core.sampled_strata import SampledStrata
from polars_microagg.out_of_core.streamed_sums import Categories, Numbers

__all__ = ["Linkage", "Share", "drawn_rows", "share_of"]

FIRST = 4096
"""Masked records that are compared first: many sampled ones are nearer to one of them than to their own."""

NORMAL = 1.959963984540054
"""Quantile of the normal distribution for intervals of 95 %."""

SWEEP = 1 << 20
"""Rows whose hashes are in memory at a time."""


def drawn_rows(rows: int, sample: int, seed: int) -> Labels:
    """Return the rows, ascending, whose numbers have the lowest hashes by this seed.

    >>> len(drawn_rows(1000, 10, 0)), drawn_rows(3, 10, 0)
    (10, array([0, 1, 2]))
    """
    kept, least = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.intp)
    start_of = _mixed(np.array([seed], dtype=np.uint64))
    for start in range(0, rows, SWEEP):
        numbers = np.arange(start, min(rows, start + SWEEP), dtype=np.intp)
        hashes = _mixed(_mixed(numbers.astype(np.uint64) + start_of) ^ start_of)
        kept, least = np.concatenate([kept, hashes]), np.concatenate([least, numbers])
        if len(kept) > sample:
            chosen = np.argpartition(kept, sample)[:sample]
            kept, least = kept[chosen], least[chosen]
    return np.sort(least)


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Mix the bits of numbers: different ones stay different (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


@dataclass(frozen=True)
class Share:
    """A mean of a sample, with an interval that has that of all in 95 of 100 samples."""

    mean: float
    low: float
    high: float
    sampled: int


def share_of(hits: Vector, rows: int) -> Share:
    """Estimate the mean of all rows, of which those of `hits` were drawn without repetition.

    The interval is that of Wilson (1927) for as many drawn as would estimate a share as precisely:
    the hits may be parts, which vary less than zeros and ones, and few rows may be left undrawn.

    >>> share = share_of(np.array([1.0] * 20 + [0.0] * 80), 10**6)
    >>> round(share.low, 3), round(share.high, 3)
    (0.133, 0.289)
    """
    m, mean = len(hits), float(hits.mean())
    if m >= rows:
        return Share(mean, mean, mean, m)
    variance = float(hits.var()) * m / max(m - 1, 1) * (rows - m) / (rows - 1)
    # Where all drawn are alike nothing is known of their variance, but that of zeros and ones.
    worth = m * mean * (1 - mean) / variance if variance > 0 else m * (rows - 1) / (rows - m)
    worth = max(worth, 1.0)
    square = NORMAL**2 / worth
    middle = (mean + square / 2) / (1 + square)
    half = math.sqrt(square * (mean * (1 - mean) + square / 4)) / (1 + square)
    return Share(mean, max(0.0, middle - half), min(1.0, middle + half), m)


@dataclass(frozen=True, eq=False)
class Linkage:
    """The standardised columns of two tables in files, as an intruder compares them."""

    files: CoordinateFiles
    numbers: Numbers
    categories: dict[int, Categories]
    size: int
    strata: SampledStrata | None = None

    def hits(self, rows: Labels) -> Vector:
        """Return the (m,) chance of some records to be linked to their own masked record.

        Each is compared with all masked records, or those of its stratum, of which the strata of `rows`
        are known: the chance is 1 divided by the number of those at the least distance, if the own one
        is among them, else 0.
        """
        columns = range(len(self.files.columns))
        x, own = (self._placed([self.files.at(j, side, rows) for j in columns]) for side in (0, 1))
        if not x.shape[1] and self.strata is None:
            return np.full(len(rows), 1.0 / max(self.files.rows, 1))
        slack = SLACK * max(self._largest(), 1.0)
        nearest = np.sqrt(((x - own) ** 2).sum(axis=1))
        radius = nearest + 2 * slack
        apart = 2.0 * min(float(radius.max(initial=0.0)), FARTHEST) + 1.0
        if self.strata is not None:
            x = np.column_stack([x, apart * self.strata.own])
        alive, axis = np.arange(len(rows)), -1
        for y in self._masked(alive, apart):
            if axis < 0:
                axis = min(
                    range(y.shape[1]), key=lambda j: _candidates(x, np.sort(y[:, j]), radius, j)
                )
            for who, distance in _near(x[alive], y, radius[alive], axis):
                np.minimum.at(nearest, alive[who], distance)
            # What has a nearer one than its own is no hit, whatever comes.
            alive = alive[radius[alive] - 2 * slack <= nearest[alive] + slack]
            if not len(alive):
                break
        tied = np.zeros(len(rows))
        for y in self._masked(alive, apart):
            for who, distance in _near(x[alive], y, radius[alive], axis):
                equal = distance <= nearest[alive[who]] + slack
                tied += np.bincount(alive[who[equal]], minlength=len(rows))
        hits: Vector = np.divide(1.0, tied, out=np.zeros(len(rows)), where=tied > 0)
        return hits

    def _masked(self, wanted: Labels, apart: float) -> Iterator[Matrix]:
        """Yield all masked records piece by piece, the first piece small.

        Of strata only those of the sample are left, in one coordinate more, in which they are `apart`.
        """
        if not len(wanted):
            return
        stops = [0, *range(min(FIRST, self.size), self.files.rows, self.size), self.files.rows]
        for start, stop in itertools.pairwise(stops):
            columns = range(len(self.files.columns))
            piece = self._placed([self.files.read(j, 1, start, stop) for j in columns])
            if self.strata is not None:
                number = self.strata.read(start, stop)
                piece = np.column_stack([piece, apart * number])[number >= 0]
            if len(piece):
                yield piece

    def _largest(self) -> float:
        """Return the largest standardised number of both tables."""
        largest = 0.0
        for side in (0, 1):
            for start in range(0, self.files.rows, self.size):
                stop = min(self.files.rows, start + self.size)
                columns = range(len(self.files.columns))
                placed = self._placed([self.files.read(j, side, start, stop) for j in columns])
                largest = max(largest, float(np.abs(placed).max(initial=0.0)))
        return largest

    def _placed(self, columns: list[Vector]) -> Matrix:
        """Return records as an intruder compares them: an absent value is the mean, and a column more."""
        made = [np.empty((len(columns[0]), 0))]
        places = {j: place for place, j in enumerate(self.numbers.chosen)}
        for j, column in enumerate(columns):
            absent = np.isnan(column)
            if j in places:
                of, gaps = places[j], bool(self.numbers.gaps[places[j]])
                if self.numbers.varies[of]:
                    scaled = self.numbers.one(of, column)
                    made.append(np.where(absent, 0.0, scaled)[:, None])
            else:
                found = self.categories[j]
                gaps = found.gaps
                if found.varies:
                    placed = np.vstack([found.table, np.zeros((1, found.table.shape[1]))])
                    made.append(placed[np.where(absent, -1, column).astype(np.intp)])
            if gaps:
                made.append(absent.astype(np.float64)[:, None])
        return np.hstack(made)


def _candidates(x: Matrix, ranked: Vector, radius: Vector, j: int) -> int:
    """Count the masked records that are near in one column."""
    low = np.searchsorted(ranked, x[:, j] - radius)
    return int((np.searchsorted(ranked, x[:, j] + radius, "right") - low).sum())


def _near(x: Matrix, y: Matrix, radius: Vector, axis: int) -> Iterator[tuple[Labels, Vector]]:
    """Yield records and distances of masked ones that are no farther than the radius of the record."""
    order = np.argsort(y[:, axis])
    x, y = np.asfortranarray(x), np.asfortranarray(y[order])
    low = np.searchsorted(y[:, axis], x[:, axis] - radius)
    high = np.searchsorted(y[:, axis], x[:, axis] + radius, "right")
    first, *rest = [j for j in range(y.shape[1]) if j != axis] or [axis]
    aside = np.empty(len(y))
    # Records are taken together until they have as many candidates as there are masked records.
    block = np.cumsum(high - low) // max(8 * len(y), 1)
    for rows in np.split(np.arange(len(x)), np.flatnonzero(np.diff(block)) + 1):
        found = []
        for row in rows.tolist():
            # What is near in one column lies together, and is not gathered.
            beside = y[low[row] : high[row], first]
            apart = np.abs(np.subtract(beside, x[row, first], out=aside[: len(beside)]))
            found.append(np.flatnonzero(apart <= radius[row]) + low[row])
        who, at = np.repeat(rows, list(map(len, found))), np.concatenate(found)
        # Column by column, fewer are left.
        for j in rest:
            inside = np.abs(y[:, j].take(at) - x[:, j].take(who)) <= radius.take(who)
            who, at = who[inside], at[inside]
        squares = np.zeros(len(who))
        for j in range(y.shape[1]):
            squares += (y[:, j].take(at) - x[:, j].take(who)) ** 2
        distance = np.sqrt(squares)
        within = distance <= radius.take(who)
        yield who[within], distance[within]
