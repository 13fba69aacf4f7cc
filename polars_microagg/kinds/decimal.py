"""Decimals."""

from __future__ import annotations

from decimal import Decimal as Exact

import polars as pl

from polars_microagg.core.kind import kind
from polars_microagg.kinds._steps import Steps

__all__ = ["Decimal"]


@kind()
class Decimal(Steps):
    """Decimals: the coordinate is the number of last digits, to which the centre is rounded."""

    def takes(self, dtype: pl.DataType) -> bool:
        """Return whether a type is a decimal."""
        return isinstance(dtype, pl.Decimal)

    def scale(self, dtype: pl.DataType) -> int:
        """Return the digits after the decimal point."""
        return dtype.scale if isinstance(dtype, pl.Decimal) else 0

    def typed(self, steps: pl.Series, dtype: pl.DataType) -> pl.Series:
        """Convert last digits to their type."""
        scale = self.scale(dtype)
        last = pl.Series([Exact(1).scaleb(-scale)], dtype=pl.Decimal(38, scale))
        made = (steps.cast(pl.Decimal(38, 0)) * last).cast(dtype)
        # Polars before 2.0 multiplies decimals of nearly 38 digits into nulls.
        return made if made.null_count() == steps.null_count() else _read(steps, scale).cast(dtype)


def _read(steps: pl.Series, scale: int) -> pl.Series:
    """Write last digits as texts of decimals."""
    digits = steps.cast(pl.String).str.strip_prefix("-").str.zfill(scale + 1)
    texts = digits.str.head(-scale) + "." + digits.str.tail(scale)
    signed = pl.when(steps < 0).then(pl.lit("-") + texts).otherwise(texts)
    return pl.select(signed.alias(steps.name)).to_series()
