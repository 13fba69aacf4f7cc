"""A table, and all frame doors at once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

import polars_microagg as mg
from polars_microagg.core import registry

METHODS = registry.methods()
COLUMNWISE = [name for name, method in METHODS.items() if method.columnwise]
JOINT = [name for name, method in METHODS.items() if not method.columnwise]
GROUPING = [name for name, m in METHODS.items() if m.unit == "record" and not m.columnwise]
ENGINES = ["in-memory", "streaming"]


def table(n: int = 60, seed: int = 5) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    regions = np.array(["n", "s", None], dtype=object)[random.permutation(n) % 3]
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "region": pl.Series(regions.tolist(), dtype=pl.String),
            "a": random.integers(0, 40, n),
            "b": random.normal(size=n).round(2),
            "c": random.exponential(size=n).round(1),
        }
    )


TABLE = table()
NARROW = table(72, seed=11).drop("c")
BOTH = pl.struct("a", "b")


def coarse(n: int = 90, seed: int = 1) -> pl.DataFrame:
    """A table with many equal values, so that order decides."""
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "region": pl.Series(np.array(["n", "s", "w"])[random.integers(0, 3, n)].tolist()),
            "a": random.integers(0, 12, n),
            "b": random.integers(0, 5, n) / 4,
        }
    )


def same(got: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert_frame_equal(got, expected, check_exact=True)


def call(expression: pl.Expr, method: str, *arguments: Any, **options: Any) -> pl.Expr:
    return getattr(expression.microagg, method)(*arguments, **options)


def everywhere(frame: pl.DataFrame, columns: Any, k: int, method: str, **options: Any) -> Any:
    """Mask at every frame door; all of them must agree."""
    expected = getattr(mg, method)(frame, columns, k, **options)
    assert type(expected) is pl.DataFrame
    same(mg.mask(frame, columns, k, method=method, **options), expected)
    same(frame.pipe(getattr(mg, method), columns, k=k, **options), expected)
    same(getattr(frame.microagg, method)(columns, k, **options), expected)
    same(frame.microagg.mask(columns, k=k, method=method, **options), expected)
    for lazy in (
        mg.mask(frame.lazy(), columns, k, method=method, **options),
        getattr(frame.lazy().microagg, method)(columns, k, **options),
    ):
        assert type(lazy) is pl.LazyFrame
        assert lazy.collect_schema() == expected.schema
        for engine in ENGINES:
            same(lazy.collect(engine=engine), expected)
    return expected


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strata": {"strata": "region"},
    "order": {"order_by": ["c", "id"]},
    "strata and order": {"strata": ["region"], "order_by": ["c", "id"]},
    "float": {"dtype": "float"},
}


OTHERS = pl.DataFrame(
    {
        "text": pl.Series([None, "", "x"] * 20),
        "truth": pl.Series([True, None, False] * 20),
        "bytes": pl.Series([b"\x00", None, b""] * 20),
        "category": pl.Series(["u", None, "v"] * 20, dtype=pl.Categorical),
        "enum": pl.Series(["u", None, "v"] * 20, dtype=pl.Enum(["v", "u"])),
        "list": pl.Series([[1], None, []] * 20, dtype=pl.List(pl.Int8)),
        "array": pl.Series([[1, 2], None, [3, None]] * 20, dtype=pl.Array(pl.Int16, 2)),
        "struct": pl.Series([{"x": 1}, None, {"x": None}] * 20),
        "nothing": pl.Series([None] * 60, dtype=pl.Null),
        "zeros": pl.Series([0.0, -0.0, None] * 20),
        "wild": pl.Series([float("nan"), float("-inf"), 5e-324] * 20),
        "big": pl.Series([2**63 - 1, None, -(2**63)] * 20),
        "when": pl.Series(
            [datetime(2020, 1, 1), None, datetime(1969, 1, 1)] * 20
        ).dt.replace_time_zone("UTC"),
        "money": pl.Series(["1.10", None, "-0.01"] * 20).cast(pl.Decimal(10, 2)),
    }
)
