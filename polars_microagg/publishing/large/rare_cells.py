"""Cells of categories that lost a rare one, counted over tables larger than memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.frames.selection import as_frame, by_name
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core.aligned import aligned
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.released_columns import ReleasedColumns

__all__ = ["counted_rare"]

Kept = npt.NDArray[np.bool_] | None

OLD, COUNT, LOST = "\0old", "\0count", "\0lost"
"""Names beside columns of any name."""


def counted_rare(
    names: Sequence[str],
    original: ParquetSource,
    release: ParquetSource,
    kept: Kept,
    columns: ReleasedColumns,
    k: int,
    budget: MemoryBudget,
) -> dict[str, tuple[float, int]]:
    """Return the per cent of the cells that lost a rare category, and of how many cells.

    As `rare_shares`; `kept` says which rows of the original are in the release.
    """
    found = {}
    for name in names:
        holders = _holders(original, kept, name, columns, k, budget)
        found[name] = _share(original, release, kept, name, columns, holders, k, budget)
    return found


def _renamed(frame: pl.DataFrame, name: str, strata: Sequence[str]) -> pl.DataFrame:
    """Return the category as text, and the keys of its stratum."""
    keys = [by_name(key).cast(pl.String).alias(f"s{i}") for i, key in enumerate(strata)]
    return frame.select(by_name(name).cast(pl.String).alias(OLD), *keys)


def _kept(original: ParquetSource, kept: Kept, names: list[str], size: int) -> Iterator[Any]:
    """Yield the rows of the original that are in the release."""
    start = 0
    for batch in original.batches(size, names):
        frame, stop = as_frame(batch), start + batch.num_rows
        yield frame if kept is None else frame.filter(pl.Series(kept[start:stop]))
        start = stop


def _holders(
    original: ParquetSource,
    kept: Kept,
    name: str,
    columns: ReleasedColumns,
    k: int,
    budget: MemoryBudget,
) -> pl.DataFrame:
    """Count the records, or entities up to k, that have each category in each stratum."""
    names = list(dict.fromkeys([name, *columns.strata, *columns.entity]))
    found: pl.DataFrame | None = None
    for frame in _kept(original, kept, names, budget.batch):
        rows = _renamed(frame, name, columns.strata)
        keys = rows.columns
        if columns.entity:
            who = frame.select(map(by_name, columns.entity)).hash_rows()
            rows = rows.with_columns(who.alias(COUNT)).unique()
            both = rows if found is None else pl.concat([found, rows]).unique()
            # Who has a category that k others have makes no difference.
            found = both.filter(pl.int_range(pl.len()).over(keys) < k)
        else:
            counted = rows.group_by(keys).agg(pl.len().cast(pl.Int64).alias(COUNT))
            both = counted if found is None else pl.concat([found, counted])
            found = both.group_by(keys).agg(pl.col(COUNT).sum())
    if found is None:
        return pl.DataFrame()
    return found.group_by(keys).agg(pl.col(COUNT).n_unique()) if columns.entity else found


def _share(
    original: ParquetSource,
    release: ParquetSource,
    kept: Kept,
    name: str,
    columns: ReleasedColumns,
    holders: pl.DataFrame,
    k: int,
    budget: MemoryBudget,
) -> tuple[float, int]:
    """Return the per cent of the cells that had a category too few have, and have another now."""
    if holders.is_empty():
        return 0.0, 0
    keys = [column for column in holders.columns if column != COUNT]
    rare = holders.filter(pl.col(COUNT) < k).select(*keys, pl.lit(True).alias(LOST))
    shown = list(dict.fromkeys([*columns.names, *columns.strata]))
    sides = [name, *(n for n in columns.strata if n != name)], shown
    lost = cells = 0
    for before, after in aligned(original, release, budget.batch, sides, kept):
        there = after.select(
            pl.any_horizontal(by_name(n).is_not_null() for n in shown).alias("0")
        ).to_series()
        rows = _renamed(before, name, columns.strata)
        new = after.get_column(name).cast(pl.String).alias("new")
        rows = rows.with_columns(new).filter(there).filter(pl.col(OLD).is_not_null())
        cells += rows.height
        if rare.height:
            gone = rows.join(rare, on=keys, nulls_equal=True, how="semi")
            lost += int(gone.select(pl.col(OLD).ne_missing(pl.col("new")).sum()).item())
    return 100.0 * lost / max(cells, 1), cells
