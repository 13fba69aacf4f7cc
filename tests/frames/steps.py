"""What a user does after a masking, and what differs if the masking is not one node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import polars_microagg as mg

N, K = 240, 4
MASKED = ["a", "b"]
STRATA = {"whole": None, "strata": ["region"]}
ENGINES = ["in-memory", "streaming"]
SOURCES = ["frame", "parquet", "csv"]

a, b, c, region = pl.col("a"), pl.col("b"), pl.col("c"), pl.col("region")
row = pl.col("id")

Build = Callable[[pl.LazyFrame, list[str] | None], pl.LazyFrame]
Step = Callable[[pl.LazyFrame], pl.LazyFrame]


def table() -> pl.DataFrame:
    random = np.random.default_rng(7)
    regions = np.array(["north", "south", "west", None], dtype=object)[random.integers(0, 4, N)]
    return pl.DataFrame(
        {
            "id": np.arange(N),
            "region": pl.Series(regions.tolist(), dtype=pl.String),
            "a": random.integers(0, 60, N),
            "b": random.normal(size=N).round(3),
            "c": random.integers(0, 9, N),
            "d": pl.Series([None if i % 11 == 0 else i % 5 for i in range(N)], dtype=pl.Int64),
        }
    )


TABLE = table()
FEW = pl.LazyFrame({"id": [3, 5, 8, 13, 21, 34, 55, 89, 144, 233]})
AREAS = pl.LazyFrame({"region": ["north", "south"], "boss": [1, 2]})


@dataclass(frozen=True)
class Op:
    """Something a user does next; `order` tells whether rows come in a defined order."""

    step: Step
    calls: int = 1
    order: bool = True


OPS: dict[str, Op] = {
    "nothing": Op(lambda t: t),
    # filters
    "filter untouched": Op(lambda t: t.filter(row < 20)),
    "filter untouched to one row": Op(lambda t: t.filter(row == 17)),
    "filter masked": Op(lambda t: t.filter(a < 25)),
    "filter strata": Op(lambda t: t.filter(region == "north")),
    "filter null stratum": Op(lambda t: t.filter(region.is_null())),
    "filter mix": Op(lambda t: t.filter((row < 120) & (b > 0) & (region != "west"))),
    "filter twice": Op(lambda t: t.filter(row > 30).filter(c < 4)),
    "filter against a maximum": Op(lambda t: t.filter(row > row.max() - 9)),
    "filter then select": Op(lambda t: t.filter(row < 9).select("b")),
    "remove": Op(lambda t: t.remove(row < 200)),
    # slices
    "head": Op(lambda t: t.head(7)),
    "limit": Op(lambda t: t.limit(3)),
    "tail": Op(lambda t: t.tail(5)),
    "slice": Op(lambda t: t.slice(11, 9)),
    "slice from the end": Op(lambda t: t.slice(-20, 6)),
    "first": Op(lambda t: t.first()),
    "last": Op(lambda t: t.last()),
    "filter then head": Op(lambda t: t.filter(c > 3).head(4)),
    "head then filter": Op(lambda t: t.head(40).filter(c > 3)),
    "reverse then head": Op(lambda t: t.reverse().head(6)),
    "gather every": Op(lambda t: t.gather_every(13, 2)),
    "row index": Op(lambda t: t.with_row_index("nr").filter(pl.col("nr") % 50 == 1)),
    # order
    "sort then head": Op(lambda t: t.sort("c", "id").head(8)),
    "sort by masked then head": Op(lambda t: t.sort("b", "id").head(8)),
    "sort then filter": Op(lambda t: t.sort("c", "id", descending=True).filter(row < 50)),
    "top k": Op(lambda t: t.top_k(6, by=["c", "id"]).sort("id")),
    "bottom k by masked": Op(lambda t: t.bottom_k(6, by=["b", "id"]).sort("id")),
    # joins
    "inner join left": Op(lambda t: t.join(FEW, on="id"), order=False),
    "inner join right": Op(lambda t: FEW.join(t, on="id"), order=False),
    "left join left": Op(lambda t: t.join(AREAS, on="region", how="left"), order=False),
    "left join right": Op(lambda t: FEW.join(t, on="id", how="left"), order=False),
    "semi join left": Op(lambda t: t.join(FEW, on="id", how="semi"), order=False),
    "semi join right": Op(lambda t: FEW.join(t.filter(a < 30), on="id", how="semi"), order=False),
    "anti join left": Op(lambda t: t.join(FEW, on="id", how="anti"), order=False),
    "anti join right": Op(lambda t: FEW.join(t.filter(a < 30), on="id", how="anti"), order=False),
    "join then filter": Op(lambda t: t.join(FEW, on="id").filter(row > 50), order=False),
    # aggregates
    "unique": Op(lambda t: t.select("region", *MASKED).unique(), order=False),
    "unique first": Op(
        lambda t: t.unique(["region", "c"], keep="first", maintain_order=True), order=False
    ),
    "group by": Op(
        lambda t: t.group_by("region").agg(
            a.max().alias("high"), b.min().alias("low"), b.n_unique().alias("different"), pl.len()
        ),
        order=False,
    ),
    "group by then filter key": Op(
        lambda t: t.group_by("region").agg(a.max(), b.min()).filter(region == "south"),
        order=False,
    ),
    "group by masked": Op(lambda t: t.group_by("a").agg(pl.len()), order=False),
    "maximum": Op(lambda t: t.select(a.max(), b.min())),
    "value counts": Op(lambda t: t.select(a.value_counts()).unnest("a"), order=False),
    # columns
    "select some": Op(lambda t: t.select("b", "id")),
    "select masked": Op(lambda t: t.select("a")),
    "select first masked row": Op(lambda t: t.select(b.first())),
    "drop": Op(lambda t: t.drop("a", "c")),
    "rename": Op(lambda t: t.rename({"a": "b", "b": "a"}).filter(a > 0)),
    "cast": Op(lambda t: t.cast({"a": pl.Float64}).filter(row < 10)),
    "later expression": Op(
        lambda t: t.with_columns((a * 2 + c).alias("e")).filter(pl.col("e") > 50)
    ),
    "later window": Op(lambda t: t.with_columns(a.max().over("region").alias("e")).head(9)),
    "overwrite a masked column": Op(lambda t: t.with_columns(pl.lit(1).alias("b")).head(3)),
    "drop nulls": Op(lambda t: t.drop_nulls("d")),
    "drop null strata": Op(lambda t: t.drop_nulls("region")),
    "fill null": Op(lambda t: t.fill_null(0).filter(pl.col("d") == 0)),
    "unpivot": Op(
        lambda t: t.unpivot(MASKED, index="id").filter(pl.col("variable") == "b"), order=False
    ),
    # the plan twice
    "concat itself": Op(lambda t: pl.concat([t.filter(row < 5), t.tail(5)]), calls=2),
    "join itself": Op(
        lambda t: t.filter(row < 9).join(t.select("id", b.alias("other")), on="id"),
        calls=2,
        order=False,
    ),
    # another language
    "sql": Op(lambda t: t.sql("SELECT id, a FROM self WHERE c < 3 ORDER BY id LIMIT 4")),
    # nothing masked is asked for
    "select only untouched": Op(lambda t: t.select("id"), calls=0),
    "untouched filtered": Op(lambda t: t.select("id", "c").filter(c < 3), calls=0),
    "drop the masked": Op(lambda t: t.drop(MASKED).head(5), calls=0),
    "len": Op(lambda t: t.select(pl.len()), calls=0),
    "untouched group by": Op(lambda t: t.group_by("c").agg(pl.len()), calls=0, order=False),
}

FIRST = (
    *("filter untouched", "filter strata", "filter masked", "filter mix", "filter then head"),
    *("head", "limit", "tail", "slice", "slice from the end", "first", "last"),
)


def scan(source: str, folder: Path) -> pl.LazyFrame:
    if source == "parquet":
        return pl.scan_parquet(folder / "t.parquet")
    if source == "csv":
        return pl.scan_csv(folder / "t.csv")
    return TABLE.lazy()


def right(frame: Any, strata: list[str] | None) -> Any:
    return mg.mdav(frame, MASKED, K, strata=strata)


def leaks(
    build: Build,
    op: Op,
    source: pl.LazyFrame,
    engine: str,
    strata: list[str] | None,
    seen: list[int],
    eager: Callable[..., pl.DataFrame] = right,
) -> list[str]:
    """Say what differs from collecting the masked table first and going on from there."""
    whole = eager(source.collect(engine="in-memory"), strata)
    expected = op.step(whole.lazy()).collect(engine="in-memory")
    seen.clear()
    found = []
    try:
        got = op.step(build(source, strata)).collect(engine=engine)
    except mg.MicroaggError as error:
        found.append(f"error: {error}")
    else:
        if not op.order:
            expected, got = (
                x.sort(pl.all(), nulls_last=True) if x.width else x for x in (expected, got)
            )
        if not got.equals(expected) or got.schema != expected.schema:
            found.append("other result")
    if any(rows != N for rows in seen):
        found.append(f"rows: {seen}")
    if len(seen) != op.calls:
        found.append(f"calls: {len(seen)} instead of {op.calls}")
    return found
