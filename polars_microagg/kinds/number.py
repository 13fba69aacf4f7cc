"""Integers and floats."""

from __future__ import annotations

import polars as pl

from polars_microagg.core.kind import kind
from polars_microagg.kinds._steps import Steps

__all__ = ["Number"]


@kind()
class Number(Steps):
    """Integers and floats: the coordinate is the value, and the centre is rounded to the type."""

    def takes(self, dtype: pl.DataType) -> bool:
        """Return whether a type is an integer or a float."""
        return dtype.is_integer() or dtype.is_float()
