"""Columns of whole steps or floats: what numbers, decimals, dates and times share."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.core.kind import Kind
from polars_microagg.core.masked import Cells, Centres
from polars_microagg.core.partition import Strata, Vector
from polars_microagg.kernels.cell_masking import real_cells, whole_cells
from polars_microagg.kernels.centre import real_centres, whole_centres
from polars_microagg.kernels.exact_mean import Real

__all__ = ["Steps"]

EXACT = 2**53
"""Integers up to this size are exact in float64."""

REALS: dict[Any, Real] = {
    pl.Float16: np.float16,
    pl.Float32: np.float32,
    pl.Float64: np.float64,
}
"""Floats that centres are rounded to."""


class Steps(Kind):
    """Base of kinds whose types are floats, or are stored as integers."""

    numeric = True
    widens = True
    ordered = True

    def scale(self, dtype: pl.DataType) -> int:
        """Return the digits after the decimal point; 0 except for decimals."""
        del dtype
        return 0

    def unit(self, dtype: pl.DataType) -> float:
        """Return the size of one step of the integers that a type is stored in."""
        return 10.0 ** -self.scale(dtype)

    def refused(self, column: pl.Series) -> int:
        """Count NaN and infinities."""
        if not column.dtype.is_float():
            return 0
        # One pass for nearly all columns: a sum with one of them is none of numbers.
        if isfinite(column.sum()):
            return 0
        return len(column) - column.null_count() - int(column.is_finite().sum())

    def coordinates(self, column: pl.Series, strata: Strata | None) -> Vector:
        """Return a column as float64, NaN where null."""
        if not column.dtype.is_float():
            column = column.to_physical()
            low, high = _bounds(column)
            if strata is not None and (low < -EXACT or high > EXACT):
                column = _from_smallest(column, strata, high - low)
        values: Vector = column.cast(pl.Float64).to_numpy()
        return values

    def pair(self, original: pl.Series, masked: pl.Series) -> tuple[Vector, Vector, None]:
        """Return a column before and after as float64, counted from the same number."""
        low = 0
        if not original.dtype.is_float():
            low, high = _bounds(original.to_physical())
            # Steps that float64 holds stay as they are. Larger ones count from the least, unless
            # they or their differences do not fit 128 bits.
            low = 0 if (low >= -EXACT and high <= EXACT) or max(high, high - low) >= 2**127 else low
        if masked.dtype != original.dtype:
            # Steps of different sizes, such as milliseconds and nanoseconds, cannot be compared.
            masked = masked.cast(original.dtype if masked.dtype.is_temporal() else pl.Float64)
        step = self.unit(original.dtype)
        before, after = (self._counted(column, low, step) for column in (original, masked))
        return before, after, None

    def _counted(self, column: pl.Series, low: int, step: float) -> Vector:
        """Return a column in units counted from `low`, by exact differences in 128 bits."""
        if column.dtype.is_float():
            return column.cast(pl.Float64).to_numpy() - low * step
        physical = column.to_physical()
        if low and low >= -(2**126):
            physical = physical.cast(pl.Int128) - pl.Series([low], dtype=pl.Int128)
        counted: Vector = physical.cast(pl.Float64).to_numpy() * step
        return counted

    def values(self, column: pl.Series, chosen: Centres | Cells, dtype: pl.DataType) -> pl.Series:
        """Return the centre of each group: a float, or whole steps rounded half to even."""
        if column.dtype.is_float() or dtype != column.dtype:
            return self._as_float(column, chosen, dtype)
        physical = column.to_physical()
        if isinstance(chosen, Centres):
            steps = whole_centres(_whole_steps(column), chosen)
        else:
            steps = whole_cells(chosen, _whole_steps(column))
        if steps.dtype == np.int64:
            return self.typed(pl.Series(steps), column.dtype)
        # Wide steps are Python's integers; a centre is no larger than the largest value.
        wide = pl.Int128 if _bounds(physical)[1] < 2**127 else pl.UInt128
        return self.typed(pl.Series(steps.tolist(), dtype=wide), column.dtype)

    def _as_float(
        self, column: pl.Series, chosen: Centres | Cells, dtype: pl.DataType
    ) -> pl.Series:
        """Return the centres as floats."""
        real = REALS[dtype]
        if not isinstance(chosen, Centres):
            table = real_cells(chosen, real)
        elif column.dtype.is_float():
            table = real_centres(column.cast(pl.Float64).to_numpy(), chosen, dtype=real)
        else:
            table = real_centres(_whole_steps(column), chosen, 10 ** self.scale(column.dtype))
        return pl.Series(table).cast(dtype)

    def typed(self, steps: pl.Series, dtype: pl.DataType) -> pl.Series:
        """Convert whole steps to their type."""
        return steps.cast(dtype)


def _bounds(physical: pl.Series) -> tuple[int, int]:
    """Return the least and the greatest whole step; 0 and 0 for no value."""
    low, high = physical.min(), physical.max()
    return (0, 0) if low is None else (int(low), int(high))  # type: ignore[arg-type]


def _whole_steps(column: pl.Series) -> npt.NDArray[Any]:
    """Return the whole steps of a type: 64-bit integers, or Python's where those overflow."""
    physical = column.to_physical().fill_null(0)
    low, high = _bounds(physical)
    if low >= -(2**63) and high < 2**63:
        return physical.cast(pl.Int64).to_numpy()
    return np.array(physical.to_list(), dtype=object)


def _from_smallest(column: pl.Series, strata: Strata, span: int) -> pl.Series:
    # A difference of 128-bit integers overflows from 2**127 on; unsigned ones have room for all.
    """Count each value from the smallest of its stratum."""
    wide = pl.UInt128 if column.dtype == pl.UInt128 else pl.Int128
    if span >= 2**127 and wide == pl.Int128:
        return column
    value = pl.col("value").cast(wide)
    stratum = strata.numbers(len(column)).astype(np.uint32)
    frame = pl.DataFrame({"value": column, "stratum": stratum})
    return frame.select(value - value.min().over("stratum")).to_series()
