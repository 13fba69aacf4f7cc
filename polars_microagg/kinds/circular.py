"""Times of day, of which the last is next to the first."""

from __future__ import annotations

import numpy as np
import polars as pl

from polars_microagg.core.kind import Kind, kind
from polars_microagg.core.masked import Centres
from polars_microagg.core.partition import Strata, Vector
from polars_microagg.kernels.embedding import Embedding
from polars_microagg.kernels.exact_mean import float_means

__all__ = ["Circular"]

DAY = 24 * 3600 * 10**9
"""Nanoseconds of a day."""


@kind("circular", takes="times of day")
class Circular(Kind):
    """Columns of times of day on a clock, on which 23:59 is next to 00:00: a group gets its mean direction.

    Where its times cancel each other out it gets its lower median. Times that are not named are numbers.
    """

    numeric = True
    widens = True
    ordered = False

    def can_take(self, dtype: pl.DataType) -> bool:
        """Return whether a type is a time of day."""
        return dtype == pl.Time

    def coordinates(self, column: pl.Series, strata: Strata | None) -> Vector:
        """Number the times of a column, NaN for null."""
        del strata
        return column.rank("dense").cast(pl.Float64).to_numpy() - 1.0

    def embedding(self, column: pl.Series) -> Embedding:
        """Place each time on a circle of radius 1."""
        return _clock(column.drop_nulls().unique().sort())

    def pair(self, original: pl.Series, masked: pl.Series) -> tuple[Vector, Vector, Embedding]:
        """Number the times of a column before and after."""
        both = pl.concat([original.alias("0"), masked.alias("0")])
        codes = self.coordinates(both, None)
        return codes[: len(original)], codes[len(original) :], self.embedding(both)

    def values(self, column: pl.Series, chosen: Centres, dtype: pl.DataType) -> pl.Series:
        """Return the mean direction of each group, to the nanosecond."""
        members = chosen.members
        steps = column.to_physical().fill_null(0).to_numpy()
        angle = steps * (2 * np.pi / DAY)
        # Means are exact before they are rounded, so that they do not depend on the order of records.
        x, y = (float_means(turn(angle), members) for turn in (np.cos, np.sin))
        mean = np.rint(np.arctan2(y, x) * (DAY / (2 * np.pi))).astype(np.int64) % DAY
        owner = np.repeat(np.arange(len(members.sizes)), members.sizes)
        by_time = members.order[np.lexsort((steps[members.order], owner))]
        filled = np.flatnonzero(members.sizes)
        middle = mean.copy()
        middle[filled] = steps[by_time[(members.starts + (members.sizes - 1) // 2)[filled]]]
        cancelled = np.hypot(x, y) < 1e-9
        return pl.Series(np.where(cancelled, middle, mean)).cast(pl.Time).cast(dtype)


def _clock(times: pl.Series) -> Embedding:
    angle = times.to_physical().to_numpy() * (2 * np.pi / DAY)
    return Embedding.at(np.column_stack([np.cos(angle), np.sin(angle)]), 2.0)
