"""Dates, times and durations."""

from __future__ import annotations

import polars as pl

from polars_microagg.core.kind import kind
from polars_microagg.kinds._steps import Steps

__all__ = ["Moment"]


@kind()
class Moment(Steps):
    """Dates, times and durations: the coordinate is the number of days or of parts of a second."""

    def takes(self, dtype: pl.DataType) -> bool:
        """Return whether a type is one of dates and times."""
        return dtype.is_temporal()

    def typed(self, steps: pl.Series, dtype: pl.DataType) -> pl.Series:
        """Convert steps to their type."""
        return steps.cast(pl.Int32 if dtype == pl.Date else pl.Int64).cast(dtype)
