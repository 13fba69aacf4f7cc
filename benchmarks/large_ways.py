"""Ways to release tables larger than memory, made small enough to be tried many times."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import polars_microagg as mg
from polars_microagg.cli import main as command_line
from polars_microagg.leaves import options
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.publishing import memory

K = 5
COLUMNS = ["a", "b", "c"]
SEARCH = {"method": "mdav", "seed": 3}
LEAF = 600
"""Records of a leaf."""

NO_MEMORY = 10**15
"""Bytes that a process is said to take before it reads anything."""


def no_memory() -> None:
    """Allow no memory in this process, so that small tables are masked in many parts."""
    memory.BASE, options.SIZE = NO_MEMORY, LEAF
    MemoryBudget.of = budget_of  # type: ignore[assignment]


def budget_of(_: object, workers: int | None, *__: object) -> MemoryBudget:
    """Return a budget by which a small table goes in many parts."""
    return MemoryBudget(10**9, workers or 1, 1500, 1500, 1 << 10)


def protect(folder: Path, source: str, target: str, workers: int, *more: str) -> None:
    sys.argv = [
        "microagg", "protect", str(folder / source), "-o", str(folder / target), "--k", str(K),
        "--columns", ",".join(COLUMNS), "--strata", "s", "--keep", "d", "--method", SEARCH["method"],
        "--seed", str(SEARCH["seed"]), "--memory", "1GB", "--workers", str(workers), "--overwrite", *more,
    ]  # fmt: skip
    command_line.run()


def publish(folder: Path, source: str, target: str, workers: int) -> None:
    call = {"strata": "s", "keep": "d", "memory": "1GB", "workers": workers, **SEARCH}
    mg.publish(folder / source, folder / target, COLUMNS, K, **call)


def protect_parquet(folder: Path, source: str, target: str, workers: int) -> None:
    call = {"strata": "s", "memory": "1GB", "workers": workers, **SEARCH}
    mg.protect_parquet(folder / source, folder / target, COLUMNS, K, **call)


@dataclass(frozen=True)
class Way:
    """A way to release a table: what it reads and writes, and whether its processes answer SIGTERM."""

    call: Callable[..., None]
    source: str
    target: str
    answers: bool
    manifest: bool = True
    more: tuple[str, ...] = ()


WAYS = {
    "protect to Parquet": Way(protect, "in.parquet", "out.parquet", True),
    "protect to CSV": Way(protect, "in.csv", "out.csv", True, more=("--report", "page.html")),
    "protect to DuckDB": Way(protect, "in.parquet", "out.duckdb::t", True),
    "publish": Way(publish, "in.parquet", "out.parquet", False),
    "protect_parquet": Way(protect_parquet, "in.parquet", "out.parquet", False, manifest=False),
}


def table(rows: int, seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    numbers = {name: draw.lognormal(0, 1, rows) for name in COLUMNS}
    others = {"s": draw.integers(0, 4, rows), "d": draw.integers(0, 9, rows).astype(str)}
    return pl.DataFrame(numbers | others)
