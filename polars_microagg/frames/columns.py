"""One column between its own type and float64, as its kind says."""

from __future__ import annotations

import numpy as np
import polars as pl

from polars_microagg.core.partition import Centres, Labels, Masked, Strata, Vector
from polars_microagg.errors import MissingValuesError, NotNumericError
from polars_microagg.kinds.register import Kind, kind_of

__all__ = [
    "can_mask",
    "emit",
    "floats",
    "numbers",
    "refuse",
    "refused",
    "require",
    "type_name",
    "unit",
    "values",
]


def can_mask(dtype: pl.DataType) -> bool:
    """Return whether columns of a type can be masked."""
    return kind_of(dtype) is not None


def _kind(dtype: pl.DataType) -> Kind:
    kind = kind_of(dtype)
    if kind is None:
        raise NotNumericError.of("", type_name(dtype))
    return kind


def unit(dtype: pl.DataType) -> float:
    """Return the size of one step of the integers that a type is stored in."""
    kind = kind_of(dtype)
    return kind.unit(dtype) if kind else 1.0


def refused(column: pl.Series) -> int:
    """Count the values that have no number and are not null, such as NaN and infinities."""
    return _kind(column.dtype).refused(column)


def require(column: pl.Series, name: str, nulls: str) -> None:
    """Refuse a column that has nulls against the policy, NaN or infinities."""
    if nulls == "raise" and column.null_count():
        raise MissingValuesError.nulls(name, column.null_count())
    if bad := refused(column):
        raise MissingValuesError.not_finite(name, bad)


def numbers(column: pl.Series, strata: Strata | None) -> Vector:
    """Turn a column into (n,) float64, NaN for null.

    Integers, decimals and temporals become whole steps. Integers that float64 cannot hold count
    from the smallest of their stratum, so that nanoseconds since 1970 keep their last digits; from 0 if
    `strata` is None.

    >>> numbers(pl.Series(["1.10", None]).cast(pl.Decimal(5, 2)), Strata.whole(2))
    array([110.,  nan])
    """
    return _kind(column.dtype).coordinates(column, strata)


def floats(column: pl.Series) -> pl.Series:
    """Turn a column into Float64 by its kind, null for null.

    >>> floats(pl.Series([2**31, None])).to_list()
    [2147483648.0, None]
    """
    counted = pl.Series(column.name, numbers(column.alias("0"), None))
    return counted.set(column.is_null(), None) if column.null_count() else counted


def values(original: pl.Series, masked: pl.Series) -> tuple[Vector, Vector]:
    """Turn a column before and after into float64 in the same units, NaN for null.

    Both count from the same number. `masked` may be Float64.

    >>> values(pl.Series([2**60, 2**60 + 1]), pl.Series([2**60 + 1, 2**60 + 1]))
    (array([0., 1.]), array([1., 1.]))
    """
    return _kind(original.dtype).pair(original, masked)


def emit(column: pl.Series, masked: Masked, j: int, dtype: pl.DataType) -> pl.Series:
    """Give every record the centre of its group, in its own type or Float64.

    Centres are rounded half to even. `j` is the position of the column in `masked`. Null where the
    label is -1 or the group has no value.
    """
    chosen, labels = masked.values[j], masked.labels
    if isinstance(chosen, Centres):
        labels = chosen.labels
    else:
        # Cells have a value for each record.
        labels = np.where(np.isnan(chosen.values), -1, np.arange(len(labels)))
    table = _kind(column.dtype).values(column, chosen, dtype)
    return table.gather(_index(labels)).alias(column.name)


def _index(rows: Labels) -> pl.Series:
    """Row numbers for gather, null for -1."""
    if not rows.size or rows.min() >= 0:
        return pl.Series(rows.astype(np.uint32))
    index = pl.Series(np.maximum(rows, 0).astype(np.uint32))
    return index.set(pl.Series(rows < 0), None)


def refuse(name: str, dtype: pl.DataType) -> None:
    """Refuse a column of a type that cannot be averaged."""
    if not can_mask(dtype):
        raise NotNumericError.of(name, type_name(dtype))


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
