"""Random tables, types and options at three doors: equal bits, or an error of the same class."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from tests.hostile.pipelines import options_of, smallest
from tests.laws import METHODS, bits, typed
from tests.test_laws_types import TYPES

DUCKDB_SUPPRESSES = True
"""Whether small_strata is tried as "null" and "drop" at the doors of DuckDB too."""

HELD = [
    dtype
    for dtype in TYPES
    if dtype.is_decimal() or (dtype.is_integer() and "128" not in str(dtype)) or dtype == pl.Date
] + [pl.Datetime("us"), pl.Float64, pl.Float32]
"""Types that DuckDB hands back as it got them."""

CLASS = re.compile(r"\b(\w+Error): ")


def column(rng: np.random.Generator, n: int) -> pl.Series:
    """A column of any type and shape, ties, extremes and signed zeros included."""
    dtype = HELD[int(rng.integers(len(HELD)))]
    if dtype.is_float():
        drawn = rng.choice([-0.0, 0.0, 0.1, 1e-300, 3.25, -2.5, 1e15], n) * rng.integers(1, 9, n)
        made = pl.Series(drawn).cast(dtype)
    else:
        shapes = TYPES[dtype]
        made = typed(shapes[str(rng.choice(sorted(shapes)))](rng, n), dtype)
    if rng.random() < 0.2:
        made = made.zip_with(
            pl.Series(rng.random(n) < 0.9), pl.Series([None], dtype=dtype).new_from_index(0, n)
        )
    return made  # fmt: skip


def error_of(error: Exception) -> str:
    """The class of ours that an error is, or that DuckDB's text of it names."""
    if isinstance(error, mg.MicroaggError):
        return type(error).__name__
    found = CLASS.findall(str(error).partition("while executing the UDF: ")[2])
    return found[0] if found else type(error).__name__


def attempt(work: Callable[[], pl.DataFrame]) -> Any:
    try:
        return bits(work())
    except (mg.MicroaggError, duckdb.Error, pl.exceptions.PolarsError) as error:
        return error_of(error)


def literal(value: Any) -> str:
    """A value in SQL."""
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)


def call_of(columns: list[str], k: int, method: str, options: dict[str, Any]) -> str:
    """A call of the macro; what only one method has is in `options`."""
    own = set(next(m for m in METHODS if m.name == method).options)
    shared = {name: v for name, v in options.items() if name not in own and v is not None}
    written = [f"{name} := {literal(value)}" for name, value in shared.items()]
    inner = [f"{name}: {literal(options[name])}" for name in options if name in own]
    if inner:
        written.append(f"options := {{{', '.join(inner)}}}")
    arguments = ["'t'", literal(columns), str(k), f"method := {literal(method)}", *written]
    return f"FROM microagg.mask({', '.join(arguments)})"


@cache
def connection() -> duckdb.DuckDBPyConnection:
    return mgd.register(duckdb.connect())


def trial(seed: int, _folder: Path) -> list[str]:
    """Mask one table at three doors and say where they differ."""
    con = connection()
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 60))
    regions = np.array(["n", "s", None], dtype=object)[rng.integers(0, 3, n)].tolist()
    data = {name: column(rng, n) for name in "abe"}
    table = pl.DataFrame(
        {"id": np.arange(n), "region": pl.Series(regions, dtype=pl.String), **data, "c": rng.integers(0, 3, n)}
    )  # fmt: skip
    con.register("handed", table)
    con.execute("CREATE OR REPLACE TABLE t AS FROM handed")
    frame = con.table("t").pl()
    columns = list(rng.permutation(["a", "b", "e"])[: int(rng.integers(1, 4))].tolist())
    method, options = options_of(rng, suppress=DUCKDB_SUPPRESSES)
    k = int(rng.integers(2, 6))
    doors = {
        "function": lambda: mg.mask(frame, columns, k, method=method, **options),
        "mgd.mask": lambda: mgd.mask(con, "t", columns, k, method=method, **options).pl(),
        "macro": lambda: con.sql(call_of(columns, k, method, options)).pl(),
    }
    found = {door: attempt(work) for door, work in doors.items()}
    said = f"{table.schema} {columns} k={k} {method} {options}"
    wrong = []
    for door in ("mgd.mask", "macro"):
        if found[door] != found["function"]:
            ends = [
                f if isinstance(f, str) else "a table" for f in (found[door], found["function"])
            ]
            wrong.append(f"{door} gives {ends[0]}, the function {ends[1]}: {said}")
    if not isinstance(found["function"], str):
        size = smallest(doors["function"](), columns, options["strata"], method)
        if size is not None and size < k:
            wrong.append(f"a class of {size}: {said}")
    return wrong
