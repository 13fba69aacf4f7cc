"""Types of text columns: numbers, dates and times."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Set

import polars as pl

from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.column_batches import batches

__all__ = [
    "CODE",
    "READ",
    "ZEROS",
    "TypesSeen",
    "in_one_type",
    "quantities",
    "read_as",
    "retyped",
    "typed",
]


def _dates(texts: pl.DataFrame) -> pl.DataFrame:
    """Read dates of ISO 8601; in 01/02/2024 either number may be the day."""
    return texts.select(_of(pl.all(), "").str.to_date("%Y-%m-%d", strict=False))


def _instants(texts: pl.DataFrame) -> pl.DataFrame:
    rest = r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
    text = _of(pl.all(), rest).str.replace(" ", "T", literal=True)
    texts = texts.select(text.str.replace(r"T([0-9]{2}:[0-9]{2})($|Z|[+-])", "T$1:00$2"))
    # Of a column without any value, not all have a zone.
    zoned = pl.all().str.contains(r"(Z|[+-][0-9]{2}:?[0-9]{2})$")
    zones = texts.select(zoned.all() & (pl.all().count() > 0)).get_columns()
    return texts.select(
        pl.col(zone.name).str.to_datetime(
            f"%Y-%m-%dT%H:%M:%S%.f{'%#z' * zone.item()}", strict=False
        )
        for zone in zones
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

OF: dict[type[pl.DataType], str] = {
    pl.Int64: "whole numbers",
    pl.Float64: "numbers",
    pl.Date: "dates",
    pl.Datetime: "dates and times",
    pl.Time: "times",
}
"""By which name of `READ` text becomes a type."""

ZEROS = r"^\s*[+-]?0[0-9]"
"""A number with zeros before it, which would be lost."""

CODE = rf"{ZEROS}|[eEnN]"
"""A number as it is written in codes, such as 007 and 1E3, which are not quantities."""

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


def quantities(frame: pl.DataFrame, names: Iterable[str], codes: str = CODE) -> pl.DataFrame:
    """Read numbers, dates and times from columns of text, but no numbers where some are codes such as 007.

    >>> table = pl.DataFrame({"pay": ["9.50", "7"], "dx": ["011", "012"], "at": ["08:30:00", None]})
    >>> quantities(table, ["pay", "dx", "at"]).dtypes
    [Float64, String, Time]
    """
    types = frame.schema
    texts = [name for name in names if types[name] == pl.String]
    matches = frame.select(by_name(name).str.contains(codes).any() for name in texts)
    coded = {column.name for column in matches.get_columns() if column.item()}
    read = typed(frame, texts)
    types = read.schema
    return read.with_columns(
        frame.get_column(name) for name in texts if name in coded and types[name].is_numeric()
    )


class TypesSeen:
    """The types of columns of text of which a batch is seen at a time: those of `typed`.

    Of `quantities`, those that have a code such as 007 stay text.

    >>> seen = TypesSeen(["age"])
    >>> for ages in (["31"], ["47.5", None]):
    ...     seen.see(pl.DataFrame({"age": ages}))
    >>> seen.types
    {'age': Float64}
    """

    def __init__(self, names: Iterable[str], quantities: Iterable[str] = ()) -> None:
        self._quantities = dict.fromkeys(quantities)
        self._seen: dict[str, set[pl.DataType]] = {
            name: set() for name in (*names, *self._quantities)
        }
        for name in names:
            self._quantities.pop(name, None)

    @property
    def asked(self) -> bool:
        """Return whether any column is looked at."""
        return bool(self._seen)

    def see(self, frame: pl.DataFrame) -> None:
        """Inspect the next rows."""
        text, types = pl.String(), frame.schema
        names = [n for n, seen in self._seen.items() if _one(seen) != text]
        names = [n for n in names if types[n] == text]
        read = typed(frame, [n for n in names if n not in self._quantities])
        types = quantities(read, [n for n in names if n in self._quantities]).schema
        for filled in frame.select(by_name(n).count() > 0 for n in names).get_columns():
            if filled.item():
                self._seen[filled.name].add(types[filled.name])

    @property
    def types(self) -> dict[str, pl.DataType]:
        """The types that read every value so far, where they are not text."""
        found = {name: _one(seen) for name, seen in self._seen.items()}
        return {name: dtype for name, dtype in found.items() if dtype and dtype != pl.String}


def _one(seen: Set[pl.DataType]) -> pl.DataType | None:
    """Return the type that reads what these read, each a part; None if nothing was seen."""
    if seen == {pl.Int64(), pl.Float64()}:
        return pl.Float64()
    return pl.String() if len(seen) > 1 else next(iter(seen), None)


def read_as(frame: pl.DataFrame, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Read columns of text as the types that `TypesSeen` found; text that is not of the type becomes null.

    >>> read_as(pl.DataFrame({"age": ["31"]}), {"age": pl.Float64()})["age"].to_list()
    [31.0]
    """
    read = {}
    for name, dtype in types.items():
        # Methods of a Series look it up by its name, where "^a$" would be a pattern.
        texts = frame.get_column(name).alias("0").str.strip_chars().to_frame()
        values = READ[OF[dtype.base_type()]](texts).to_series()
        if getattr(values.dtype, "time_zone", None) != getattr(dtype, "time_zone", None):
            values = values.clear(len(values))  # a cast would take the text for another instant
        read[name] = values.cast(dtype).alias(name)
    return frame.with_columns(read.values())


TEXTS = (pl.String, pl.Categorical, pl.Enum)
"""Types of categories, which are text and never read as numbers."""


def retyped(frame: pl.DataFrame, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Read columns of a format without types as what they were written from.

    >>> text = pl.DataFrame({"zip": ["01067"], "age": ["31"], "sick": ["true"]})
    >>> retyped(text, {"zip": pl.String(), "age": pl.Int64(), "sick": pl.Boolean()}).row(0)
    ('01067', 31, True)
    """
    read = typed(frame, [name for name, dtype in types.items() if dtype not in TEXTS])
    # Whole numbers beyond 63 bits would be read as floats, and only in the batches that have one.
    wide = [n for n, t in types.items() if t == pl.UInt64 and frame.schema[n] == pl.String]
    exact = frame.select(by_name(n).str.strip_chars().cast(pl.UInt64, strict=False) for n in wide)
    read = read.with_columns(
        column
        for column in exact.get_columns()
        if column.null_count() == frame.get_column(column.name).null_count()
    )
    return read.with_columns(
        by_name(name) == "true"
        if dtype == pl.Boolean and read.schema[name] == pl.String
        else by_name(name).cast(dtype, strict=False)
        for name, dtype in types.items()
    )


def in_one_type(one: pl.Series, other: pl.Series) -> list[pl.Series]:
    """Return two columns in the same type, so that equal values are found as such.

    >>> first, second = in_one_type(pl.Series([7, 8]), pl.Series(["007", "9"]))
    >>> first.to_list(), second.to_list()
    ([7, 8], [7, 9])
    """
    columns = [one.alias("0"), other.alias("0")]
    if columns[0].dtype != columns[1].dtype:
        for i, column in enumerate(columns):
            if column.dtype == pl.String and columns[1 - i].dtype not in TEXTS:
                # A file without types gives text.
                columns[i] = typed(column.to_frame(), ["0"]).to_series()
    try:
        whole = pl.concat([c.to_frame() for c in columns], how="vertical_relaxed").to_series()
    except pl.exceptions.PolarsError:
        whole = pl.concat([column.cast(pl.String) for column in columns])
    return [whole.head(len(one)).alias(one.name), whole.tail(len(other)).alias(one.name)]


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
