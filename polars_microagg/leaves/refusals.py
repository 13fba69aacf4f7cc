"""Refusals of data that leaves cannot take, with ways out that leaves have."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

import polars as pl

from polars_microagg.core.kind import Kind
from polars_microagg.errors import (
    InvalidDataError,
    MissingValuesError,
    TooFewRecordsError,
)
from polars_microagg.frames.columns import kind_for

__all__ = ["missing_in", "refuse_few", "refuse_incomplete", "refuse_missing"]


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
            raise MissingValuesError.nulls(name, nulls)
        if others and name in categories:
            raise InvalidDataError.not_in_taxonomy(name, others)
        if others:
            raise MissingValuesError.not_finite(name, others)


def refuse_incomplete(frame: pl.DataFrame, kinds: Mapping[str, Kind], nulls: str) -> None:
    """Refuse nulls that a call does not take, NaN, infinities, and what is in no taxonomy."""
    found = ((name, *missing_in(frame[name], kind)) for name, kind in kinds.items())
    taken = ((name, absent * (nulls == "raise"), others) for name, absent, others in found)
    refuse_missing(taken, [name for name, kind in kinds.items() if not kind.numeric])


def missing_in(column: pl.Series, kind: Kind | None = None) -> tuple[int, int]:
    """Return the number of nulls of a column, and that of its values that have no coordinates.

    >>> missing_in(pl.Series([None, 1.0, float("nan")]))
    (1, 1)
    """
    kind = kind or kind_for("", column.dtype)
    return column.null_count(), kind.refused(column.alias(""))
