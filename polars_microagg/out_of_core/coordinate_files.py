"""Coordinates of two tables in files of numbers, one a column, which are read piece by piece."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.analysis.coordinates import CELLS, at_least_two
from polars_microagg.core.kind import Kind
from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.errors import InvalidParameterError, MissingValuesError
from polars_microagg.errors.categories import new_categories
from polars_microagg.frames.columns import kind_for, require, values
from polars_microagg.frames.safe_collect import quietly
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.leaves.references import Reference, Tally
from polars_microagg.out_of_core.aligned import Kept, aligned
from polars_microagg.out_of_core.parquet_source import ParquetSource

__all__ = ["Column", "CoordinateFiles"]

WIDE = 64 * 8
"""Bytes of the coordinates of a category of many."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of both files: numbers, or codes of categories with the coordinates `table` (v, q)."""

    name: str
    numeric: bool
    table: Matrix | None = None


@dataclass(frozen=True, eq=False)
class CoordinateFiles:
    """The columns of a table before and after, NaN for null, in a folder."""

    folder: Path
    rows: int
    columns: tuple[Column, ...]

    @classmethod
    def made(
        cls,
        folder: Path,
        original: ParquetSource,
        released: ParquetSource,
        names: Sequence[str],
        asked: Mapping[str, Any],
        budget: MemoryBudget,
        kept_rows: Kept = None,
    ) -> CoordinateFiles:
        """Write the coordinates of both tables, which have the same rows."""
        read = partial(aligned, original, released, budget.batch, (names, names), kept_rows)
        empty = tuple(table.empty for table in (original, released))
        types = empty[0].schema
        codings = [_Coding.of(name, kind_for(name, types[name], asked), budget) for name in names]
        for before, after in chain([empty], read()):
            for coding in codings:
                coding.survey(*(_named(table, coding.name) for table in (before, after)))
        columns = tuple(coding.settle(released.rows) for coding in codings)
        files = cls(folder, released.rows, columns)
        with ExitStack() as stack:
            to = [
                [stack.enter_context(files.path(j, side).open("wb")) for side in (0, 1)]
                for j in range(len(columns))
            ]
            for before, after in read():
                for j, coding in enumerate(codings):
                    pair = coding.pair(*(_named(t, coding.name) for t in (before, after)))
                    for side in (0, 1):
                        np.ascontiguousarray(pair[side], dtype=np.float64).tofile(to[j][side])
        return files

    def path(self, j: int, side: int) -> Path:
        """Return the file of a column before (0) or after (1)."""
        return self.folder / f"{('before', 'after')[side]}-{j}.f64"

    def read(self, j: int, side: int, start: int, stop: int) -> Vector:
        """Return the numbers of some rows of a column."""
        # Memory that is mapped would count as that of the process.
        return np.fromfile(self.path(j, side), np.float64, stop - start, offset=8 * start)

    def pieces(self, size: int, chosen: Sequence[int]) -> Iterator[tuple[Matrix, Matrix]]:
        """Yield (b, p) matrices before and after of at most `size` rows, of some columns."""
        for start in range(0, self.rows, size):
            stop = min(self.rows, start + size)
            pair = tuple(np.empty((stop - start, len(chosen)), order="F") for _ in range(2))
            for side in (0, 1):
                for place, j in enumerate(chosen):
                    pair[side][:, place] = self.read(j, side, start, stop)
            yield pair[0], pair[1]

    def at(self, j: int, side: int, rows: Labels) -> Vector:
        """Return the numbers of these rows, ascending, of a column."""
        found = bytearray()
        with self.path(j, side).open("rb") as file:
            for row in rows.tolist():
                file.seek(8 * row)
                found += file.read(8)
        return np.frombuffer(bytes(found), dtype=np.float64)


def _named(table: pl.DataFrame, name: str) -> pl.Series:
    # Methods of a Series look it up by its name, where "^a$" would be a pattern.
    return table.get_column(name).alias("0")


class _Coding(ABC):
    """The coding of the values of one column as numbers, which depends on all of them."""

    def __init__(self, name: str, kind: Kind) -> None:
        self.name, self.kind = name, kind

    @classmethod
    def of(cls, name: str, kind: Kind, budget: MemoryBudget) -> _Coding:
        """Return the coding of a kind of column."""
        plain = kind.numeric and kind.embedding(pl.Series([], dtype=pl.Time)) is None
        return _Numbers(name, kind) if plain else _Codes(name, kind, budget)

    @abstractmethod
    def survey(self, before: pl.Series, after: pl.Series) -> None:
        """Count the values of a batch."""

    @abstractmethod
    def settle(self, rows: int) -> Column:
        """Return the column, when all batches were looked at."""

    @abstractmethod
    def pair(self, before: pl.Series, after: pl.Series) -> tuple[Vector, Vector]:
        """Return the numbers of a batch."""


class _Numbers(_Coding):
    """Numbers, of which large ones count from the least of the whole table."""

    ends: pl.Series | None = None
    refused = (0, 0)

    def survey(self, before: pl.Series, after: pl.Series) -> None:
        """Find the least and the greatest whole number, and count what is no number."""
        kinds = [self.kind, self.kind if after.dtype == before.dtype else kind_for("", after.dtype)]
        new = [kind.refused(column) for kind, column in zip(kinds, (before, after), strict=True)]
        self.refused = (self.refused[0] + new[0], self.refused[1] + new[1])
        if before.dtype.is_float():
            return
        held = before if self.ends is None else pl.concat([self.ends, before])
        held = held.drop_nulls()
        steps = held.to_physical()
        places = [steps.arg_min(), steps.arg_max()] if len(held) else []
        self.ends = held.gather([place for place in places if place is not None])

    def settle(self, rows: int) -> Column:
        """Refuse what is no number."""
        del rows
        for bad in self.refused:
            if bad:
                raise MissingValuesError.not_finite(self.name, bad)
        return Column(self.name, numeric=True)

    def pair(self, before: pl.Series, after: pl.Series) -> tuple[Vector, Vector]:
        """Return numbers that count from the same number in every batch."""
        first = 0 if self.ends is None else len(self.ends)
        if self.ends is not None:
            before = pl.concat([self.ends, before])
            after = pl.concat([pl.Series("0", [None] * first, dtype=after.dtype), after])
        # A masked value that the type before does not have would be shown by the error of its cast.
        one, other, _ = quietly(partial(values, before, after, self.kind), "masked")
        return one[first:], other[first:]


class _Codes(_Coding):
    """Categories: their ranks, or codes with coordinates."""

    def __init__(self, name: str, kind: Kind, budget: MemoryBudget) -> None:
        super().__init__(name, kind)
        self.budget: MemoryBudget = budget
        self.dtype: pl.DataType = pl.Null()
        self.tallies = [Tally(self._refuse_many), Tally(self._refuse_many)]
        self.known: Reference | None = None
        self.numbers = np.empty(0)

    def _refuse_many(self, size: int) -> None:
        """Refuse a column of more categories than fit into memory."""
        tallies = [tally.counted for tally in self.tallies if tally.counted is not None]
        most = max((table.height for table in tallies), default=0)
        if size > self.budget.values or most * WIDE > 4 * self.budget.values:
            why = f"more: the different values of {self.name!r} alone take more than is for them"
            raise InvalidParameterError.kind("memory", self.budget.memory, why)

    def _cast(self, before: pl.Series, after: pl.Series) -> pl.Series:
        return quietly(partial(after.cast, before.dtype), "masked")

    def survey(self, before: pl.Series, after: pl.Series) -> None:
        """Count the categories."""
        self.dtype = before.dtype
        self.tallies[0].add(before)
        self.tallies[1].add(self._cast(before, after))

    def settle(self, rows: int) -> Column:
        """Place the categories."""
        before, after = (tally.reference(self.name) for tally in self.tallies)
        for found in (before, after):
            require(found.values.cast(self.dtype), self.name, "keep", self.kind)
        if not (self.kind.numeric or self.kind.widens or self.kind.ordered):
            there = after.values.drop_nulls()
            new = int((~there.is_in(before.values.drop_nulls().implode())).sum())
            if new:
                raise new_categories(self.name, new)
        both = Tally()
        for found in (before, after):
            both.add(found.values, pl.Series(found.counts, dtype=pl.Int64))
        self.known = both.reference(self.name)
        nulls = self.known.values.null_count()
        held = self.known.values.slice(nulls).cast(self.dtype)
        one, _, embedding = self.kind.pair(held, held)
        if embedding is None:
            # Ranks are those of the records before; a new category lies between its neighbours.
            place = self.known.codes(before.values).to_numpy()
            counts = np.zeros(len(self.known.values), dtype=np.intp)
            counts[place] = before.counts
            counts = counts[nulls:]
            self.numbers = np.r_[np.full(nulls, np.nan), np.cumsum(counts) - (counts - 1) / 2]
            return Column(self.name, numeric=False)
        table = at_least_two(
            embedding.table(np.arange(len(held)), self.known.counts[nulls:], 2 * rows, CELLS)
        )
        # Categories at the same place are one for measures.
        table, number = np.unique(table, axis=0, return_inverse=True)
        code = number.reshape(-1)[one.astype(np.intp)].astype(np.float64)
        self.numbers = np.r_[np.full(nulls, np.nan), code]
        return Column(self.name, numeric=False, table=table)

    def pair(self, before: pl.Series, after: pl.Series) -> tuple[Vector, Vector]:
        """Return the number of each category."""
        known: Callable[[pl.Series], pl.Series] = self.known.codes  # type: ignore[union-attr]
        one, other = (known(column) for column in (before, self._cast(before, after)))
        return self.numbers[one.to_numpy()], self.numbers[other.to_numpy()]
