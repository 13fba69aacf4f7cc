"""Kept columns that are nearly unique, and so may point at persons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from polars_microagg.frames.selection import by_name

__all__ = ["UNIQUE", "nearly_unique", "with_values_of"]

UNIQUE = 0.9
"""Share of distinct values above which a kept column points at persons."""


def nearly_unique(released: pl.DataFrame, kept: Sequence[str]) -> list[str]:
    """Warn of kept columns that have nearly as many values as records."""
    if not kept or released.height < 2:
        return []
    counted = released.select(by_name(name).n_unique() for name in kept).row(0)
    return with_values_of(dict(zip(kept, counted, strict=True)), released.height)


def with_values_of(distinct: Mapping[str, int], rows: int, *, about: bool = False) -> list[str]:
    """Warn of columns that have so many, or about so many, distinct values in so many rows.

    >>> with_values_of({"id": 100, "city": 7}, 100)[0].partition(":")[0]
    "The kept column 'id' is nearly unique"
    """
    return [
        f"The kept column {name!r} is nearly unique: {'about ' * about}{values} distinct values in "
        f"{rows} rows, so it may point at persons. Drop it, or mask it."
        for name, values in distinct.items()
        if values > UNIQUE * rows
    ]
