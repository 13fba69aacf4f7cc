"""Times of day, of which the last is next to the first."""

from __future__ import annotations

import numpy as np
import polars as pl

from polars_microagg.core.kind import kind
from polars_microagg.core.partition import Centres, Holders, Strata, Vector
from polars_microagg.kernels.exact_mean import float_means
from polars_microagg.kernels.places import Places

__all__ = ["Circular"]

DAY = 24 * 3600 * 10**9
"""Nanoseconds of a day."""


@kind("circular", takes="times of day")
class Circular:
    """Columns of times of day on a clock, on which 23:59 is next to 00:00: a group gets its mean direction.

    Where its times cancel each other out it gets its lower median. Times that are not named are numbers.
    """

    numeric = True
    widens = True
    ordered = False

    def takes(self, dtype: pl.DataType) -> bool:
        """Return False: a time is a number unless it is named."""
        del dtype
        return False

    def can_take(self, dtype: pl.DataType) -> bool:
        """Return whether a type is a time of day."""
        return dtype == pl.Time

    def unit(self, dtype: pl.DataType) -> float:
        """Return the size of one unit of the coordinates."""
        del dtype
        return 1.0

    def refused(self, column: pl.Series) -> int:
        """Count nothing: every time has its place."""
        del column
        return 0

    def coordinates(self, column: pl.Series, strata: Strata | None) -> Vector:
        """Number the times of a column, NaN for null."""
        del strata
        return column.rank("dense").cast(pl.Float64).to_numpy() - 1.0

    def places(self, column: pl.Series) -> Places:
        """Put each time on a circle of radius 1."""
        return _clock(column.drop_nulls().unique().sort())

    def classes(self, values: pl.Series) -> None:
        """Return None: a time is in no class."""
        del values

    def pair(self, original: pl.Series, masked: pl.Series) -> tuple[Vector, Vector, Places]:
        """Number the times of a column before and after."""
        both = pl.concat([original.alias("0"), masked.alias("0")])
        codes = self.coordinates(both, None)
        return codes[: len(original)], codes[len(original) :], self.places(both)

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

    def fewest(self, column: pl.Series, emitted: pl.Series, holders: Holders) -> int:
        """Return k: a mean is not the value of anybody."""
        del column, emitted
        return holders.k


def _clock(times: pl.Series) -> Places:
    angle = times.to_physical().to_numpy() * (2 * np.pi / DAY)
    return Places.at(np.column_stack([np.cos(angle), np.sin(angle)]), 2.0)
