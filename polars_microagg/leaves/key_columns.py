"""Columns of any kind as the numbers that a table is cut by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from polars_microagg.core.kind import Kind
from polars_microagg.core.partition import Labels, Matrix, Strata, Vector
from polars_microagg.errors.categories import not_as_fitted
from polars_microagg.frames.columns import kind_for, numbers, type_name
from polars_microagg.frames.selection import Schema

__all__ = ["Classes", "Key", "KeyColumns", "Points", "Ranks", "memberships", "table_ranks"]


@dataclass(frozen=True)
class Classes:
    """Classes of categories, each a column of the matrix: who is in one lies apart from who is not.

    `lengths` are the squared distances between the two sides. A category of none of the classes,
    as one that the sample did not have, is on the far side of all.
    """

    names: tuple[str, ...] = ()
    lengths: tuple[float, ...] = ()

    @property
    def width(self) -> int:
        """Number of columns of the matrix."""
        return len(self.names)


@dataclass(frozen=True)
class Ranks:
    """Ordered categories in ascending order, with how many records of the sample come before and have each.

    Others lie between their neighbours.
    """

    names: tuple[str, ...] = ()
    before: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    records: int = 0
    width = 1


@dataclass(frozen=True)
class Points:
    """Values that lie at points of a plane or a space."""

    width: int


Key: TypeAlias = Classes | Ranks | Points | None
"""Knowledge of leaves about a column; None for a column of numbers."""


@dataclass(frozen=True)
class KeyColumns:
    """The masked columns of a call, and what leaves know of each."""

    names: tuple[str, ...]
    kinds: Mapping[str, Any]
    known: tuple[Key, ...]

    def kind(self, j: int, dtype: pl.DataType) -> Kind:
        """Return the kind of a column, and refuse a type of another one than the leaves know."""
        name, known = self.names[j], self.known[j]
        kind = kind_for(name, dtype, self.kinds)
        if kind.numeric != (known is None or isinstance(known, Points)) or (
            not kind.numeric and kind.ordered != isinstance(known, Ranks)
        ):
            raise not_as_fitted(name, type_name(dtype))
        return kind

    def kinds_of(self, schema: Schema) -> dict[str, Kind]:
        """Return the kind of each column of a table."""
        return {name: self.kind(j, schema[name]) for j, name in enumerate(self.names)}

    @property
    def ordinary(self) -> bool:
        """Return whether all columns are of numbers."""
        return not any(self.known)

    def weights(
        self, weights: Sequence[float] | Vector, column_weights: Mapping[str, float]
    ) -> Vector:
        """Return the weight of each column of the matrix, from those of the columns."""
        heavy = np.array(weights) * np.sqrt([column_weights.get(name, 1.0) for name in self.names])
        return np.asarray(heavy[self.owner])

    @cached_property
    def owner(self) -> Labels:
        """The column of each column of the matrix."""
        widths = [1 if known is None else known.width for known in self.known]
        return np.repeat(np.arange(len(widths)), widths)

    @property
    def classes(self) -> Labels:
        """The columns of the matrix that say who is in a class."""
        named = [isinstance(known, Classes) for known in self.known]
        return np.flatnonzero(np.array(named, dtype=np.bool_)[self.owner])

    def matrix(self, columns: Sequence[pl.Series]) -> Matrix:
        """Return the (n, q) numbers of records, which depend on their own values alone; NaN for null.

        >>> known = KeyColumns(("sex",), {}, (Classes(("f",), (1.0,)),))
        >>> known.matrix([pl.Series(["f", "m"])])
        array([[1.],
               [0.]])
        """
        x = np.empty((len(columns[0]), len(self.owner)), order="F")
        at = 0
        for j, column in enumerate(columns):
            # What Polars does to a series it does to a column of its name, which may read as a pattern.
            column = column.alias("")
            for values in self._values(column, self.kind(j, column.dtype), self.known[j]):
                x[:, at] = values
                at += 1
        return x

    def _values(self, column: pl.Series, kind: Kind, known: Key) -> Iterator[Vector]:
        """Yield the columns of the matrix that are of one column."""
        if known is None:
            yield numbers(column, None, kind)
        elif column.null_count():
            rows = column.is_not_null().arg_true().to_numpy()
            for values in self._values(column.drop_nulls(), kind, known):
                filled = np.full(len(column), np.nan)
                filled[rows] = values
                yield filled
        elif isinstance(known, Ranks):
            yield table_ranks(column, kind, known)
        elif isinstance(known, Points):
            embedding = kind.embedding(column)
            points = embedding.points if embedding else None
            if len(column) and points is not None:
                codes = kind.coordinates(column, None).astype(np.intp)
                yield from points.T[:, codes]
        else:
            codes = kind.coordinates(column, None).astype(np.intp)
            _, first, number = np.unique(codes, return_index=True, return_inverse=True)
            inside = memberships(
                kind, column.gather(pl.Series(first, dtype=pl.UInt32)), known.names
            )
            for own, length in zip(inside.T, known.lengths, strict=True):
                yield np.where(own, np.sqrt(length), 0.0)[number]


def memberships(kind: Kind, values: pl.Series, names: Sequence[str]) -> np.ndarray:
    """Return which of the named classes distinct values are in, (values, names)."""
    inside = np.zeros((len(values), len(names)), dtype=np.bool_)
    found = kind.classes(values)
    if found is None or not len(names):
        return inside
    all_names, paths, _ = found
    place = {name: j for j, name in enumerate(names)}
    index = np.array([*(place.get(name, -1) for name in all_names), -1], dtype=np.intp)
    for nodes in paths.T:
        own = index[nodes]
        rows = np.flatnonzero(own >= 0)
        inside[rows, own[rows]] = True
    return inside


def _typed(names: Sequence[str], dtype: pl.DataType) -> pl.Series:
    """Return categories that were written as text in their type; null where it does not have one."""
    if dtype == pl.Boolean:
        return pl.Series([name == "true" for name in names], dtype=pl.Boolean)
    written = pl.Series(list(names), dtype=pl.String)
    return (
        written.str.to_date("%Y-%m-%d", strict=False)
        if dtype == pl.Date
        else written.cast(dtype, strict=False)
    )


def table_ranks(
    column: pl.Series, kind: Kind, known: Ranks, strata: Strata | None = None
) -> Vector:
    """Return the rank that each record has in the table that leaves were fitted to, as they know it.

    A category that they do not know lies between its neighbours: in the middle, or with `strata`
    where its rank among such records of its stratum puts it. So the ranks of one leaf that is the
    table are those of the table.
    """
    own = _typed(known.names, column.dtype)
    both = kind.coordinates(pl.concat([own.alias(""), column.alias("")]), None)
    there = np.flatnonzero(~np.isnan(both[: len(own)]))
    there = there[np.argsort(both[there], kind="stable")]
    at_known, value = both[there], both[len(own) :]
    before, counts = (np.array(c, dtype=np.float64)[there] for c in (known.before, known.counts))
    at = np.searchsorted(at_known, value)
    exact = at < len(there)
    exact[exact] = at_known[at[exact]] == value[exact]
    low = np.append(0.0, before + counts)[at]
    high = np.append(before, known.records)[at]
    middle = np.append(before + (counts + 1) / 2, 0.0)[at]
    if strata is None:
        return np.where(exact, middle, (low + high + 1) / 2)
    gap = strata.numbers(len(column)) * (len(there) + 1) + at
    absent = np.isnan(value)
    frame = pl.DataFrame({"gap": np.where(exact | absent, -1, gap), "value": value})
    rank, size = (
        frame.select(
            pl.col("value").rank("average").over("gap").alias("rank"),
            pl.len().over("gap").alias("size"),
        )
        .to_numpy()
        .T
    )
    width = high - low if known.records else size
    between = low + 0.5 + (rank - 0.5) * (width / size)
    return np.where(absent, np.nan, np.where(exact, middle, between))
