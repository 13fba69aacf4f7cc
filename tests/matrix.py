"""One table: every option that calls share, at every door; each cell works, or says why not."""

import contextlib
from dataclasses import dataclass, field
from functools import cache

import duckdb
import numpy as np
import polars as pl

import polars_microagg as mg

__all__ = ["K", "MATRIX", "SPARK", "WHOLE", "Cell", "counted", "outcome", "people"]

K = 4
SIZE = 40
PREFIXES = mg.Taxonomy.prefix(3, [1])

WHOLE = ("function",)
LEAVES = ("leaves", "file", "connect", "classic")
SPARK = ("connect", "classic")
"""Doors: the function of a whole table, leaves in memory, `protect_parquet`, and Spark of both kinds."""


@cache
def people(n=260, seed=5):
    """Records in large and small strata, with ties, holes in two columns, and categories."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "id": np.arange(n),
            "age": rng.integers(18, 60, n),
            "pay": rng.lognormal(8, 1, n).round(2),
            "debt": rng.normal(size=n).round(1),
            "years": rng.integers(0, 9, n),
            "job": [["cook", "clerk", "smith"][v] for v in rng.integers(0, 3, n)],
            "zip": [f"{v}00" if v < 5 else f"{v}{v}0" for v in rng.integers(1, 9, n)],
            "hour": pl.Series(rng.integers(0, 86400, n) * 10**9).cast(pl.Time),
            "region": [f"r{v}" for v in np.minimum(rng.geometric(0.4, n), 7)],
            "who": [f"p{v}" for v in rng.integers(0, n // 2, n)],
            "sick": [["flu", "ok", "gout"][v] for v in rng.integers(0, 3, n)],
        }
    )
    holes = pl.Series(rng.random(n) > 0.1)
    return frame.with_columns(pl.when(holes).then("debt").alias("debt"))


@dataclass(frozen=True)
class Cell:
    """A call, and of doors that cannot take it what they say: for each tuple of doors a pattern."""

    columns: list
    options: dict = field(default_factory=dict)
    refused: dict = field(default_factory=dict)
    counts: bool = True
    """Whether records are grouped, so that classes of them have k."""

    def why(self, door):
        """What a door says if it cannot take the call."""
        return next((why for doors, why in self.refused.items() if door in doors), None)

    @property
    def frame(self):
        """The table: only one row of the matrix has times of day, which Spark does not mask."""
        frame = people()
        return frame if "hour" in self.columns else frame.drop("hour")


TWO = ["age", "pay"]
DROP = {"small_strata": "drop"}
ONE_LIST = {("leaves",): "one list of columns; mask each of several lists in a call of its own"}
WITHIN = {LEAVES: "cannot honour entity_mode='.*'. Mask the table whole"}
SICK = {"confidential": "sick"}

MATRIX = {
    "nothing": Cell(TWO),
    "strata": Cell(TWO, {"strata": "job"}),
    "small strata refused": Cell(
        TWO,
        {"strata": ["region", "job"]},
        {(*WHOLE, *LEAVES): r"\d+ of \d+ strata have fewer than k=4 records"},
    ),
    "small strata dropped": Cell(TWO, {"strata": ["region", "job"], **DROP}),
    "small strata emptied": Cell(TWO, {"strata": ["region", "job"], "small_strata": "null"}),
    "nulls refused": Cell(["age", "debt"], {}, {(*WHOLE, *LEAVES): r"'debt' has \d+ null"}),
    "nulls imputed": Cell(["age", "debt"], {"nulls": "impute"}),
    "nulls by pattern": Cell(["age", "debt"], {"nulls": "pattern"}),
    "order_by": Cell(["years"], {"order_by": ["sick", "id"]}),
    "blocks": Cell([["age"], ["pay", "years"]], {}, ONE_LIST),
    "blocks by pattern": Cell(
        [["age"], ["debt"]],
        {"nulls": "pattern", **DROP},
        {**ONE_LIST, LEAVES: "nulls='pattern' with small_strata='drop' for several blocks"},
    ),
    "dtype": Cell(TWO, {"dtype": "float"}),
    "center": Cell(TWO, {"center": "median"}),
    "scale": Cell(TWO, {"scale": "robust"}),
    "refine": Cell(TWO, {"refine": True}),
    "seed": Cell(TWO, {"method": "multi_dsort", "seed": 3}),
    "workers": Cell(TWO, {"workers": 2}, {("leaves", *SPARK): "cannot honour workers=2"}),
    "another method": Cell(TWO, {"method": "vmdav", "gamma": 0.2}),
    "persons by rows": Cell(TWO, {"entity": "who", "entity_mode": "rows"}),
    "persons by their mean": Cell(TWO, {"entity": "who", "entity_mode": "mean"}, WITHIN),
    "persons alike": Cell(TWO, {"entity": "who", "entity_mode": "alike", **DROP}, WITHIN),
    "max_rows_per_entity": Cell(
        TWO, {"entity": "who", "entity_mode": "alike", "max_rows_per_entity": 1, **DROP}, WITHIN
    ),
    "max_entity_share": Cell(
        TWO, {"entity": "who", "entity_mode": "rows", "max_entity_share": 0.4}
    ),
    "l": Cell(TWO, {**SICK, "l": 2}),
    "max_share": Cell(TWO, {**SICK, "max_share": 0.6}),
    "t": Cell(TWO, {**SICK, "t": 0.3}),
    "secrets emptied": Cell(TWO, {**SICK, "l": 2, "strata": "region", "small_strata": "null"}),
    "secrets dropped": Cell(
        TWO,
        {**SICK, "l": 2, "strata": "region", **DROP},
        {LEAVES: "cannot honour small_strata='drop'. Empty small strata"},
    ),
    "nominal": Cell(["age", "years", "job"], {"nominal": ["years"]}),
    "ordinal": Cell(["age", "job"], {"ordinal": ["job"]}),
    "taxonomy": Cell(["age", "zip"], {"taxonomy": {"zip": PREFIXES}}),
    "circular": Cell(
        ["age", "hour"],
        {"circular": ["hour"]},
        {SPARK: r"'hour' is of type time\(6\), which Spark does not pass to Python"},
    ),
    "column_weights": Cell(["age", "job"], {"column_weights": {"job": 3.0}}),
    "columns one by one": Cell(
        TWO,
        {"method": "univariate"},
        {("leaves",): "leaves of several columns, as it groups values"},
    ),
    "one column by its values": Cell(["age"], {"method": "individual_ranking"}),
    "values of several columns": Cell(
        TWO,
        {"method": "mic1d"},
        {LEAVES: "cannot honour leaves, as it mixes values of several columns"},
        counts=False,
    ),
    "lowloss": Cell(TWO, {"method": "lowloss", "effort": 0.01}),
}


def on(door, cell, folder, session=None):
    """What comes out of a door."""
    frame, options = cell.frame, dict(cell.options)
    if door == "function":
        return mg.mask(frame, cell.columns, K, **options)
    if door == "leaves":
        return mg.fit_leaves(frame, cell.columns, K, size=SIZE, **options).mask(frame)
    frame.write_parquet(folder / "in.parquet")
    if door == "file":
        files = folder / "in.parquet", folder / "out.parquet"
        mg.protect_parquet(*files, cell.columns, K, size=SIZE, **options)
        return pl.read_parquet(folder / "out.parquet")
    from polars_microagg.spark import protect

    if "hour" in frame.columns:
        # Spark reads no time of day as Polars writes it.
        df = session.sql("SELECT 1 AS age, time'12:00:00' AS hour")
    else:
        df = session.read.parquet(str(folder / "in.parquet")).repartition(3)
    return pl.DataFrame(protect(df, cell.columns, K, size=SIZE, **options).toArrow()).sort("id")


def outcome(door, cell, folder, session=None):
    """What comes out of a door, or the sentence by which it refuses the call or the table."""
    with contextlib.suppress(ImportError):
        try:
            return on(door, cell, folder, session)
        except (mg.InvalidParameterError, mg.InvalidDataError) as error:
            return str(error)
    return "pyspark is not installed"


def counted(out, cell):
    """The fewest records, or entities, of a class, and the fewest values of `l`, by DuckDB."""
    blocks = cell.columns if isinstance(cell.columns[0], list) else [cell.columns]
    if cell.options.get("method") == "univariate":
        blocks = [[name] for name in cell.columns]
    strata = cell.options.get("strata", [])
    strata = [strata] if isinstance(strata, str) else strata
    counts = []
    with duckdb.connect() as con:
        con.register("out", out)
        for block in blocks:
            keys = ", ".join(f'"{name}"' for name in (*block, *strata))
            who = "DISTINCT who" if "entity" in cell.options else "*"
            classes = (
                f"SELECT count({who}) AS k, count(DISTINCT sick) AS l FROM out GROUP BY {keys}"
            )
            counts.append(con.execute(f"SELECT min(k), min(l) FROM ({classes})").fetchone())
    return min(k for k, _ in counts), min(distinct for _, distinct in counts)
