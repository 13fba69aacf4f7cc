"""CSV read strictly as text, and numbers, dates and times read from it where they are needed."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

import polars as pl

from polars_microagg.errors import InvalidDataError

__all__ = ["read_csv", "refuse_doubtful", "typed"]

BLOCK = 1 << 24
"""Bytes that are parsed at a time; a line must fit."""


def read_csv(file: IO[bytes]) -> pl.DataFrame:
    """Read every column as text, so that what is kept is written as it was read.

    Parameters
    ----------
    file : binary file
        UTF-8 with a header and commas.

    Returns
    -------
    polars.DataFrame
        Text; an empty cell that is not quoted is null.

    Raises
    ------
    InvalidDataError
        A line is too short or too long, or a name of the header is repeated.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    names = _header(file)
    places = [str(i) for i in range(len(names))]
    options: dict[str, Any] = {
        "read_options": arrow.ReadOptions(
            column_names=places, skip_rows_after_names=1, block_size=BLOCK
        ),
        "parse_options": arrow.ParseOptions(
            newlines_in_values=True, ignore_empty_lines=len(names) > 1
        ),
        "convert_options": arrow.ConvertOptions(
            column_types=dict.fromkeys(places, pa.large_string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }
    try:
        table = arrow.read_csv(file, **options)
    except pa.ArrowInvalid as error:
        if "Expected" not in str(error):
            raise
        raise InvalidDataError(
            f"some line does not have the {len(names)} cells of the header. Complete it, or put "
            "cells with a comma or a line break in quotes."
        ) from None
    frame = pl.DataFrame({i: pl.Series(i, table.column(i), dtype=pl.String) for i in places})
    return frame.rename(dict(zip(places, names, strict=True)))


def _header(file: IO[bytes]) -> list[str]:
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    try:
        names = next(csv.reader(text), [])
    except csv.Error:
        raise InvalidDataError("its header is no line of CSV. Write the header again.") from None
    finally:
        text.detach()
    file.seek(0)
    if len(names) != len(set(names)) or not names:
        raise InvalidDataError("its header names a column twice or none. Name each column once.")
    return names


def refuse_doubtful(path: Path, frame: pl.DataFrame) -> None:
    """Refuse a CSV file in which rows may be hidden in a cell, or a record in the header.

    Parameters
    ----------
    path : Path
        The file.
    frame : polars.DataFrame
        What `read_csv` made of it.

    Raises
    ------
    InvalidDataError
        A quote is not closed, a cell holds what reads like whole lines of the table, or the header
        has numbers for names.
    """
    with path.open("rb") as file:
        quotes = sum(piece.count(b'"') for piece in iter(lambda: file.read(BLOCK), b""))
    if quotes % 2:
        why = "it has a quote that is never closed, and all rows behind it would be one cell."
        raise InvalidDataError.unreadable(path, f"{why} Close the quote, or double it.")
    rows = rf"\n[^\n]*(,[^\n]*){{{max(1, frame.width - 1)}}}\n"
    inside = sum(frame.select(pl.all().str.contains(rows).sum().cast(pl.Int64)).row(0))
    if inside:
        why = f"{inside} cell(s) hold what reads like whole lines of the table."
        way = "Close or double the quotes before them, or take line breaks out of that text."
        raise InvalidDataError.unreadable(path, f"{why} {way}")
    numbers = sum(
        name.replace(".", "", 1).replace("-", "", 1).isdecimal() for name in frame.columns
    )
    if numbers:
        why = f"{numbers} name(s) in its header are numbers, so that may be its first record."
        raise InvalidDataError.unreadable(path, f"{why} Write a line of names above it.")


def typed(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Read numbers, dates and times from columns of text.

    Parameters
    ----------
    frame : polars.DataFrame
        A table.
    names : iterable of str
        Columns that are wanted as numbers; those that are not text stay as they are.

    Returns
    -------
    polars.DataFrame
        Each column in the first type that reads every value of it; text if there is none.

    Examples
    --------
    >>> typed(pl.DataFrame({"age": ["31", "47"], "born": ["1993-05-01", None]}), ["age", "born"]).dtypes
    [Int64, Date]
    """
    read = {name: _typed(frame.get_column(name)) for name in names}
    return frame.with_columns(column.alias(name) for name, column in read.items())


def _typed(column: pl.Series) -> pl.Series:
    if column.dtype != pl.String or column.null_count() == len(column):
        return column
    text = column.alias("text").str.strip_chars()
    nulls = text.null_count()
    tries: tuple[Callable[[], pl.Series], ...] = (
        lambda: text.cast(pl.Int64, strict=False),
        lambda: text.cast(pl.Float64, strict=False),
        lambda: text.str.to_date("%Y-%m-%d", strict=False),
        lambda: text.str.to_datetime(strict=False),
        lambda: text.str.to_time("%H:%M:%S%.f", strict=False),
    )
    for read in tries:
        try:
            found = read()
        except pl.exceptions.PolarsError:
            continue
        if found.null_count() == nulls:
            return found
    return column
