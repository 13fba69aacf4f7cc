"""Categories without an order."""

from __future__ import annotations

import numpy as np
import polars as pl

from polars_microagg.core.kind import kind
from polars_microagg.core.masked import Centres, Holders
from polars_microagg.core.partition import Labels, Strata, Vector
from polars_microagg.kernels.embedding import Embedding
from polars_microagg.kernels.group_values import commonest
from polars_microagg.kinds._categories import Categories, as_floats, codes_of

__all__ = ["Nominal"]


@kind("nominal", takes="text, categories, truth values, whole numbers and dates")
class Nominal(Categories):
    """Columns of categories without an order: any two are at distance 1, and a group gets its commonest.

    Texts and truth values are nominal without being named; numbers that are codes need to be.
    """

    ordered = False

    def takes(self, dtype: pl.DataType) -> bool:
        """Return whether a type has categories without an order."""
        return isinstance(dtype, pl.String | pl.Categorical | pl.Boolean)

    def coordinates(self, column: pl.Series, strata: Strata | None) -> Vector:
        """Number the categories of a column, NaN for null."""
        del strata
        return as_floats(codes_of(column)[0])

    def embedding(self, column: pl.Series) -> Embedding:
        """Place every category at distance 1 from every other."""
        return Embedding.apart(column.n_unique())

    def classes(self, values: pl.Series) -> tuple[list[str], Labels, Vector]:
        """Return each category as a class of its own."""
        names = values.cast(pl.String).to_list()
        return names, np.arange(len(names))[:, None], np.full(len(names), 0.5)

    def pair(self, original: pl.Series, masked: pl.Series) -> tuple[Vector, Vector, Embedding]:
        """Number the categories of a column before and after."""
        codes, values = codes_of(original, masked.cast(original.dtype))
        both = as_floats(codes)
        return both[: len(original)], both[len(original) :], Embedding.apart(len(values))

    def chosen(self, codes: Labels, centres: Centres, holders: Holders) -> Labels:
        """Return the commonest category of each group."""
        return commonest(codes, centres, holders)
