"""Which types a format holds, and whether a column came back from it as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from polars_microagg.errors import OutputError
from polars_microagg.frames.columns import type_name
from polars_microagg.frames.selection import by_name

__all__ = ["alike", "refuse_lost", "refuse_types"]

UNHELD: dict[str, tuple[type[pl.DataType], ...]] = {
    "parquet": (pl.Object,),
    "arrow": (pl.Object,),
    "stream": (pl.Object,),
    "ndjson": (pl.Object, pl.Binary),
    "csv": (
        *(pl.Object, pl.Binary, pl.Duration, pl.List, pl.Array, pl.Struct, pl.BaseExtension),
        *((pl.Map,) if hasattr(pl, "Map") else ()),
    ),
    "duckdb": (pl.Object, pl.Int128, pl.UInt128, pl.Duration)
    + ((pl.Float16,) if hasattr(pl, "Float16") else ()),
}
"""Types that a writer refuses in words of its own, or that no reader understands."""

FAILS = {
    "parquet": "Parquet cannot hold",
    "csv": "CSV cannot hold",
    "arrow": "Arrow IPC cannot hold",
    "stream": "an Arrow IPC stream cannot hold",
    "ndjson": "NDJSON cannot hold",
    "duckdb": "does not go through a table of DuckDB and back",
}
"""What to say of a type."""

READ: dict[type[pl.DataType], Callable[[pl.Series, pl.DataType], pl.Series]] = {
    pl.Boolean: lambda text, _: text == "true",
    pl.Date: lambda text, _: text.str.to_date("%Y-%m-%d"),
    pl.Time: lambda text, _: text.str.to_time("%H:%M:%S%.f"),
    pl.Datetime: lambda text, dtype: _instants(text, dtype),
}
"""What reads the text that CSV and NDJSON hold of a type, where a cast does not."""


def refuse_types(frame: pl.DataFrame, form: str, what: object) -> None:
    """Refuse a table with a column that a format cannot hold.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    form : str
        The format.
    what : object
        Where it is to go, for the message.

    Raises
    ------
    OutputError
        Names the column and its type.
    """
    _refuse_names(frame.columns, form, what)
    for name, dtype in frame.schema.items():
        if any(_unheld(part, form) for part in _parts(dtype)):
            raise _cannot(name, dtype, form, what)


def _refuse_names(names: Sequence[str], form: str, what: object) -> None:
    if form not in ("duckdb", "csv"):
        return
    if found := [name for name in names if "\0" in name]:
        why = f"the name of column {found[0]!r} has a null character in it. Rename the column."
        raise OutputError.of(what, why)
    if form == "duckdb" and "" in names:
        raise OutputError.of(what, "a column has no name, and DuckDB needs one. Name the column.")
    seen: dict[str, str] = {}
    for name in names if form == "duckdb" else ():
        if (first := seen.setdefault(name.lower(), name)) != name:
            why = f"columns {first!r} and {name!r} have one name in DuckDB. Rename one of them."
            raise OutputError.of(what, why)


def _unheld(dtype: pl.DataType, form: str) -> bool:
    if isinstance(dtype, UNHELD[form]):
        return True
    if form == "parquet":
        return isinstance(dtype, pl.Struct) and not dtype.fields
    # An array of no width has no place in Arrow's buffers.
    return form != "ndjson" and isinstance(dtype, pl.Array) and 0 in dtype.shape


def _parts(dtype: pl.DataType) -> list[pl.DataType]:
    """The type itself and those inside it."""
    inner = [field.dtype for field in getattr(dtype, "fields", ())]
    for name in ("inner", "key", "value"):
        if isinstance(part := getattr(dtype, name, None), pl.DataType):
            inner.append(part)
    if isinstance(dtype, pl.BaseExtension):
        inner.append(dtype.ext_storage())
    return [dtype, *(part for each in inner for part in _parts(each))]


def _cannot(name: str, dtype: pl.DataType, form: str, what: object, has: str = "") -> OutputError:
    way = "Drop or cast it first" + (", or write Parquet." if form != "parquet" else ".")
    why = f"column {name!r} is of type {type_name(dtype)}{has}, which {FAILS[form]}."
    return OutputError.of(what, f"{why} {way}")


def refuse_lost(
    frame: pl.DataFrame, trial: Callable[[pl.DataFrame], pl.DataFrame], form: str, what: object
) -> None:
    """Refuse the column that fails where the others do not, found by writing each alone.

    Parameters
    ----------
    frame : polars.DataFrame
        A table that could not be written, or not be read again.
    trial : callable
        Writes a table, and returns it as it was read again.
    form, what
        As for `refuse_types`.

    Raises
    ------
    OutputError
        Names the column and its type.
    """
    for name, dtype in frame.schema.items():
        one = frame.select(by_name(name))
        try:
            back = trial(one)
            fits = back.height == one.height and alike(one.to_series(), back.to_series())
        except (OSError, ValueError, NotImplementedError, pl.exceptions.PolarsError):
            fits = False
        except pl.exceptions.PanicException:
            fits = False
        if not fits:
            has = " and has values, such as NaN or large ones" if dtype.is_numeric() else ""
            raise _cannot(name, dtype, form, what, has)


def alike(before: pl.Series, after: pl.Series) -> bool:
    """Tell whether a column came back with the values that it had.

    Examples
    --------
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
    if isinstance(before.dtype, pl.Duration) or before.dtype.is_extension():
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
    found = text.str.replace(" ", "T", literal=True).str.to_datetime(
        form, time_unit=getattr(dtype, "time_unit", "us")
    )
    return found.dt.convert_time_zone(zone) if zone else found
