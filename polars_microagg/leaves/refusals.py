"""Refusals of data that leaves cannot take, with ways out that leaves have."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

import polars as pl

from polars_microagg.core.kind import Kind, kind_of
from polars_microagg.errors import (
    InvalidDataError,
    MissingValuesError,
    NotNumericError,
    TooFewRecordsError,
)
from polars_microagg.frames.columns import kind_for, type_name

__all__ = ["missing_in", "refuse_few", "refuse_missing", "refuse_type"]


def refuse_few(records: int, k: int, *, leaf: bool = False) -> None:
    """Refuse a table, or a leaf, of fewer than k records.

    >>> refuse_few(3, 5)
    Traceback (most recent call last):
        ...
    polars_microagg.errors.TooFewRecordsError: k=5 needs at least 5 records, got 3. Lower k, or ...
    """
    if records < k:
        more = "all records of the leaf, after merge has joined leaves that are too small"
        instead = f"Lower k, or give {more if leaf else 'a table that has them'}."
        raise TooFewRecordsError.of(records, k, instead)


def refuse_missing(
    columns: Iterable[tuple[str, int, int]], categories: Container[str] = ()
) -> None:
    """Refuse columns with nulls, NaN or infinities, by name and these two counts.

    Of columns of `categories` the second is that of categories which are not in their taxonomy.
    """
    for name, nulls, others in columns:
        if nulls:
            whole = "mask the table whole, which can fill or keep them"
            what = "category" if name in categories else "number"
            instead = f"Drop those rows or fill them with a {what} first, or {whole}."
            raise MissingValuesError.nulls(name, nulls, instead)
        if others and name in categories:
            raise InvalidDataError.not_in_taxonomy(name, others)
        if others:
            instead = "Replace them by a number, or drop those rows first."
            raise MissingValuesError.not_finite(name, others, instead)


def missing_in(column: pl.Series, kind: Kind | None = None) -> tuple[int, int]:
    """Return the number of nulls of a column, and that of its values that have no coordinates.

    >>> missing_in(pl.Series([None, 1.0, float("nan")]))
    (1, 1)
    """
    kind = kind or kind_for("", column.dtype)
    return column.null_count(), kind.refused(column.alias(""))


def refuse_type(name: str, dtype: pl.DataType, asked: Mapping[str, Any] | None = None) -> Kind:
    """Refuse a column whose type has no centroid, and return the kind of any other."""
    named = any(name in columns for columns in (asked or {}).values())
    if not named and kind_of(dtype) is None:
        raise NotNumericError.of(name, type_name(dtype), "Leave it out, or cast it.")
    return kind_for(name, dtype, asked)
