"""CSV read strictly as text, and numbers, dates and times read from it where they are needed."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from typing import IO, Any

import polars as pl

from polars_microagg.errors import InvalidDataError
from polars_microagg.release.lines import ragged, refuse_encoding

__all__ = ["READ", "read_csv", "typed"]

BLOCK = 1 << 24
"""Bytes that are parsed at a time; a line must fit."""


def read_csv(file: IO[bytes], separator: str = ",") -> pl.DataFrame:
    """Read every column as text, so that what is kept is written as it was read.

    Parameters
    ----------
    file : binary file
        UTF-8 with a header.
    separator : str, default ","
        What is between two cells.

    Returns
    -------
    polars.DataFrame
        Text; an empty cell that is not quoted is null.

    Raises
    ------
    InvalidDataError
        A line is too short or too long, a name of the header is repeated, or it is not UTF-8.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    refuse_encoding(file)
    names = _header(file, separator)
    places = [str(i) for i in range(len(names))]
    options: dict[str, Any] = {
        "read_options": arrow.ReadOptions(
            column_names=places, skip_rows_after_names=1, block_size=BLOCK
        ),
        "parse_options": arrow.ParseOptions(
            delimiter=separator, newlines_in_values=True, ignore_empty_lines=len(names) > 1
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
        raise ragged(file, len(names), separator) from None
    frame = pl.DataFrame({i: pl.Series(i, table.column(i), dtype=pl.String) for i in places})
    return frame.rename(dict(zip(places, names, strict=True)))


def _header(file: IO[bytes], separator: str) -> list[str]:
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    try:
        names = next(csv.reader(text, delimiter=separator), [])
    except csv.Error:
        raise InvalidDataError("its header is no line of CSV. Write the header again.") from None
    finally:
        text.detach()
    file.seek(0)
    if len(names) != len(set(names)) or not names:
        raise InvalidDataError("its header names a column twice or none. Name each column once.")
    return names


def _dates(text: pl.Series) -> pl.Series:
    """Read dates of ISO 8601; which number of 01/02/2024 is the day, nobody can tell."""
    return _of(text, "").str.to_date("%Y-%m-%d", strict=False)


def _instants(text: pl.Series) -> pl.Series:
    text = _of(text, r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?")
    text = text.str.replace(" ", "T", literal=True)
    text = text.str.replace(r"T([0-9]{2}:[0-9]{2})($|Z|[+-])", "T$1:00$2")
    zoned = text.str.contains(r"(Z|[+-][0-9]{2}:?[0-9]{2})$").drop_nulls()
    if len(zoned) and zoned.all():
        return text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", strict=False)
    return text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False)


def _of(text: pl.Series, rest: str) -> pl.Series:
    """Leave only what begins with a date of ISO 8601 and goes on in a certain way."""
    fits = text.str.contains(f"^[0-9]{{4,}}-[0-9]{{2}}-[0-9]{{2}}{rest}$")
    return text.set(~fits.fill_null(False), None)


READ: dict[str, Callable[[pl.Series], pl.Series]] = {
    "whole numbers": lambda text: text.cast(pl.Int64, strict=False),
    "numbers": lambda text: text.cast(pl.Float64, strict=False),
    "dates": _dates,
    "dates and times": _instants,
    "times": lambda text: text.str.to_time("%H:%M:%S%.f", strict=False),
}
"""What is read from text: the first type that reads every value is taken."""


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
    for read in READ.values():
        found = read(text)
        if found.null_count() == nulls:
            return found
    return column
