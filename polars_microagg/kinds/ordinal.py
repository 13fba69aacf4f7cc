"""Categories with an order."""

from __future__ import annotations

import numpy as np
import polars as pl

from polars_microagg.core.kind import kind
from polars_microagg.core.masked import Centres, Holders
from polars_microagg.core.partition import Labels, Strata, Vector
from polars_microagg.kernels.group_values import middle_values
from polars_microagg.kinds._categories import Categories, codes_of

__all__ = ["Ordinal"]


@kind("ordinal", takes="an Enum, whole numbers, dates, text and truth values")
class Ordinal(Categories):
    """Columns of categories with an order: they lie at their ranks, and a group gets its lower median.

    The order is that of an Enum, which is ordinal without being named, of numbers, or of the alphabet.
    """

    ordered = True

    def takes(self, dtype: pl.DataType) -> bool:
        """Return whether a type has an order of its own."""
        return isinstance(dtype, pl.Enum)

    def coordinates(self, column: pl.Series, strata: Strata | None) -> Vector:
        """Return the mean rank of each record in its stratum."""
        return _ranks(codes_of(column)[0], strata or Strata.whole(len(column)))

    def pair(self, original: pl.Series, masked: pl.Series) -> tuple[Vector, Vector, None]:
        """Return the mean ranks of the original for both; a new category lies between its neighbours."""
        codes, values = codes_of(original, masked.cast(original.dtype))
        before, after = codes[: len(original)], codes[len(original) :]
        counts = np.bincount(before[before >= 0], minlength=len(values))
        rank = np.append(np.cumsum(counts) - (counts - 1) / 2, np.nan)
        return rank[before], rank[after], None

    def chosen(self, codes: Labels, centres: Centres, holders: Holders) -> Labels:
        """Return the lower median of each group."""
        return middle_values(codes, centres, holders)


def _ranks(codes: Labels, strata: Strata) -> Vector:
    """Return the mean rank of each record in its stratum, from 1; NaN where there is no value."""
    stratum = strata.numbers(len(codes))
    rows = np.flatnonzero((codes >= 0) & (stratum >= 0))
    key, number, counts = np.unique(
        stratum[rows] * (int(codes.max(initial=0)) + 1) + codes[rows],
        return_inverse=True,
        return_counts=True,
    )
    of = key // (int(codes.max(initial=0)) + 1)
    ends = np.cumsum(counts)
    # Ranks start anew in each stratum.
    first = np.flatnonzero(np.diff(of, prepend=-1))
    before = np.repeat((ends - counts)[first], np.diff(first, append=len(of)))
    rank = ends - before - (counts - 1) / 2
    ranks = np.full(len(codes), np.nan)
    ranks[rows] = rank[number.reshape(-1)]
    return ranks
