"""Enum columns whose type names categories that no released record has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

__all__ = ["enum_names", "with_unused"]


def enum_names(released: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Warn of Enum columns with names in their type that are of nobody in the release.

    The type is released as well: a category that too few have may be read there.
    """
    schema, unused = released.schema, dict[str, int]()
    for name in names:
        dtype = schema[name]
        if isinstance(dtype, pl.Enum):
            told = released.get_column(name).alias("0").drop_nulls().n_unique()
            unused[name] = len(dtype.categories) - told
    return with_unused(unused)


def with_unused(unused: Mapping[str, int]) -> list[str]:
    """Warn of columns with so many names in their type that no record has.

    >>> with_unused({"stage": 2, "sex": 0})[0].partition(" that")[0]
    "The Enum type of the column 'stage' names 2 categories"
    """
    return [
        f"The Enum type of the column {name!r} names {count} categories that no released "
        "record has, and formats that keep the type show them. Make it of names that anybody "
        "may know, or cast the column to text."
        for name, count in unused.items()
        if count
    ]
