"""Measure what processes bring: wall and CPU seconds of each parallel path by the number of workers.

Usage: python benchmarks/workers.py [--workers 1,2] [--path strata] [--scale 1.0]

The bits of all numbers of workers are compared. CPU seconds are of this process (here) and of the workers
(there): where the wall is that of other work on the machine, too, here + there / workers says about what it
would be on a quiet one.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import polars_microagg as mg

COLUMNS = ["a", "b", "c"]


def table(rows: int, strata: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.lognormal(size=(rows, len(COLUMNS))), schema=COLUMNS)
    return frame.with_columns(s=pl.Series(rng.integers(0, strata, rows)))


def strata(scale: float, workers: int) -> pl.DataFrame:
    frame = table(int(400_000 * scale), 40)
    return mg.vmdav(frame, COLUMNS, 5, strata="s", workers=workers)


def patches(scale: float, workers: int) -> pl.DataFrame:
    return mg.lowloss(table(int(150_000 * scale)), COLUMNS, 5, effort=0.5, workers=workers)


def leaves(scale: float, workers: int) -> pl.DataFrame:
    frame = table(int(1_500_000 * scale))
    return mg.fit_leaves(frame, COLUMNS, 5, cut="median").mask(frame, workers=workers)


def out_of_core(scale: float, workers: int) -> pl.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
        table(int(200_000 * scale)).write_parquet(source)
        given = {"memory": "700MB", "method": "lowloss", "effort": 0.05, "cut": "median"}
        mg.protect_parquet(source, target, COLUMNS, 5, workers=workers, **given)
        return pl.read_parquet(target)


def compare(scale: float, workers: int) -> pl.DataFrame:
    methods = ["mdav", "vmdav", "k_ward", "md", "diameter", "dba1", "mu_approx", "multi_dsort"]
    frame = table(int(9_000 * scale))
    return mg.compare(frame, COLUMNS, methods=methods, workers=workers).drop("seconds")


PATHS: dict[str, Callable[[float, int], pl.DataFrame]] = {
    path.__name__: path for path in (strata, patches, leaves, out_of_core, compare)
}


def spent() -> np.ndarray:
    """CPU seconds of this process, and of those that it started and that have ended."""
    who = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return np.array([u.ru_utime + u.ru_stime for u in map(resource.getrusage, who)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--path", choices=[*PATHS])
    parser.add_argument("--scale", type=float, default=1.0)
    given = parser.parse_args()
    for name in [given.path] if given.path else PATHS:
        first: tuple[float, pl.DataFrame] | None = None
        for number in map(int, given.workers.split(",")):
            wall, cpu = time.monotonic(), spent()
            made = PATHS[name](given.scale, number)
            wall, cpu = time.monotonic() - wall, spent() - cpu
            first = first or (wall, made)
            bits = "same bits" if made.equals(first[1]) else "OTHER BITS"
            says = f"{wall:7.1f} s wall, CPU {cpu[0]:6.1f} s here {cpu[1]:6.1f} s there"
            print(f"{name:12} {number} {says}  {first[0] / wall:.2f} x  {bits}", flush=True)
