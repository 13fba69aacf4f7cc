"""Columns of categories: what nominal and ordinal ones share."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import polars as pl

from polars_microagg.core.kind import Kind
from polars_microagg.core.masked import Centres, Holders
from polars_microagg.core.partition import Labels, Vector

__all__ = ["Categories", "as_floats", "codes_of", "fewest_holders", "texts"]


class Categories(Kind, ABC):
    """Base of kinds whose values are categories: one of them stands for a group."""

    numeric = False
    widens = False

    def can_take(self, dtype: pl.DataType) -> bool:
        """Return whether a type has categories: texts, codes, truth values, dates."""
        named = pl.String | pl.Categorical | pl.Enum | pl.Boolean | pl.Date
        return dtype.is_integer() or isinstance(dtype, named)

    def fewest(self, column: pl.Series, emitted: pl.Series, holders: Holders) -> int:
        """Return how many of its stratum have the rarest category that is emitted."""
        return fewest_holders(column, emitted, holders)

    @abstractmethod
    def chosen(self, codes: Labels, centres: Centres, holders: Holders) -> Labels:
        """Return the code of each centre, -1 for none."""

    def values(self, column: pl.Series, chosen: Centres, dtype: pl.DataType) -> pl.Series:
        """Return the category of each group in the type of the column; null where none is allowed."""
        codes, categories = codes_of(column)
        found = self.chosen(codes, chosen, chosen.holders)
        index = pl.Series(np.maximum(found, 0).astype(np.uint32)).set(pl.Series(found < 0), None)
        if not len(categories):
            return pl.repeat(None, len(found), dtype=dtype, eager=True)
        return categories.gather(index).cast(dtype)


def texts(column: pl.Series) -> pl.Series:
    """Return categories as texts, whose order does not depend on what was read before."""
    return column.cast(pl.String) if isinstance(column.dtype, pl.Categorical) else column


def codes_of(*columns: pl.Series) -> tuple[Labels, pl.Series]:
    """Number the values of columns of one type in their order, -1 for null; the values by number.

    >>> codes, values = codes_of(pl.Series(["b", None, "a"]))
    >>> codes.tolist(), values.to_list()
    ([1, -1, 0], ['a', 'b'])
    """
    column = pl.concat([texts(column).alias("0") for column in columns])
    values = column.drop_nulls().unique().sort()
    if values.dtype == pl.String:
        code = column.cast(pl.Enum(values)).to_physical()
    else:
        code = column.rank("dense") - 1
    codes: Labels = code.cast(pl.Int64).fill_null(-1).to_numpy().astype(np.intp)
    return codes, values


def as_floats(codes: Labels) -> Vector:
    """Return codes as numbers, NaN for none."""
    return np.where(codes < 0, np.nan, codes)


def fewest_holders(
    column: pl.Series, emitted: pl.Series, holders: Holders, classes: pl.DataFrame | None = None
) -> int:
    """Return how many of their stratum have the rarest of the emitted categories.

    `classes` has, in columns `value` and `class`, all that is true of a value; itself by default. It is
    counted by itself, so that a fault in the choice of categories is found.
    """
    stratum = pl.Series(holders.strata.numbers(len(column)))
    who = pl.int_range(len(column), eager=True) if holders.entity is None else holders.entity
    table = pl.DataFrame(
        {"stratum": stratum, "value": texts(column), "who": who, "new": texts(emitted)}
    ).filter(pl.col("stratum") >= 0)
    told = table.select("stratum", pl.col("new").alias("class")).drop_nulls().unique()
    if not told.height:
        return holders.k
    if holders.entity is None:
        had = table.group_by("stratum", "value").agg(pl.len().alias("holders"))
        count = pl.col("holders").sum()
    else:
        had = table.select("stratum", "value", "who").unique()
        count = pl.col("who").n_unique().alias("holders")
    had = (
        had.with_columns(pl.col("value").alias("class"))
        if classes is None
        else had.join(classes, on="value")
    )
    had = had.group_by("stratum", "class").agg(count)
    found = told.join(had, on=["stratum", "class"], how="left")["holders"].fill_null(0).to_list()
    return int(min(found, default=holders.k))
