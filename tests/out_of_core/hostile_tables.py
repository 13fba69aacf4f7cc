"""Small tables with what goes wrong: ties, constants, signs of zero, nulls, one huge class."""

import string

import numpy as np
import polars as pl

from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core.parquet_source import ParquetSource

__all__ = ["budget", "hostile", "source"]


def budget(rng):
    """Return a budget in which a few records fill the memory."""
    part, batch = int(rng.integers(1, 40)), int(rng.integers(1, 30))
    return MemoryBudget(10**9, 1, part, batch, batch)


def source(folder, frame, rng, name="table"):
    """Write a table into one or two files, with small groups of rows, and read it from there."""
    cut = int(rng.integers(0, frame.height + 1))
    parts = [frame] if rng.random() < 0.5 else [frame[:cut], frame[cut:]]
    paths = []
    for number, part in enumerate(parts):
        paths.append(folder / f"{name}-{number}.parquet")
        part.write_parquet(paths[-1], row_group_size=int(rng.integers(1, 20)))
    return ParquetSource.of(paths)


def column(rng, n, what):
    """Return n values of some type."""
    skewed = rng.random() < 0.3
    code = rng.integers(0, max(1, int(rng.integers(1, 2 + n // 2))), n)
    code = np.where(rng.random(n) < 0.9, 0, code) if skewed else code
    if what == "float":
        made = pl.Series(code * rng.choice([1.0, 1e-9, 1e12, -0.5]))
        made = pl.Series(np.where(rng.random(n) < 0.2, -0.0, made.to_numpy()))
    elif what == "int":
        made = pl.Series(code + rng.choice([0, 2**53, -(2**60)]))
    elif what == "text":
        made = pl.Series([string.ascii_letters[v % 50] * int(1 + v % 3) for v in code])
    elif what == "date":
        made = pl.Series(code, dtype=pl.Int32).cast(pl.Date)
    elif what == "enum":
        made = pl.Series(["cab"[v % 3] for v in code], dtype=pl.Enum(["c", "a", "b", "unused"]))
    elif what == "category":
        made = pl.Series(["xyz"[v % 3] for v in code], dtype=pl.Categorical)
    elif what == "list":
        made = pl.Series([[float(v), -0.0 if v % 2 else 0.0] for v in code.tolist()])
    else:
        made = pl.Series(code % 2 == 0)
    if rng.random() < 0.4:
        made = made.set(pl.Series(rng.random(n) < rng.random()), None)
    return made


NAMES = ["a", "^b$", "", "*", "key0", "size"]


def hostile(rng, kinds=("float", "int", "text", "date", "enum", "category", "list", "bool")):
    """Return a table of a few columns and records."""
    n = int(rng.choice([0, 1, 2, 3, 7, 30, 60, 90]))
    names = rng.permutation(NAMES)[: int(rng.integers(1, 5))].tolist()
    return pl.DataFrame([column(rng, n, rng.choice(kinds)).alias(name) for name in names])
