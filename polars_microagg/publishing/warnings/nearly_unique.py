"""Kept columns that are nearly unique, and so may point at persons."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_microagg.frames.selection import by_name

__all__ = ["nearly_unique"]

UNIQUE = 0.9
"""Share of distinct values above which a kept column points at persons."""


def nearly_unique(released: pl.DataFrame, kept: Sequence[str]) -> list[str]:
    """Warn of kept columns that have nearly as many values as records."""
    if not kept or released.height < 2:
        return []
    counted = released.select(by_name(name).n_unique() for name in kept).row(0)
    return [
        f"The kept column {name!r} is nearly unique: {distinct} distinct values in "
        f"{released.height} rows, so it may point at persons. Drop it, or mask it."
        for name, distinct in zip(kept, counted, strict=True)
        if distinct > UNIQUE * released.height
    ]
