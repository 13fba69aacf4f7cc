"""Enum columns whose type names categories that no released record has."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

__all__ = ["enum_names"]


def enum_names(released: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Warn of Enum columns with names in their type that are of nobody in the release.

    The type is released as well: a category that too few have may be read there.
    """
    warnings, schema = list[str](), released.schema
    for name in names:
        dtype = schema[name]
        if not isinstance(dtype, pl.Enum):
            continue
        told = released.get_column(name).alias("0").drop_nulls().n_unique()
        if unused := len(dtype.categories) - told:
            warnings.append(
                f"The Enum type of the column {name!r} names {unused} categories that no released "
                "record has, and formats that keep the type show them. Make it of names that anybody "
                "may know, or cast the column to text."
            )
    return warnings
