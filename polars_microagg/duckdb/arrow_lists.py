"""Arrow lists, as DuckDB hands them over, to columns of numpy and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polars_microagg.core.partition import Labels
from polars_microagg.duckdb.columns import Column, Emitted, decimal, lane_of

__all__ = ["arrow_of", "columns_of", "integers", "list_of", "masked_lists", "one_array"]

LANES = {"d": pa.float64(), "i": pa.int64(), "t": pa.string()}


def one_array(chunks: Any) -> Any:
    """Join the chunks of an argument."""
    return chunks.combine_chunks() if isinstance(chunks, pa.ChunkedArray) else chunks


def integers(scalar: Any) -> Labels:
    """A list of integers as an array; null is an empty list."""
    if scalar.values is None:
        return np.zeros(0, dtype=np.int64)
    found: Labels = scalar.values.to_numpy(zero_copy_only=False)
    return found


def columns_of(scalar: Any) -> list[Column]:
    """A list of structs (name, lists (type, d, i, t)) as columns."""
    names, lists = (scalar.values.field(field) for field in ("name", "lists"))
    types = lists.field("type").to_pylist()
    columns = []
    for j, (name, type_) in enumerate(zip(names.to_pylist(), types, strict=True)):
        lane = lane_of(type_)
        values = lists.field(lane)[j].values if lane else None
        columns.append(_column(name, type_, lane, values))
    return columns


def _column(name: str, type_: str, lane: str, values: Any) -> Column:
    if values is None:
        return Column(name, type_, np.zeros(0))
    absent = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    if lane == "t":
        return Column(name, type_, _whole_numbers(values), absent)
    if lane == "i":
        values = values.fill_null(0) if absent is not None else values
        return Column(name, type_, values.to_numpy(zero_copy_only=False), absent)
    x = values.to_numpy(zero_copy_only=False)
    width = decimal(type_)
    if width:
        x = np.rint(x * 10.0 ** width[1])
    return Column(name, type_, x, absent)


def _whole_numbers(texts: Any) -> npt.NDArray[Any]:
    """Whole numbers written as text, as 64-bit integers if they fit."""
    texts = texts.fill_null("0")
    try:
        narrow: npt.NDArray[Any] = pc.cast(texts, pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return np.array([int(text) for text in texts.to_pylist()], dtype=object)
    return narrow


def list_of(values: Any) -> Any:
    """One list that holds all the values."""
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def masked_lists(names: Sequence[str], emitted: Sequence[Emitted]) -> Any:
    """Columns as one list of structs (name, d, i, t)."""
    lanes = [_lane(lane, emitted) for lane in LANES]
    structs = pa.StructArray.from_arrays([pa.array(names, pa.string()), *lanes], ["name", *LANES])
    return list_of(structs)


def _lane(lane: str, emitted: Sequence[Emitted]) -> Any:
    """One list a column: its values if this is its lane, else nothing."""
    parts = [arrow_of(e) if e.lane == lane else pa.array([], LANES[lane]) for e in emitted]
    ends = np.cumsum([0, *(len(part) for part in parts)])
    child = pa.concat_arrays(parts) if parts else pa.array([], LANES[lane])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), child)


def arrow_of(emitted: Emitted) -> Any:
    """A masked column as an Arrow array."""
    return pa.array(emitted.values, LANES[emitted.lane], mask=emitted.absent)
