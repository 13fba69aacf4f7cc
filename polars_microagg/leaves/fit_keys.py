"""Keys of leaves fitted to a sample: the categories of each column, and its weight in distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.core.kind import Kind
from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.frames.columns import kind_for, numbers
from polars_microagg.kernels.scale import scaled
from polars_microagg.leaves.key_columns import Classes, Key, KeyColumns, Points, Ranks, memberships

__all__ = ["fitted_keys"]

MOST = 32
"""Classes of all columns together by which a table is cut: those that tell most."""

RANKED = 1000
"""Most categories of an ordered column that leaves know."""

LARGEST = 2.0**1020
"""Differences of values up to this size do not overflow."""

EXPONENT = 1000
"""Weights are below this power of two."""


@dataclass(frozen=True)
class _Column:
    """A column of the sample: its numbers, how they scale, and what leaves may know of it.

    Where the column has an embedding, its numbers are two that have its total variance, and `span` is the
    largest distance there is.
    """

    values: Vector
    unit: float
    span: float | None
    known: Key
    told: Vector
    """Share of the total variance of each class."""


def fitted_keys(
    sample: pl.DataFrame,
    kinds: Mapping[str, Any],
    column_weights: Mapping[str, float],
    scale: str,
    k: int,
    records: int,
    entity: Labels | None,
) -> tuple[KeyColumns, Vector]:
    """Return what leaves know of the columns of a sample, and the weight of each in distances.

    `records` is the number of records of the whole table. Categories are known if at least k records
    of the sample have them, or k entities, whose codes are in `entity`.
    """
    read = []
    for name in sample.columns:
        column = sample[name].alias("")
        kind = kind_for(name, column.dtype, kinds)
        read.append(_read(column, kind, _Holders(k, entity), records))
    x = np.asfortranarray(np.column_stack([one.values for one in read]))
    weights = _weights(x, read, scale)
    heavy = weights * np.sqrt([column_weights.get(name, 1.0) for name in sample.columns])
    return KeyColumns(tuple(sample.columns), kinds, _most_telling(read, heavy)), weights


@dataclass(frozen=True)
class _Holders:
    """Holders of a category: records, or entities by their codes."""

    k: int
    entity: Labels | None

    def well(self, paths: Labels, number: Labels, classes: int) -> np.ndarray:
        """Return which classes k are under, given the path of each value and the value of each record."""
        held = np.zeros(classes, dtype=np.intp)
        for nodes in paths.T:
            own = nodes[number]
            rows = np.flatnonzero(own >= 0)
            if self.entity is None:
                held += np.bincount(own[rows], minlength=classes)
            else:
                most = int(self.entity.max(initial=0)) + 1
                pairs = np.unique(own[rows] * most + self.entity[rows])
                held += np.bincount(pairs // most, minlength=classes)
        return held >= self.k


def _read(column: pl.Series, kind: Kind, holders: _Holders, records: int) -> _Column:
    """Return one column of the sample; nulls have no number, and count for nothing."""
    none, n = np.empty(0), len(column)
    if column.null_count() and not (kind.numeric and kind.embedding(column.clear()) is None):
        there = column.is_not_null().to_numpy()
        entity = None if holders.entity is None else holders.entity[there]
        present = _read(column.drop_nulls(), kind, _Holders(holders.k, entity), records)
        filled = np.full(n, np.nan)
        filled[there] = present.values
        return replace(present, values=filled)
    if kind.numeric:
        embedding = kind.embedding(column)
        if embedding is None:
            own = numbers(column, None, kind)
            return _Column(own, kind.unit(column.dtype), None, None, none)
        points = embedding.coordinates(kind.coordinates(column, None))
        width = points.shape[1] if embedding.points is None else embedding.points.shape[1]
        variance = float(points.var(axis=0).sum()) if len(column) else 0.0
        return _Column(_halves(len(column), variance), 1.0, embedding.span, Points(width), none)
    codes = kind.coordinates(column, None)
    _, first, number, counts = np.unique(
        codes, return_index=True, return_inverse=True, return_counts=True
    )
    values = column.gather(pl.Series(first, dtype=pl.UInt32))
    if kind.ordered:
        one = np.arange(len(values))[:, None]
        well = holders.well(one, number, len(values))
        # The commonest, if they are too many.
        ranked = np.flatnonzero(well)
        ranked = np.sort(ranked[np.argsort(-counts[ranked], kind="stable")[:RANKED]])
        texts = values.cast(pl.String).gather(pl.Series(ranked, dtype=pl.UInt32)).to_list()
        before = (np.cumsum(counts) - counts)[ranked].tolist()
        order = Ranks(tuple(texts), tuple(before), tuple(counts[ranked].tolist()), len(column))
        # Ranks of a sample are as much closer as it has fewer records.
        return _Column(codes, records / max(len(column), 1), None, order, none)
    embedding = kind.embedding(column)
    span = embedding.span if embedding else 1.0
    found = kind.classes(values)
    if found is None:
        return _Column(_halves(len(column), 1.0), 1.0, span, Classes(), none)
    names, paths, lengths = found
    under = np.zeros(len(names) + 1)
    for nodes in paths.T:
        np.add.at(under, nodes, counts)
    share = under[:-1] / max(len(column), 1)
    told = lengths * share * (1 - share)
    well = np.flatnonzero(holders.well(paths, number, len(names)) & (told > 0))
    well = well[np.argsort(-told[well], kind="stable")[: 4 * MOST]]
    known, told_each = _merged(kind, values, [names[c] for c in well], lengths[well], told[well])
    return _Column(_halves(len(column), float(told.sum())), 1.0, span, known, told_each)


def _merged(
    kind: Kind, values: pl.Series, names: list[str], lengths: Vector, told: Vector
) -> tuple[Classes, Vector]:
    """Return classes, of those that part the records alike only the first, for all of them."""
    inside = memberships(kind, values, names)
    sides: dict[bytes, int] = {}
    for j, own in enumerate((inside ^ inside[:1]).T):
        sides.setdefault(np.packbits(own).tobytes(), j)
    first = np.array([sides[np.packbits(own).tobytes()] for own in (inside ^ inside[:1]).T])
    kept = np.array(sorted(sides.values()), dtype=np.intp)
    total = np.zeros((2, len(names)))
    for j, target in enumerate(first.tolist()):
        total[:, target] += lengths[j], told[j]
    known = Classes(tuple(names[j] for j in kept), tuple(total[0, kept].tolist()))
    return known, total[1, kept]


def _halves(n: int, variance: float) -> Vector:
    """Return n numbers, half of them 0, that have a variance; 0 for fewer than 2."""
    low = n // 2
    share = low / max(n, 1)
    high = np.sqrt(variance / (share * (1 - share))) if low else 0.0
    return np.where(np.arange(n) < low, 0.0, high)


def _most_telling(read: list[_Column], weights: Vector) -> tuple[Key, ...]:
    """Return what is known of each column, with the classes that tell most of all columns."""
    column = np.repeat(np.arange(len(read)), [len(one.told) for one in read])
    told = np.concatenate([one.told for one in read])
    with np.errstate(divide="ignore"):
        # Squares of weights may be more than a number holds.
        heft = np.log2(told) + 2 * np.log2(weights[column])
    chosen = np.zeros(len(column), dtype=np.bool_)
    chosen[np.argsort(-heft, kind="stable")[:MOST]] = True
    known = []
    for j, one in enumerate(read):
        key = one.known
        if isinstance(key, Classes):
            kept = np.flatnonzero(chosen[column == j])
            key = Classes(tuple(key.names[i] for i in kept), tuple(key.lengths[i] for i in kept))
        known.append(key)
    return tuple(known)


def _weights(x: Matrix, read: list[_Column], scale: str) -> Vector:
    """Return the weight of each column in distances."""
    factors = np.array([one.unit for one in read])
    joint = np.array([j if one.span is not None else -1 for j, one in enumerate(read)])
    spans = np.array([1.0 if one.span is None else one.span for one in read])
    ready = scaled(x, scale, factors, np.array([len(x)]), joint, spans)
    # A column without any value is as good as constant.
    low, high = (np.nan_to_num(edge) for edge in (np.fmin.reduce(x), np.fmax.reduce(x)))
    least, most = (np.nan_to_num(edge) for edge in (np.fmin.reduce(ready), np.fmax.reduce(ready)))
    # Halves of large values, as the span of a column may be more than a number can hold.
    half = np.where(np.maximum(np.abs(low), np.abs(high)) > LARGEST, 0.5, 1.0)
    span = high * half - low * half
    varies = span > 0
    (tops, above), (steps, below) = np.frexp((most - least) * half), np.frexp(span)
    exponents = np.where(varies, above - below, 0)
    # Only their proportions count; those of values near 1e-310 would be more than a number holds.
    shift = max(0, int(exponents.max()) - EXPONENT)
    # The weight of a column is its scaled span over its span. Mantissas and exponents are divided
    # apart, as either span may be near the ends of the range of doubles.
    return np.asarray(
        np.ldexp(np.where(varies, tops / np.where(varies, steps, 1.0), 1.0), exponents - shift)
    )
