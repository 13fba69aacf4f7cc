"""Kept columns that give away the stratum of a record that was emptied."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_microagg.frames.selection import by_name
from polars_microagg.wording import Counted, Sentence, Setting, listed

__all__ = ["emptied_strata", "with_values"]


def with_values(frame: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Return which rows have a value in at least one of these columns."""
    return frame.select(
        pl.any_horizontal(by_name(name).is_not_null() for name in names).alias("0")
    ).to_series()


def emptied_strata(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    names: Sequence[str],
    strata: Sequence[str],
    kept: Sequence[str],
) -> list[str]:
    """Warn of kept columns that give away the stratum of an emptied record, as a city its region."""
    keys = [name for name in strata if name in original.columns]
    gone = ~with_values(masked, [*names, *strata])
    if not keys or not gone.any():
        return []
    stratum = original.select(pl.struct(by_name(name) for name in keys).alias("0")).to_series()
    warnings = list[str]()
    for name in kept:
        # Kept columns are in the release as they are, and a sample of the original may lack them.
        column = masked.get_column(name).alias("1")
        of = pl.DataFrame([column, stratum, gone.alias("2")]).drop_nulls("1")
        # A value of one record gives no stratum away; nearly unique columns have their own warning.
        records = of.filter(pl.len().over("1") > 1, pl.col("0").n_unique().over("1") == 1)[
            "2"
        ].sum()
        if records:
            warnings.append(
                Sentence(
                    "The kept column {name} may tell the stratum of {records} of {all} emptied records: its "
                    "value there goes with one stratum of {keys} only. Drop it, or use {drop}.",
                    name=repr(name),
                    records=Counted(int(records), int(gone.sum())),
                    all=int(gone.sum()),
                    keys=listed(keys),
                    drop=Setting("small_strata", "drop"),
                )
            )
    return warnings
