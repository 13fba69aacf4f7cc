"""Refusals of data that leaves cannot take, with ways out that leaves have."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from polars_microagg.errors import MissingValuesError, NotNumericError, TooFewRecordsError
from polars_microagg.frames.columns import can_mask, refused, type_name

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


def refuse_missing(columns: Iterable[tuple[str, int, int]]) -> None:
    """Refuse columns with nulls, NaN or infinities, by name and these two counts."""
    for name, nulls, others in columns:
        if nulls:
            whole = "mask the table whole, which can fill or keep them"
            instead = f"Drop those rows or fill them with a number first, or {whole}."
            raise MissingValuesError.nulls(name, nulls, instead)
        if others:
            instead = "Replace them by a number, or drop those rows first."
            raise MissingValuesError.not_finite(name, others, instead)


def missing_in(column: pl.Series) -> tuple[int, int]:
    """Return the number of nulls of a column, and that of its values that have no number.

    >>> missing_in(pl.Series([None, 1.0, float("nan")]))
    (1, 1)
    """
    return column.null_count(), refused(column.alias(""))


def refuse_type(name: str, dtype: pl.DataType) -> None:
    """Refuse a column whose type has no centroid."""
    if not can_mask(dtype):
        raise NotNumericError.of(name, type_name(dtype), "Leave it out, or cast it.")
