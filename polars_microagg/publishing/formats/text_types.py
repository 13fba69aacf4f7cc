"""Types of text columns: numbers, dates and times."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping

import polars as pl

from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.column_batches import batches

__all__ = ["READ", "retyped", "typed"]


def _dates(texts: pl.DataFrame) -> pl.DataFrame:
    """Read dates of ISO 8601; in 01/02/2024 either number may be the day."""
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
"""Types that columns of text are read as: the first that reads every value is taken."""

FIRST = 64
"""Rows that are tried before all are; a column that fails on them fails as a whole."""


def typed(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Read numbers, dates and times from columns of text.

    >>> typed(pl.DataFrame({"age": ["31", "47"], "born": ["1993-05-01", None]}), ["age", "born"]).dtypes
    [Int64, Date]
    """
    names = list(dict.fromkeys(names))
    columns = [frame.get_column(name).alias(str(i)) for i, name in enumerate(names)]
    read: dict[str, pl.Series] = {}
    for batch in batches([c for c in columns if c.dtype == pl.String], frame.height):
        read |= _read(pl.DataFrame(batch))
    return frame.with_columns(column.alias(names[int(i)]) for i, column in read.items())


TEXTS = (pl.String, pl.Categorical, pl.Enum)
"""Types of categories, which are text and never read as numbers."""


def retyped(frame: pl.DataFrame, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Read columns of a format without types as what they were written from.

    >>> text = pl.DataFrame({"zip": ["01067"], "age": ["31"], "sick": ["true"]})
    >>> retyped(text, {"zip": pl.String(), "age": pl.Int64(), "sick": pl.Boolean()}).row(0)
    ('01067', 31, True)
    """
    read = typed(frame, [name for name, dtype in types.items() if dtype not in TEXTS])
    return read.with_columns(
        by_name(name) == "true"
        if dtype == pl.Boolean and read.schema[name] == pl.String
        else by_name(name).cast(dtype, strict=False)
        for name, dtype in types.items()
    )


def _read(texts: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the text columns in which a type is read, by their names."""
    filled = texts.select(pl.all().count() > 0).row(0)
    left = texts.select(itertools.compress(texts.columns, filled))
    left = left.select(pl.all().str.strip_chars())
    typed: dict[str, pl.Series] = {}
    for read in READ.values():
        likely = left.select(list(_fitting(left.head(FIRST), read)))
        typed |= _fitting(likely, read)
        left = left.select(name for name in left.columns if name not in typed)
    return typed


def _fitting(
    texts: pl.DataFrame, read: Callable[[pl.DataFrame], pl.DataFrame]
) -> dict[str, pl.Series]:
    """Return the columns of which every value is read."""
    if not texts.width:
        return {}
    values = read(texts)
    counts = zip(texts.null_count().row(0), values.null_count().row(0), strict=True)
    fits = [before == after for before, after in counts]
    return {column.name: column for column in itertools.compress(values.get_columns(), fits)}
