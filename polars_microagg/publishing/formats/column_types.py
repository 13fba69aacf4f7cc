"""The types that a format holds, and whether a column came back unchanged."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from polars_microagg.errors import OutputError
from polars_microagg.frames.columns import type_name
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.register import formats, types_inside

__all__ = ["alike", "refuse_lost", "refuse_types"]

READ: dict[type[pl.DataType], Callable[[pl.Series, pl.DataType], pl.Series]] = {
    pl.Boolean: lambda text, _: text == "true",
    pl.Date: lambda text, _: text.str.to_date("%Y-%m-%d"),
    pl.Time: lambda text, _: text.str.to_time("%H:%M:%S%.f"),
    pl.Datetime: lambda text, dtype: _instants(text, dtype),
}
"""Expressions that read the text of a type in CSV and NDJSON where a cast cannot."""

PLAIN = pl.DataFrame({"text": ["a", "b"]})
"""A table that every format holds."""


def refuse_types(frame: pl.DataFrame, form: str, what: object) -> None:
    """Refuse a table with a column that a format cannot hold; `what` names the target."""
    entry = formats()[form]
    if why := entry.refuse_names(frame.columns):
        raise OutputError.of(what, why)
    for name, dtype in frame.schema.items():
        if not all(entry.holds(part) for part in types_inside(dtype)):
            raise _cannot(name, dtype, form, what)


def _cannot(name: str, dtype: pl.DataType, form: str, what: object, has: str = "") -> OutputError:
    entry = formats()[form]
    way = "Drop or cast it first" + (", or write Parquet." if form != "parquet" else ".")
    cannot = entry.cannot or f"{entry.title} cannot hold"
    why = f"column {name!r} is of type {type_name(dtype)}{has}, which {cannot}."
    return OutputError.of(what, f"{why} {way}")


def refuse_lost(
    frame: pl.DataFrame, trial: Callable[[pl.DataFrame], pl.DataFrame], form: str, what: object
) -> None:
    """Refuse the column that fails where the others do not, found by writing each alone.

    `trial` writes a table and returns it as it was read again. If that fails for every column, and
    for a plain text, too, none of them is to blame.
    """
    alone = [frame.select(by_name(name)) for name in frame.columns]
    lost = next((i for i, one in enumerate(alone) if not _fits(one, trial)), None)
    if lost is None or not (lost or any(_fits(one, trial) for one in (PLAIN, *alone[1:]))):
        return
    name, dtype = frame.columns[lost], frame.dtypes[lost]
    has = " and has values, such as NaN or large ones" if dtype.is_numeric() else ""
    raise _cannot(name, dtype, form, what, has)


def _fits(one: pl.DataFrame, trial: Callable[[pl.DataFrame], pl.DataFrame]) -> bool:
    """Return whether a table of one column comes back."""
    try:
        back = trial(one)
        return back.height == one.height and alike(one.to_series(), back.to_series())
    except (OSError, ValueError, NotImplementedError, pl.exceptions.PolarsError):
        return False
    except pl.exceptions.PanicException:
        return False


def alike(before: pl.Series, after: pl.Series) -> bool:
    """Return whether a column came back with the values that it had.

    >>> alike(pl.Series([1.5, None]), pl.Series(["1.5", None]))
    True
    >>> alike(pl.Series([1.5, float("nan")]), pl.Series([1.5, None]))
    False
    """
    before, after = before.alias(""), after.alias("")
    if before.null_count() != after.null_count():
        return False
    if before.dtype == after.dtype or after.null_count() == len(after):
        return before.equals(after) or after.null_count() == len(after)
    if isinstance(before.dtype, pl.Categorical | pl.Enum):
        before = before.cast(pl.String)
    kind, nested = before.dtype.base_type(), before.dtype.is_nested()
    if isinstance(before.dtype, pl.Duration | pl.BaseExtension):
        return True  # ISO 8601 durations have no reader here
    try:
        read = READ.get(kind) if after.dtype == pl.String else None
        back = read(after, before.dtype) if read else after.cast(before.dtype)
    except pl.exceptions.PolarsError:
        return nested
    return before.equals(back)


def _instants(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    zone: str | None = getattr(dtype, "time_zone", None)
    form = "%Y-%m-%dT%H:%M:%S%.f" + ("%z" if zone else "")
    instants = text.str.replace(" ", "T", literal=True).str.to_datetime(
        form, time_unit=getattr(dtype, "time_unit", "us")
    )
    return instants.dt.convert_time_zone(zone) if zone else instants
