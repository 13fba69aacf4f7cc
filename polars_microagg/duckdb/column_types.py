"""Types of DuckDB: the list that carries each, and the Polars type that has the same steps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import polars as pl

from polars_microagg.core.kind import key_options, kind_of
from polars_microagg.core.registry import Method
from polars_microagg.errors import MissingValuesError, NotNumericError
from polars_microagg.errors.categories import not_of_kind
from polars_microagg.frames.columns import can_mask, is_number, refuse

__all__ = [
    "NANOSECONDS",
    "ListType",
    "as_steps",
    "categories",
    "counted",
    "dtype_of",
    "lane_of",
    "list_type",
    "outline",
    "refuse_infinite",
    "refuse_kind",
    "texts_of_kinds",
    "typed",
]


class ListType(NamedTuple):
    """The lists in which values of a type are passed to functions.

    `lane` is the list: d(oubles), i(ntegers) or t(ext). `dtype` is what they are masked in. Dates and
    times are masked as integers: Polars has no seconds, and no time of 24:00.
    """

    lane: str
    dtype: pl.DataType


STAMPS = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")

TYPES = {
    "FLOAT": ListType("d", pl.Float32()),
    "DOUBLE": ListType("d", pl.Float64()),
    "TINYINT": ListType("d", pl.Int8()),
    "SMALLINT": ListType("d", pl.Int16()),
    "INTEGER": ListType("d", pl.Int32()),
    "UTINYINT": ListType("d", pl.UInt8()),
    "USMALLINT": ListType("d", pl.UInt16()),
    "UINTEGER": ListType("d", pl.UInt32()),
    **dict.fromkeys(("BIGINT", "DATE", "TIME", *STAMPS), ListType("i", pl.Int64())),
    "TIME_NS": ListType("t", pl.Int64()),
    "UBIGINT": ListType("t", pl.UInt64()),
    "HUGEINT": ListType("t", pl.Int128()),
    "UHUGEINT": ListType("t", pl.UInt128()),
}

NOT_NUMBERS = {"BOOLEAN": pl.Boolean(), "VARCHAR": pl.String()}
"""Types that travel as text where a registered kind of column takes their Polars type, as ENUM does."""

ENDLESS = {"DATE": 2**31 - 1} | dict.fromkeys(STAMPS, 2**63 - 1)
"""The integer that stands for 'infinity'; '-infinity' is its negative."""

NANOSECONDS = {"DATE": 86_400 * 10**9, "TIME": 1_000, "TIME_NS": 1}
NANOSECONDS |= zip(STAMPS, (1_000, 1_000, 10**9, 10**6, 1), strict=True)
"""Size of one step of dates and times."""

NAMED = {
    "DATE": pl.Date(),
    "TIME": pl.Time(),
    "TIME_NS": pl.Time(),
    "TIMESTAMP": pl.Datetime("us"),
    "TIMESTAMP WITH TIME ZONE": pl.Datetime("us", "UTC"),
    "TIMESTAMP_S": pl.Datetime("ms"),
    "TIMESTAMP_MS": pl.Datetime("ms"),
    "TIMESTAMP_NS": pl.Datetime("ns"),
}
"""Types of dates and times in Polars, which the kinds know that a call names."""

DAY = 86_400 * 10**9
"""Nanoseconds of a day."""

DOUBLED = 15
"""Most digits of a decimal that a double holds."""


def list_type(type_: str) -> ListType | None:
    """Return how values of a type travel, or None for a type that cannot be masked.

    >>> list_type("DECIMAL(18,3)"), list_type("UUID")
    (ListType(lane='t', dtype=Decimal(precision=18, scale=3)), None)
    """
    if type_.startswith("ENUM(") and type_.endswith(")"):
        return ListType("t", _enum(type_))
    if decimal := re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", type_):
        width, scale = int(decimal[1]), int(decimal[2])
        return ListType("d" if width <= DOUBLED else "t", pl.Decimal(width, scale))
    if (dtype := NOT_NUMBERS.get(type_)) and can_mask(dtype):
        return ListType("t", dtype)
    return TYPES.get(type_)


def dtype_of(type_: str, *, named: bool) -> pl.DataType | None:
    """Return the type that kinds of columns know a type by, where a call names its kind or does not.

    >>> dtype_of("DATE", named=True), dtype_of("DATE", named=False), dtype_of("UUID", named=False)
    (Date, Int64, None)
    """
    carried = list_type(type_)
    if carried is None:
        return None
    return NAMED.get(type_, carried.dtype) if named else carried.dtype


def texts_of_kinds() -> list[str]:
    """Return the types other than numbers, dates and times that a registered kind takes.

    >>> texts_of_kinds()
    ['BOOLEAN', 'VARCHAR']
    """
    return [type_ for type_, dtype in NOT_NUMBERS.items() if can_mask(dtype)]


def categories() -> list[str]:
    """Return the types whose values are categories, which ``dtype="float"`` leaves as they are.

    >>> categories()
    ['BOOLEAN', 'VARCHAR']
    """
    return [type_ for type_ in texts_of_kinds() if not is_number(NOT_NUMBERS[type_])]


@lru_cache(maxsize=64)
def _enum(type_: str) -> pl.Enum:
    """Return an ENUM with its values in their order."""
    named = re.findall(r"'((?:[^']|'')*)'", type_)
    return pl.Enum([name.replace("''", "'") for name in named])


def lane_of(type_: str) -> str:
    """Return the list that carries a type: d(oubles), i(ntegers), t(ext), or "" for none.

    >>> [lane_of(t) for t in ("FLOAT", "DATE", "DECIMAL(18,3)", "UUID")]
    ['d', 'i', 't', '']
    """
    carried = list_type(type_)
    return carried.lane if carried else ""


def counted(type_: str, texts: pl.Series) -> pl.Series:
    """Return values that were read as text as a column whose values privacy models can count.

    >>> counted("ENUM('low', 'it''s high')", pl.Series(["low", None])).dtype
    Enum(categories=['low', "it's high"])
    """
    carried = list_type(type_)
    return texts.cast(carried.dtype) if carried else texts


def typed(type_: str, steps: pl.Series) -> pl.Series:
    """Convert steps of dates and times to the type that Polars has; 24:00 is 00:00 on a clock.

    >>> typed("TIME", pl.Series([86_399_000_000])).item()
    datetime.time(23, 59, 59)
    """
    dtype = NAMED.get(type_)
    if dtype is None:
        return steps
    if dtype == pl.Time:
        return (steps * NANOSECONDS[type_] % DAY).cast(dtype)
    return (steps * 1000 if type_ == "TIMESTAMP_S" else steps).cast(pl.Int64).cast(dtype)


def as_steps(type_: str, values: pl.Series) -> pl.Series:
    """Convert dates and times of Polars to steps of their type, rounded half to even.

    >>> as_steps("TIME", pl.Series([1_500, 2_500]).cast(pl.Time)).to_list()
    [2, 2]
    """
    dtype = NAMED.get(type_)
    if dtype is None:
        return values
    size, steps = NANOSECONDS[type_], values.to_physical()
    if dtype != pl.Time:
        return steps // 1000 if type_ == "TIMESTAMP_S" else steps
    if size == 1 or steps.dtype.is_float():
        return steps / size if size > 1 else steps
    # Below 2^53 and halves among them: the quotient is rounded once.
    return (steps / size).round().cast(pl.Int64) % (DAY // size)


def refuse_kind(
    name: str, type_: str, asked: Mapping[str, Any], method: Method | None = None
) -> None:
    """Refuse a column of a type that cannot be what a call names, or that a method cannot group."""
    option = next((option for option, columns in asked.items() if name in columns), None)
    dtype = dtype_of(type_, named=option is not None)
    if dtype is None:
        raise NotNumericError.of(name, outline(type_))
    if option and kind_of(dtype, name, asked) is None:
        raise not_of_kind(name, outline(type_), option, key_options()[option].takes)
    refuse(name, dtype, asked, method)


def outline(type_: str) -> str:
    """Return the name of a type without its parameters and fields, for messages.

    >>> [outline(t) for t in ("DECIMAL(9,2)[]", "STRUCT(a BIGINT[])", "BIGINT[3]")]
    ['DECIMAL[]', 'STRUCT', 'BIGINT[3]']
    """
    name, inner, _ = type_.partition("(")
    return name + type_[type_.rindex(")") + 1 :] if inner else name


def refuse_infinite(name: str, type_: str, steps: pl.Series) -> None:
    """Refuse dates and times that are infinite."""
    end = ENDLESS.get(type_)
    if end is None:
        return
    # Not by the absolute value: the smallest integer has none.
    if bad := int(((steps >= end) | (steps <= -end)).sum()):
        raise MissingValuesError.not_finite(name, bad)
