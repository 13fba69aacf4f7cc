"""One column between its own type and float64: what can be masked, and how it comes back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.core.partition import Cells, Centres, Labels, Masked, Strata, Vector
from polars_microagg.errors import MissingValuesError, NotNumericError
from polars_microagg.kernels.cell_masking import real_cells, whole_cells
from polars_microagg.kernels.centre import real_centres, whole_centres
from polars_microagg.kernels.exact_mean import Real

__all__ = ["can_mask", "emit", "numbers", "refuse", "require", "type_name", "unit", "values"]

EXACT = 2**53
"""Integers up to this size are exact in float64."""

REALS: dict[Any, Real] = {
    pl.Float16: np.float16,
    pl.Float32: np.float32,
    pl.Float64: np.float64,
}
"""Floats that centres are rounded to."""


def can_mask(dtype: pl.DataType) -> bool:
    """Tell whether a type has a centroid: numbers, decimals, dates and times."""
    return dtype.is_numeric() or dtype.is_temporal()


def _scale(dtype: pl.DataType) -> int:
    return dtype.scale if isinstance(dtype, pl.Decimal) else 0


def unit(dtype: pl.DataType) -> float:
    """Size of one step of the integers behind a type."""
    return 10.0 ** -_scale(dtype)


def require(column: pl.Series, name: str, nulls: str) -> None:
    """Refuse a column that has nulls against the policy, NaN or infinities."""
    if nulls == "raise" and column.null_count():
        raise MissingValuesError.nulls(name, column.null_count())
    if column.dtype.is_float():
        bad = len(column) - column.null_count() - int(column.is_finite().sum())
        if bad:
            raise MissingValuesError.not_finite(name, bad)


def _bounds(physical: pl.Series) -> tuple[int, int]:
    low, high = physical.min(), physical.max()
    return (0, 0) if low is None else (int(low), int(high))  # type: ignore[arg-type]


def numbers(column: pl.Series, strata: Strata | None) -> Vector:
    """Turn a column into float64, NaN where null.

    Integers that float64 cannot hold count from the smallest of their stratum, so that
    nanoseconds since 1970 keep their last digits.

    Parameters
    ----------
    column : polars.Series
        A column of a type that can be masked.
    strata : Strata, optional
        Its strata; None to count from 0 in any case.

    Returns
    -------
    array of shape (n,)
        Original units: whole steps for integers, decimals and temporals.

    Examples
    --------
    >>> numbers(pl.Series(["1.10", None]).cast(pl.Decimal(5, 2)), Strata.whole(2))
    array([110.,  nan])
    """
    if not column.dtype.is_float():
        column = column.to_physical()
        low, high = _bounds(column)
        if strata is not None and (low < -EXACT or high > EXACT):
            column = _from_smallest(column, strata, high - low)
    values: Vector = column.cast(pl.Float64).to_numpy()
    return values


def _from_smallest(column: pl.Series, strata: Strata, span: int) -> pl.Series:
    wide = pl.UInt128 if column.dtype == pl.UInt128 else pl.Int128
    if span >= 2**127 and wide == pl.Int128:
        return column
    stratum = np.empty(len(column), dtype=np.uint32)
    stratum[strata.order] = np.repeat(np.arange(len(strata.sizes)), strata.sizes)
    value = pl.col("value").cast(wide)
    frame = pl.DataFrame({"value": column, "stratum": stratum})
    return frame.select(value - value.min().over("stratum")).to_series()


def values(original: pl.Series, masked: pl.Series) -> tuple[Vector, Vector]:
    """Turn a column before and after into float64 in the same units, NaN where null.

    Parameters
    ----------
    original, masked : polars.Series
        A column in its own type; `masked` may be Float64 instead.

    Returns
    -------
    tuple of array of shape (n,)
        Both, counted from the same number.

    Examples
    --------
    >>> values(pl.Series([2**60, 2**60 + 1]), pl.Series([2**60 + 1, 2**60 + 1]))
    (array([0., 1.]), array([1., 1.]))
    """
    low = 0
    if not original.dtype.is_float():
        low, high = _bounds(original.to_physical())
        low = 0 if (low >= -EXACT and high <= EXACT) or max(high, high - low) >= 2**127 else low
    if masked.dtype != original.dtype:
        # Steps of different sizes, such as milliseconds and nanoseconds, cannot be compared.
        masked = masked.cast(original.dtype if masked.dtype.is_temporal() else pl.Float64)
    before, after = (_from(column, low, original.dtype) for column in (original, masked))
    return before, after


def _from(column: pl.Series, low: int, dtype: pl.DataType) -> Vector:
    step = unit(dtype)
    if column.dtype.is_float():
        return column.cast(pl.Float64).to_numpy() - low * step
    physical = column.to_physical()
    if low and low >= -(2**126):
        physical = physical.cast(pl.Int128) - pl.Series([low], dtype=pl.Int128)
    counted: Vector = physical.cast(pl.Float64).to_numpy() * unit(column.dtype)
    return counted


def emit(column: pl.Series, masked: Masked, j: int, dtype: pl.DataType) -> pl.Series:
    """Give every record the centre of its group, in the type asked for.

    Parameters
    ----------
    column : polars.Series
        The original column.
    masked : Masked
        Centres and labels.
    j : int
        Position of the column in `masked`.
    dtype : polars.DataType
        Its own type (centres are rounded half to even) or Float64.

    Returns
    -------
    polars.Series
        One value a record; null where the label is -1 or the group has no value.
    """
    chosen, labels = masked.values[j], masked.labels
    if isinstance(chosen, Centres):
        labels = chosen.labels
    if column.dtype.is_float() or dtype != column.dtype:
        table = _as_float(column, chosen, dtype)
    else:
        table = _as_whole(column, chosen)
    return table.gather(_index(labels)).alias(column.name)


def _index(rows: Labels) -> pl.Series:
    """Row numbers for gather, null for -1."""
    if not rows.size or rows.min() >= 0:
        return pl.Series(rows.astype(np.uint32))
    index = pl.Series(np.maximum(rows, 0).astype(np.uint32))
    return index.set(pl.Series(rows < 0), None)


def _as_float(column: pl.Series, chosen: Centres | Cells, dtype: pl.DataType) -> pl.Series:
    real = REALS[dtype]
    if not isinstance(chosen, Centres):
        table = real_cells(chosen, real)
    elif column.dtype.is_float():
        table = real_centres(column.cast(pl.Float64).to_numpy(), chosen, dtype=real)
    else:
        table = real_centres(_steps(column), chosen, 10 ** _scale(column.dtype))
    return pl.Series(table).cast(dtype)


def _as_whole(column: pl.Series, chosen: Centres | Cells) -> pl.Series:
    """Whole steps of the type, put back into it."""
    physical = column.to_physical()
    if isinstance(chosen, Centres):
        found = whole_centres(_steps(column), chosen)
    else:
        found = whole_cells(chosen, _steps(column))
    if found.dtype == np.int64:
        return _typed(pl.Series(found), column.dtype, physical.dtype)
    wide = pl.Int128 if _bounds(physical)[1] < 2**127 else pl.UInt128
    return _typed(pl.Series(found.tolist(), dtype=wide), column.dtype, physical.dtype)


def _steps(column: pl.Series) -> npt.NDArray[Any]:
    """Whole steps of a type: 64-bit integers, or Python's where those do not reach."""
    physical = column.to_physical().fill_null(0)
    low, high = _bounds(physical)
    if low >= -(2**63) and high < 2**63:
        return physical.cast(pl.Int64).to_numpy()
    return np.array(physical.to_list(), dtype=object)


def _typed(whole: pl.Series, dtype: pl.DataType, physical: pl.DataType) -> pl.Series:
    if isinstance(dtype, pl.Decimal):
        step = pl.Series([Decimal(1).scaleb(-dtype.scale)], dtype=pl.Decimal(38, dtype.scale))
        return (whole.cast(pl.Decimal(38, 0)) * step).cast(dtype)
    return whole.cast(physical).cast(dtype)


def refuse(name: str, dtype: pl.DataType) -> None:
    """Refuse a column whose type has no centroid."""
    if not can_mask(dtype):
        raise NotNumericError.of(name, type_name(dtype))


def type_name(dtype: pl.DataType) -> str:
    """Name a type without the categories of an Enum, which are values.

    Examples
    --------
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
    # Whatever else has types inside it does not tell them.
    return str(dtype) if "Enum(" not in str(dtype) else str(dtype.base_type())
