"""Arrow lists of DuckDB, turned into Polars columns and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl
import pyarrow as pa

from polars_microagg.core.partition import Labels
from polars_microagg.duckdb.column_types import (
    counted,
    lane_of,
    list_type,
    outline,
    refuse_infinite,
)
from polars_microagg.errors import GuaranteeError, NotNumericError
from polars_microagg.frames.columns import require
from polars_microagg.frames.safe_collect import quietly

__all__ = [
    "ListColumn",
    "columns_of",
    "in_order",
    "integers",
    "list_of",
    "masked_lists",
    "one_array",
]

LANES = {"d": pa.float64(), "i": pa.int64(), "t": pa.string()}


@dataclass(frozen=True, eq=False)
class ListColumn:
    """A column of DuckDB: its name, its type there, and its values.

    None if the type cannot be masked; then `texts` are what is read of the values, where asked for.
    """

    name: str
    type_: str
    values: pl.Series | None
    texts: pl.Series | None = None

    def require(self, nulls: str) -> pl.Series:
        """Return the values, or refuse the type, nulls against the policy, NaN and infinities."""
        if self.values is None:
            raise NotNumericError.of(self.name, outline(self.type_))
        require(self.values, self.name, nulls)
        refuse_infinite(self.name, self.type_, self.values)
        return self.values

    def counted(self) -> pl.Series:
        """Return the values in a type in which privacy models count them."""
        if self.values is not None:
            return self.values
        texts = pl.Series(dtype=pl.String) if self.texts is None else self.texts
        return quietly(lambda: counted(self.type_, texts), "source")

    def take(self, rows: pl.Series) -> Self:
        """Return the column with these records only, in this order."""
        values, texts = (
            None if held is None else held.gather(rows) for held in (self.values, self.texts)
        )
        return replace(self, values=values, texts=texts)

    def repeats(self, other: ListColumn) -> bool:
        """Return whether some record has both values, and all that have both have equal ones."""
        if self.type_ != other.type_ or self.values is None or other.values is None:
            return False
        alike = (self.values == other.values).drop_nulls()
        return bool(len(alike) and alike.all())


def one_array(chunks: Any) -> Any:
    """Join the chunks of an argument."""
    return chunks.combine_chunks() if isinstance(chunks, pa.ChunkedArray) else chunks


def integers(scalar: Any) -> Labels:
    """Return a list of integers as an array; null is an empty list."""
    if scalar.values is None:
        return np.zeros(0, dtype=np.int64)
    values: Labels = scalar.values.to_numpy(zero_copy_only=False)
    return values


def in_order(rows: Labels) -> Labels | None:
    """Return the order that sorts records by their numbers, or None if they are sorted.

    Lists that several threads gather do not come in the order of the table.
    """
    numbered = np.arange(len(rows), dtype=rows.dtype)
    if np.array_equal(rows, numbered):
        return None
    order = np.argsort(rows, kind="stable")
    # Every number from 0 to n - 1 must be there once: a record that is missing or there twice would
    # put values beside other records.
    if not np.array_equal(rows[order], numbered):
        raise GuaranteeError.shape("list()", len(np.unique(rows)), len(rows))
    return order


def columns_of(scalar: Any) -> list[ListColumn]:
    """Read a list of structs (name, lists (type, d, i, t)) as columns."""
    names, lists = (scalar.values.field(field) for field in ("name", "lists"))
    types = lists.field("type").to_pylist()
    columns = []
    for j, (name, type_) in enumerate(zip(names.to_pylist(), types, strict=True)):
        lane = lane_of(type_)
        held = lists.field(lane or "t")[j].values
        if lane:
            columns.append(ListColumn(name, type_, _series(type_, held)))
        else:
            texts = None if held is None else pl.Series(held)
            columns.append(ListColumn(name, type_, None, texts))
    return columns


def _series(type_: str, values: Any) -> pl.Series:
    """Return one list in the type that it is masked in; null is an empty list."""
    type_in_lists = list_type(type_)
    dtype = type_in_lists.dtype if type_in_lists else pl.Null()
    if values is None:
        return pl.Series(dtype=dtype)
    if dtype == pl.Boolean:
        # Polars casts no text to a Boolean.
        return pl.Series(values) == "true"
    # What cannot be cast would be shown by the error of the cast.
    return quietly(lambda: pl.Series(values).cast(dtype), "source")


def list_of(values: Any) -> Any:
    """Make one list that holds all the values."""
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def masked_lists(types: Mapping[str, str], masked: list[pl.Series]) -> Any:
    """Write masked columns as one list of structs (name, d, i, t).

    `types` are their names and types in DuckDB, in the order of `masked`, which is emptied so that
    no value is held twice.
    """
    chosen = [
        "d" if column.dtype.is_float() else lane_of(type_)
        for type_, column in zip(types.values(), masked, strict=True)
    ]
    sizes = [len(column) for column in masked]
    lanes = []
    for lane in LANES:
        ends = np.cumsum(
            [0, *(n if lane == at else 0 for n, at in zip(sizes, chosen, strict=True))]
        )
        columns = _taken(
            [j for j, at in enumerate(chosen) if at == lane], [*types.values()], masked
        )
        child = _texts(columns) if lane == "t" else _numbers(columns, LANES[lane], int(ends[-1]))
        lanes.append(pa.ListArray.from_arrays(pa.array(ends, pa.int32()), child))
    structs = pa.StructArray.from_arrays([pa.array(types, pa.string()), *lanes], ["name", *LANES])
    return list_of(structs)


def _taken(
    places: Sequence[int], types: Sequence[str], masked: list[pl.Series]
) -> Iterator[tuple[str, pl.Series]]:
    """Yield types and values of columns, which are removed from `masked`."""
    for j in places:
        column, masked[j] = masked[j], masked[j].clear()
        yield types[j], column


def _numbers(columns: Iterator[tuple[str, pl.Series]], type_: Any, size: int) -> Any:
    """Concatenate columns of doubles or integers."""
    held = np.float64 if type_ == LANES["d"] else np.int64
    values, absent, start = np.empty(size, held), np.zeros(size, np.bool_), 0
    for _, column in columns:
        stop = start + len(column)
        if column.null_count():
            absent[start:stop] = column.is_null().to_numpy()
            column = column.fill_null(0)
        values[start:stop] = (_doubles(column) if type_ == LANES["d"] else column).to_numpy()
        start = stop
    return pa.array(values, type_, mask=absent if absent.any() else None)


def _texts(columns: Iterator[tuple[str, pl.Series]]) -> Any:
    """Concatenate columns of numbers that are written as text."""
    parts = []
    for type_, column in columns:
        text = _clock(column) if type_ == "TIME_NS" else column.cast(pl.String)
        parts.append(text.to_arrow().cast(LANES["t"]))
    return pa.concat_arrays(parts) if parts else pa.array([], LANES["t"])


def _doubles(masked: pl.Series) -> pl.Series:
    """Return the double nearest to each number."""
    if isinstance(masked.dtype, pl.Decimal):
        return masked.to_physical().cast(pl.Float64) / 10.0**masked.dtype.scale
    return masked.cast(pl.Float64)


def _clock(steps: pl.Series) -> pl.Series:
    """Write nanoseconds since midnight as text, up to 24:00.

    >>> _clock(pl.Series([3_600_000_000_001, 86_400_000_000_000])).to_list()
    ['01:00:00.000000001', '24:00:00.000000000']
    """
    seconds = steps // 10**9
    parts = ((seconds // 3600, 2), (seconds // 60 % 60, 2), (seconds % 60, 2), (steps % 10**9, 9))
    texts = [part.cast(pl.String).str.zfill(digits) for part, digits in parts]
    return texts[0] + ":" + texts[1] + ":" + texts[2] + "." + texts[3]
