"""Shares of the categories of a column before and after masking that show no rare one."""

from __future__ import annotations

import polars as pl

__all__ = ["category_shares"]

MOST = 12
"""Most categories that are listed; the others are summed."""


def category_shares(
    original: pl.Series, masked: pl.Series, k: int, who: pl.Series | None = None
) -> pl.DataFrame:
    """Return the records of each category before and after; the rarer ones are summed.

    A row has label, before and after. Listed are the commonest that at least k records, or of
    those of `who`, have before, or that are released. The last row, with a null label, has all
    others together, where they are at least k. Fewer are left out, as if they were not there.

    >>> before = pl.Series(["f", "f", "m", "m", "x"])
    >>> category_shares(before, pl.Series(["f", "f", "m", "m", "m"]), 2).rows()
    [('m', 2, 3), ('f', 2, 2)]
    """
    whose = pl.int_range(len(original), eager=True) if who is None else who
    tables = [
        pl.DataFrame([column.cast(pl.String).alias("label"), whose.alias("who")]).drop_nulls(
            "label"
        )
        for column in (original, masked)
    ]
    before, after = (
        table.group_by("label").agg(pl.len().cast(pl.Int64), pl.col("who").n_unique().alias("of"))
        for table in tables
    )
    both = before.join(after, on="label", how="full", coalesce=True, suffix="_after").fill_null(0)
    both = both.sort(pl.max_horizontal("len", "len_after"), "label", descending=[True, False])
    # The name of what is released is known to all; of the others it tells of k at least.
    told, enough = pl.col("len_after") > 0, pl.col("of") >= k
    listed = both.filter(told | enough).head(MOST)
    rest = both.join(listed, on="label", how="anti")
    columns = {"before": pl.when(enough).then("len").otherwise(0), "after": pl.col("len_after")}
    table = listed.select("label", **columns)
    if not tables[1].height:
        return table.clear()
    if tables[0].join(rest, on="label", how="semi")["who"].n_unique() < k:
        return table
    sums = {"before": pl.col("len").sum(), "after": pl.col("len_after").sum()}
    return pl.concat([table, rest.select(pl.lit(None, pl.String).alias("label"), **sums)])
