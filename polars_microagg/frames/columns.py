"""One column between its own type and float64, as its kind says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.core.kind import Kind, key_options, kind_of
from polars_microagg.core.masked import Cells, Masked
from polars_microagg.core.partition import Labels, Strata, Vector
from polars_microagg.core.registry import Method
from polars_microagg.errors import InvalidDataError, MissingValuesError, NotNumericError
from polars_microagg.errors.categories import not_of_kind, without_order
from polars_microagg.kernels.embedding import Embedding

__all__ = [
    "can_mask",
    "emit",
    "floats",
    "is_number",
    "kind_for",
    "numbers",
    "refuse",
    "refused",
    "require",
    "type_name",
    "unit",
    "values",
]

PLAIN = (
    *(pl.Float64, pl.Float32, pl.Int64, pl.Int32, pl.Int16, pl.Int8),
    *(pl.UInt64, pl.UInt32, pl.UInt16, pl.UInt8),
)
"""Types that polars and numpy hold alike."""


def can_mask(dtype: pl.DataType) -> bool:
    """Return whether columns of a type can be masked without being named as of some kind."""
    return kind_of(dtype) is not None


def is_number(dtype: pl.DataType) -> bool:
    """Return whether columns of a type have numbers, decimals, dates or times."""
    kind = kind_of(dtype)
    return kind is not None and kind.numeric


def kind_for(name: str, dtype: pl.DataType, asked: Mapping[str, Any] | None = None) -> Kind:
    """Return the kind of a column: the one that the options of a call name, or that of its type."""
    kind = kind_of(dtype, name, asked)
    if kind is not None:
        return kind
    for option, columns in (asked or {}).items():
        if name in columns:
            raise not_of_kind(name, type_name(dtype), option, key_options()[option].takes)
    raise NotNumericError.of(name, type_name(dtype))


def unit(dtype: pl.DataType) -> float:
    """Return the size of one step of the integers that a type is stored in."""
    kind = kind_of(dtype)
    return kind.unit(dtype) if kind else 1.0


def refused(column: pl.Series) -> int:
    """Count the values that have no number and are not null, such as NaN and infinities."""
    return kind_for("", column.dtype).refused(column)


def require(column: pl.Series, name: str, nulls: str, kind: Kind | None = None) -> None:
    """Refuse a column that has nulls against the policy, NaN or infinities, or alien categories."""
    if nulls == "raise" and column.null_count():
        raise MissingValuesError.nulls(name, column.null_count())
    kind = kind or kind_for(name, column.dtype)
    if bad := kind.refused(column):
        if kind.numeric:
            raise MissingValuesError.not_finite(name, bad)
        raise InvalidDataError.not_in_taxonomy(name, bad)


def numbers(column: pl.Series, strata: Strata | None, kind: Kind | None = None) -> Vector:
    """Return a column as (n,) float64, NaN for null.

    Integers, decimals and temporals become whole steps. Integers that float64 cannot hold count
    from the smallest of their stratum, so that nanoseconds since 1970 keep their last digits; from 0 if
    `strata` is None.

    >>> numbers(pl.Series(["1.10", None]).cast(pl.Decimal(5, 2)), Strata.whole(2))
    array([110.,  nan])
    """
    return (kind or kind_for("", column.dtype)).coordinates(column, strata)


def floats(column: pl.Series) -> pl.Series:
    """Return a column as Float64 by its kind, null for null.

    >>> floats(pl.Series([2**31, None])).to_list()
    [2147483648.0, None]
    """
    counted = pl.Series(column.name, numbers(column.alias("0"), None))
    return counted.set(column.is_null(), None) if column.null_count() else counted


def values(
    original: pl.Series, masked: pl.Series, kind: Kind | None = None
) -> tuple[Vector, Vector, Embedding | None]:
    """Return a column before and after as float64 in the same units, NaN for null.

    Both count from the same number. `masked` may be Float64. With an embedding they are codes of categories.

    >>> values(pl.Series([2**60, 2**60 + 1]), pl.Series([2**60 + 1, 2**60 + 1]))[:2]
    (array([0., 1.]), array([1., 1.]))
    """
    return (kind or kind_for("", original.dtype)).pair(original, masked)


def emit(column: pl.Series, masked: Masked, j: int, dtype: pl.DataType, kind: Kind) -> pl.Series:
    """Return the column with the centre of its group for each record, in its own type or Float64.

    Centres are rounded half to even. `j` is the position of the column in `masked`. Null where the
    label is -1 or the group has no value.
    """
    chosen = masked.values[j]
    table: pl.Series = kind.values(column, chosen, dtype)
    if isinstance(chosen, Cells):
        # Cells have a value for each record.
        labels = np.where(np.isnan(chosen.values), -1, np.arange(len(column)))
        return table.gather(_index(labels)).alias(column.name)
    groups = chosen.groups
    listed = groups.listed
    plain = table.dtype in PLAIN and not table.null_count()
    if plain and listed is not None and len(listed.order) == groups.n:
        # Written to the rows of each group, which needs no labels.
        values = table.to_numpy()
        emitted = np.empty(groups.n, dtype=values.dtype)
        emitted[listed.order] = np.repeat(values, listed.sizes)
        return pl.Series(column.name, emitted)
    return table.gather(_index(chosen.labels)).alias(column.name)


def _index(rows: Labels) -> pl.Series:
    """Row numbers for gather, null for -1."""
    if not rows.size or rows.min() >= 0:
        return pl.Series(rows.astype(np.uint32))
    index = pl.Series(np.maximum(rows, 0).astype(np.uint32))
    return index.set(pl.Series(rows < 0), None)


def refuse(
    name: str,
    dtype: pl.DataType,
    asked: Mapping[str, Any] | None = None,
    method: Method | None = None,
) -> None:
    """Refuse a column of a type that cannot be masked at all, or by this method."""
    kind = kind_for(name, dtype, asked)
    if method is None or method.unit == "record":
        return
    if not kind.ordered or not (kind.numeric or method.columnwise):
        raise without_order(name, method.name, ordinal=method.columnwise)


def type_name(dtype: pl.DataType) -> str:
    """Name a type without the categories of an Enum, which are values.

    >>> type_name(pl.List(pl.Enum(["single", "married"]))), type_name(pl.Datetime("ms"))
    ('List(Enum)', "Datetime(time_unit='ms', time_zone=None)")
    """
    if isinstance(dtype, pl.Enum):
        return "Enum"
    if isinstance(dtype, pl.Struct):
        fields = (f"{field.name!r}: {type_name(field.dtype)}" for field in dtype.fields)  # type: ignore[arg-type]
        return f"Struct({{{', '.join(fields)}}})"
    if isinstance(dtype, pl.List):
        return f"List({type_name(dtype.inner)})"  # type: ignore[arg-type]
    if isinstance(dtype, pl.Array):
        inner = dtype.inner
        while isinstance(inner, pl.Array):
            inner = inner.inner
        return f"Array({type_name(inner)}, shape={dtype.shape})"  # type: ignore[arg-type]
    # Other nested types do not give the types inside them.
    return str(dtype) if "Enum(" not in str(dtype) else str(dtype.base_type())
