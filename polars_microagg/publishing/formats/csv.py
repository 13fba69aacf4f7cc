"""CSV read strictly as text, and numbers, dates and times read from it where they are needed."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterable
from typing import IO, Any

import polars as pl

from polars_microagg.errors.files import bad_header, bad_names
from polars_microagg.publishing.formats.column_batches import batches
from polars_microagg.publishing.formats.csv_errors import ragged, refuse_encoding

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
        raise bad_header() from None
    finally:
        text.detach()
    file.seek(0)
    if len(names) != len(set(names)) or not names:
        raise bad_names()
    return names


def _dates(texts: pl.DataFrame) -> pl.DataFrame:
    """Read dates of ISO 8601; which number of 01/02/2024 is the day, nobody can tell."""
    return texts.select(_of(pl.all(), "").str.to_date("%Y-%m-%d", strict=False))


def _instants(texts: pl.DataFrame) -> pl.DataFrame:
    rest = r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
    text = _of(pl.all(), rest).str.replace(" ", "T", literal=True)
    texts = texts.select(text.str.replace(r"T([0-9]{2}:[0-9]{2})($|Z|[+-])", "T$1:00$2"))
    # Of a column without any value, not all have a zone.
    zoned = pl.all().str.contains(r"(Z|[+-][0-9]{2}:?[0-9]{2})$")
    zones = texts.select(zoned.all() & (pl.all().count() > 0)).row(0)
    return texts.select(
        pl.col(name).str.to_datetime(f"%Y-%m-%dT%H:%M:%S%.f{'%#z' * zone}", strict=False)
        for name, zone in zip(texts.columns, zones, strict=True)
    )


def _of(text: pl.Expr, rest: str) -> pl.Expr:
    """Leave only what begins with a date of ISO 8601 and goes on in a certain way."""
    return pl.when(text.str.contains(f"^[0-9]{{4,}}-[0-9]{{2}}-[0-9]{{2}}{rest}$")).then(text)


READ: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "whole numbers": lambda texts: texts.cast(pl.Int64, strict=False),
    "numbers": lambda texts: texts.cast(pl.Float64, strict=False),
    "dates": _dates,
    "dates and times": _instants,
    "times": lambda texts: texts.select(pl.all().str.to_time("%H:%M:%S%.f", strict=False)),
}
"""What is read from columns of text: the first type that reads every value is taken."""

FIRST = 64
"""Rows that are tried before all are; a column that fails on them fails as a whole."""


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
    names = list(dict.fromkeys(names))
    columns = [frame.get_column(name).alias(str(i)) for i, name in enumerate(names)]
    read: dict[str, pl.Series] = {}
    for batch in batches([c for c in columns if c.dtype == pl.String], frame.height):
        read |= _read(pl.DataFrame(batch))
    return frame.with_columns(column.alias(names[int(i)]) for i, column in read.items())


def _read(texts: pl.DataFrame) -> dict[str, pl.Series]:
    """Those of some columns of text in which a type is read, by their names."""
    filled = texts.select(pl.all().count() > 0).row(0)
    left = texts.select(itertools.compress(texts.columns, filled))
    left = left.select(pl.all().str.strip_chars())
    found: dict[str, pl.Series] = {}
    for read in READ.values():
        likely = left.select(list(_fitting(left.head(FIRST), read)))
        found |= _fitting(likely, read)
        left = left.select(name for name in left.columns if name not in found)
    return found


def _fitting(
    texts: pl.DataFrame, read: Callable[[pl.DataFrame], pl.DataFrame]
) -> dict[str, pl.Series]:
    """The columns of which every value is read."""
    if not texts.width:
        return {}
    values = read(texts)
    counts = zip(texts.null_count().row(0), values.null_count().row(0), strict=True)
    fits = [before == after for before, after in counts]
    return {column.name: column for column in itertools.compress(values.get_columns(), fits)}
